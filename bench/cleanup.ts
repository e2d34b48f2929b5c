import { type ChildProcess, fork, type Serializable } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folders = new Set<string>();
const children = new Set<ChildProcess>();

/** A folder that is deleted when this process ends. */
export function makeFolder(purpose: string): string {
  const folder = mkdtempSync(join(tmpdir(), `mneme-bench-${purpose}-`));
  folders.add(folder);
  return folder;
}

export function deleteFolder(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Kills the child when this process ends before it. */
export function adopt<C extends ChildProcess>(child: C): C {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export type Child = {
  process: ChildProcess;
  /** Sends one request and waits for its answer; rejects when the child reports an error or ends. */
  ask<T>(message: Serializable): Promise<T>;
  end(): Promise<void>;
};

type Answer = { answer?: unknown; error?: string };

/** Runs a file of this folder in a process of its own. It answers each message with `{ answer }` or `{ error }`. */
export function startChild(file: string, args: string[] = [], execArgv: string[] = []): Child {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = adopt(
    fork(path, args, { execArgv, serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    process: child,
    ask: <T>(message: Serializable) =>
      new Promise<T>((resolve, reject) => {
        const settle = (action: () => void) => {
          child.off('message', onMessage);
          child.off('exit', onExit);
          action();
        };
        const onMessage = (message: unknown) => {
          const { answer, error } = message as Answer;
          settle(() => (error === undefined ? resolve(answer as T) : reject(new Error(error))));
        };
        const onExit = (code: number | null, signal: string | null) =>
          settle(() => reject(new Error(`${file} ended with ${code ?? signal}`)));
        child.on('message', onMessage);
        child.on('exit', onExit);
        child.send(message);
      }),
    end: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** The other side of `startChild`: answers each message with what `handle` gives back or raises. */
export function answerParent<M>(handle: (message: M) => unknown): void {
  process.on('message', (message) => {
    Promise.resolve()
      .then(() => handle(message as M))
      .then(
        (answer) => process.send?.({ answer }),
        (error: unknown) =>
          process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      );
  });
  // A parent that was killed can't end its children.
  process.on('disconnect', () => process.exit());
}

/** From now on every way out of this process, Ctrl-C included, ends its children and deletes its folders. */
export function cleanUpAtExit(): void {
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL');
    for (const folder of folders) {
      try {
        deleteFolder(folder);
      } catch (error) {
        process.stderr.write(`${folder} could not be deleted: ${error instanceof Error ? error.message : error}\n`);
      }
    }
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
}
