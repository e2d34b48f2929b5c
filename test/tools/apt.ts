import { existsSync } from 'node:fs';
import { runCommand } from './command.ts';

let lists: Promise<string | null> | undefined;
let queue: Promise<unknown> = Promise.resolve();

// RUNLEVEL=1 keeps a package from starting its service where no systemd runs.
const env = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
// Another apt may be at work on this machine.
const wait = ['-o', 'DPkg::Lock::Timeout=300'];

async function apt(args: string[], signal: AbortSignal): Promise<string | null> {
  const result = await runCommand('apt-get', [...wait, ...args], { env, seconds: 600, signal });
  return result.ok ? null : `apt-get ${args[0]} failed: ${result.lastLine}`;
}

/** Installs Debian packages, one call after the other. Answers null, or the reason why they are not installed. */
export function installPackages(packages: string[], signal: AbortSignal): Promise<string | null> {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return Promise.resolve(`not installed, and only root on Debian can install it (${packages.join(' ')})`);
  const install = async () => {
    lists ??= apt(['update'], signal);
    return (await lists) ?? (await apt(['install', '-y', '--no-install-recommends', ...packages], signal));
  };
  const turn = queue.then(install);
  queue = turn;
  return turn;
}
