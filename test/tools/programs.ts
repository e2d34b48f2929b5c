import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rename } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { installPackages } from './apt.ts';
import { type Found, runCommand, versionIn } from './command.ts';

const antModule = 'github.com/anthropics/anthropic-cli/cmd/ant';
const antVersion = '1.20.0';

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** A small program of the same name as its Debian package: jq, curl. */
export async function prepareProgram(name: string, signal: AbortSignal): Promise<Found> {
  const reason = onPath(name) ? null : await installPackages([name], signal);
  const file = onPath(name);
  if (!file) return { missing: reason ?? 'not on PATH after its installation' };
  const result = await runCommand(file, ['--version'], { signal });
  if (!result.ok) return { missing: result.lastLine };
  return { value: file, note: versionIn(result.output) ?? file };
}

/** Another program may be called ant; the one we mean says "ant version 1.2.3". */
async function antAt(file: string, signal: AbortSignal): Promise<Found> {
  const result = await runCommand(file, ['--version'], { signal });
  const line = /^ant version v?\d+\.\d+\.\d+.*/m.exec(result.output)?.[0];
  if (result.ok && line) return { value: file, note: line };
  return { missing: `${file} is not the Anthropic command line` };
}

/** The `ant` command line: the one that MNEME_TEST_ANT names, one on PATH, or one built with Go. */
export async function prepareAnt(folder: string, signal: AbortSignal): Promise<Found> {
  const named = process.env.MNEME_TEST_ANT;
  if (named) return antAt(named, signal);
  const present = onPath('ant');
  if (present) {
    const found = await antAt(present, signal);
    if ('value' in found) return found;
  }
  const cached = join(folder, `ant-${antVersion}`, 'ant');
  if (existsSync(cached)) return antAt(cached, signal);
  return (await buildAnt(cached, signal)) ?? antAt(cached, signal);
}

async function buildAnt(target: string, signal: AbortSignal): Promise<Found | null> {
  const scratch = await mkdtemp(join(tmpdir(), 'mneme-go-'));
  // Everything that Go writes goes into the scratch folder; its own settings stay readable where they are.
  const settings = process.env.GOENV ?? join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'go', 'env');
  const env = {
    GOBIN: join(scratch, 'bin'),
    GOPATH: join(scratch, 'path'),
    GOMODCACHE: join(scratch, 'modules'),
    GOCACHE: join(scratch, 'cache'),
    GOENV: settings,
    XDG_CONFIG_HOME: scratch,
  };
  try {
    const version = await runCommand('go', ['version'], { env, signal });
    const [major = 0, minor = 0] = (versionIn(version.output) ?? '').split('.').map(Number);
    if (!version.ok) return { missing: 'neither ant nor go is on PATH' };
    if (major < 1 || (major === 1 && minor < 25))
      return { missing: `go 1.25 is needed to build it, not ${version.lastLine}` };
    const args = ['install', '-modcacherw', `${antModule}@v${antVersion}`];
    const built = await runCommand('go', args, { env, cwd: scratch, seconds: 600, signal });
    if (!built.ok) return { missing: `go install failed: ${built.lastLine}` };
    await mkdir(join(target, '..'), { recursive: true });
    // The scratch folder may be on another file system, so the move takes a copy beside the target first.
    const beside = `${target}.${process.pid}`;
    const copied = await runCommand('cp', [join(scratch, 'bin', 'ant'), beside], { signal });
    if (!copied.ok) return { missing: copied.lastLine };
    await rename(beside, target);
    return null;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
