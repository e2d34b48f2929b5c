import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type SmallDisk = {
  path: string;
  /** Bytes that can still be written. */
  free(): number;
  /** Fills the disk with a file, up to the last `leave` bytes. */
  fill(leave: number): void;
  /** Removes that file. */
  clear(): void;
  unmount(): Promise<void>;
};

function mount(megabytes: number): string {
  const path = mkdtempSync(join(tmpdir(), 'mneme-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path], { stdio: 'pipe' });
  } catch (error) {
    rmdirSync(path);
    throw error;
  }
  return path;
}

/** Why no small disk can be made here; undefined when it can. */
export function whyNoSmallDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'a small disk is mounted by root only';
  try {
    const path = mount(1);
    execFileSync('umount', [path]);
    rmdirSync(path);
    return undefined;
  } catch (error) {
    return `a small disk can't be mounted here: ${error instanceof Error ? error.message.trim() : error}`;
  }
}

/** A file system in memory of a few megabytes, to be filled. */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const path = mount(megabytes);
  // It unmounts when this process closes the pipe or dies in any way, SIGKILL included.
  const janitor = spawn('sh', ['-c', 'cat >/dev/null; umount "$1" || umount -l "$1"; rmdir "$1"', 'sh', path], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const gone = once(janitor, 'close');
  const filler = join(path, 'another file');
  const free = () => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  return {
    path,
    free,
    fill(leave) {
      const file = openSync(filler, 'a');
      try {
        const block = Buffer.alloc(4096, 'x');
        while (free() > leave) writeSync(file, block);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(file);
      }
    },
    clear() {
      const file = openSync(filler, 'a');
      ftruncateSync(file, 0);
      closeSync(file);
      rmSync(filler);
    },
    async unmount() {
      janitor.stdin.end();
      await gone;
    },
  };
}
