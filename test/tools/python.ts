import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installPackages } from './apt.ts';
import { type Found, runCommand, withLock } from './command.ts';

const requirementsFile = join(import.meta.dirname, 'requirements.txt');

/** A Python with the packages of requirements.txt, in a virtual environment under `folder`. */
export async function preparePython(folder: string, signal: AbortSignal): Promise<Found> {
  const requirements = (await readFile(requirementsFile, 'utf8')).trim();
  await mkdir(folder, { recursive: true });
  const venv = join(folder, 'python');
  const python = join(venv, 'bin', 'python');
  const stamp = join(folder, 'python.stamp');
  // The interpreter's version belongs to the stamp: an environment does not survive the upgrade of its Python.
  const stampNow = async () => `${requirements}\n${(await runCommand(python, ['--version'], { signal })).lastLine}\n`;

  return withLock(join(folder, 'python.lock'), signal, async (): Promise<Found> => {
    const found = { value: python, note: requirements.replaceAll('==', ' ').replaceAll('\n', ', ') };
    const stamped = await readFile(stamp, 'utf8').catch(() => null);
    if (stamped !== null && stamped === (await stampNow())) return found;
    const problem = (await createVenv(venv, signal)) ?? (await installRequirements(python, signal));
    if (problem) return { missing: problem };
    await writeFile(stamp, await stampNow());
    return found;
  });
}

async function createVenv(venv: string, signal: AbortSignal): Promise<string | null> {
  const create = async (python: string) => {
    await rm(venv, { recursive: true, force: true });
    return runCommand(python, ['-m', 'venv', venv], { seconds: 120, signal });
  };
  const first = await create('python3');
  if (first.ok) return null;
  const reason = await installPackages(['python3', 'python3-venv'], signal);
  if (reason) return `python3 cannot make a virtual environment, and ${reason}`;
  // The python3 that is first on PATH need not be the one that apt has just completed.
  const second = await create('/usr/bin/python3');
  return second.ok ? null : second.lastLine;
}

async function installRequirements(python: string, signal: AbortSignal): Promise<string | null> {
  const args = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-cache-dir', '--disable-pip-version-check'];
  const result = await runCommand(python, [...args, '-r', requirementsFile], { seconds: 600, signal });
  return result.ok ? null : `pip install failed: ${result.lastLine}`;
}
