import { execFile } from 'node:child_process';
import { open, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A tool that is ready (its value and a line that says what it is), or the reason why it is not. */
export type Found = { value: string; note: string } | { missing: string };

export type Result = { ok: boolean; output: string; lastLine: string };

export type CommandOptions = {
  cwd?: string;
  env?: Record<string, string>;
  user?: { uid: number; gid: number };
  seconds?: number;
  signal?: AbortSignal;
};

/** Runs a program to its end. It never rejects: a program that is absent, slow or unhappy is an answer too. */
export function runCommand(file: string, args: string[], options: CommandOptions = {}): Promise<Result> {
  const { cwd, env, user, seconds = 30, signal } = options;
  return new Promise((resolve) => {
    execFile(
      file,
      args,
      {
        cwd,
        env: { ...process.env, ...env },
        uid: user?.uid,
        gid: user?.gid,
        timeout: seconds * 1000,
        signal,
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`.trim();
        let lastLine = output.slice(output.lastIndexOf('\n') + 1).trim();
        if (error?.code === 'ENOENT') lastLine = `${file} was not found`;
        else if (error?.killed) lastLine = `${file} did not finish within ${seconds} seconds`;
        else if (error && lastLine === '') lastLine = error.message;
        resolve({ ok: error === null, output, lastLine });
      },
    );
  });
}

/** The first dotted version number in a text, or null. */
export function versionIn(text: string): string | null {
  return /\d+(?:\.\d+)+/.exec(text)?.[0] ?? null;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Lets one process at a time prepare a tool, as two runs may start at once. The lock of a dead process is taken over. */
export async function withLock<T>(file: string, signal: AbortSignal, action: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      const handle = await open(file, 'wx');
      await handle.writeFile(String(process.pid));
      await handle.close();
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const owner = Number(await readFile(file, 'utf8').catch(() => ''));
      if (owner > 0 && !isAlive(owner)) await rm(file, { force: true });
      else await sleep(300, undefined, { signal });
    }
  }
  try {
    return await action();
  } finally {
    await rm(file, { force: true });
  }
}
