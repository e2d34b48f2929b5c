import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { adopt, makeFolder } from './cleanup.ts';
import type { Place } from './messages.ts';

export const API_KEY = 'sk-mneme-bench-admin-key-0123456789';
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const TICKS_PER_SECOND = 100;

export type RunningServer = {
  port: number;
  process: ChildProcess;
  /** Ends it as an operator does, and waits. */
  stop(): Promise<void>;
};

/** A server as in production: a process of its own, default settings, its log in a file. */
export async function startServer(place: Place, execArgv: string[] = []): Promise<RunningServer> {
  const database = 'dataDir' in place ? ['--data-dir', place.dataDir] : ['--database-url', place.databaseUrl];
  const log = join(makeFolder('log'), 'log');
  const child = adopt(
    spawn(process.execPath, [...execArgv, MAIN, 'serve', ...database, '--port', '0', '--api-key', API_KEY], {
      stdio: ['ignore', 'pipe', openSync(log, 'a')],
      // The developer's own settings must not reach it.
      env: { PATH: process.env.PATH },
    }),
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (data) => {
      output += data;
      const match = /listens on http:\/\/[^:]+:(\d+)/.exec(output);
      if (match) resolve(Number(match[1]));
    });
    ended.then(() => reject(new Error(`The server did not start:\n${readFileSync(log, 'utf8').slice(-2000)}`)), reject);
  });
  return {
    port,
    process: child,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** CPU time of a process with all its threads, in seconds; null where the system has no /proc. */
export function cpuSeconds(child: ChildProcess): number | null {
  try {
    // The name, in parentheses, may hold blanks; utime and stime are the 14th and 15th field.
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

/** Resident memory of a process in bytes. */
export function residentBytes(child: ChildProcess): number | null {
  try {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) * 1024;
  } catch {
    return null;
  }
}
