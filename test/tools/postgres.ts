import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { appendFile, chown, mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { installPackages } from './apt.ts';
import { runCommand, versionIn } from './command.ts';

const oldestMajor = 15;

export type Cluster = { url: string; data: string; note: string; stop(): Promise<void> };
type Binaries = { folder: string; version: string; major: number };
type User = { uid: number; gid: number };

/** The newest PostgreSQL server on this machine, or null. */
async function findBinaries(signal: AbortSignal): Promise<Binaries | null> {
  const named = await runCommand('pg_config', ['--bindir'], { signal });
  const folders = new Set([
    ...globSync('/usr/lib/postgresql/*/bin'),
    ...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder.startsWith('/')),
    ...(named.ok ? [named.lastLine] : []),
  ]);
  let newest: Binaries | null = null;
  for (const folder of folders) {
    if (!['initdb', 'pg_ctl', 'postgres'].every((name) => existsSync(join(folder, name)))) continue;
    const version = versionIn((await runCommand(join(folder, 'postgres'), ['--version'], { signal })).output) ?? '0';
    const major = Number.parseInt(version, 10);
    if (!newest || major > newest.major) newest = { folder, version, major };
  }
  return newest;
}

/** Debian's package makes a cluster of its own and may start it; nobody asked for that one. */
async function stopPackagedClusters(signal: AbortSignal): Promise<void> {
  const list = await runCommand('pg_lsclusters', ['-h'], { signal });
  if (!list.ok) return;
  for (const line of list.output.split('\n')) {
    const [version, name, , state] = line.split(/\s+/);
    if (version && name && state?.startsWith('online'))
      await runCommand('pg_ctlcluster', [version, name, 'stop'], { signal, seconds: 60 });
  }
}

/** PostgreSQL refuses to run as root, so root lends it another user. */
async function serverUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const uid = await runCommand('id', ['-u', name]);
    const gid = await runCommand('id', ['-g', name]);
    if (uid.ok && gid.ok) return { uid: Number(uid.lastLine), gid: Number(gid.lastLine) };
  }
  throw new Error('there is no user postgres or nobody to run it as');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/**
 * Stops the server and deletes its folder as soon as this process closes the pipe or dies in any way, SIGKILL included.
 * It has a session of its own, so that Ctrl-C in a terminal does not reach it.
 */
function startJanitor(folder: string, binaries: Binaries, user: User | undefined): () => Promise<void> {
  const script = 'cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w stop; rm -rf "$2"';
  const janitor = spawn('sh', ['-c', script, 'sh', binaries.folder, folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    ...user,
  });
  janitor.on('error', () => {});
  const gone = new Promise<void>((resolve) => janitor.on('close', () => resolve()));
  return () => {
    janitor.stdin?.end();
    return gone;
  };
}

/** Starts a private, empty cluster in a new temporary folder, or says why it can't. */
export async function startPostgres(signal: AbortSignal): Promise<Cluster | { missing: string }> {
  let binaries = await findBinaries(signal);
  if (!binaries) {
    const reason = await installPackages(['postgresql'], signal);
    if (reason) return { missing: reason };
    await stopPackagedClusters(signal);
    binaries = await findBinaries(signal);
  }
  if (!binaries || binaries.major < oldestMajor)
    return { missing: `PostgreSQL ${oldestMajor} or later is needed, found ${binaries?.version ?? 'none'}` };

  const user = await serverUser();
  const folder = await mkdtemp(join(tmpdir(), 'mneme-pg-'));
  if (user) await chown(folder, user.uid, user.gid);
  const stop = startJanitor(folder, binaries, user);
  try {
    const started = await startServer(folder, binaries, user, signal);
    if ('url' in started) return { ...started, note: `PostgreSQL ${binaries.version}, a private cluster`, stop };
    await stop();
    return started;
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startServer(
  folder: string,
  binaries: Binaries,
  user: User | undefined,
  signal: AbortSignal,
): Promise<{ url: string; data: string } | { missing: string }> {
  const data = join(folder, 'data');
  const options = { cwd: folder, user, seconds: 120, signal };
  const fixed = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'];
  const initdb = join(binaries.folder, 'initdb');
  // Not every system has C.UTF-8; without it only the case of letters outside ASCII differs.
  let created = await runCommand(initdb, [...fixed, '--locale=C.UTF-8'], options);
  if (!created.ok) created = await runCommand(initdb, [...fixed, '--locale=C'], options);
  if (!created.ok) return { missing: `initdb failed: ${created.lastLine}` };

  const port = await freePort();
  const settings = [
    "listen_addresses = '127.0.0.1'",
    `port = ${port}`,
    `unix_socket_directories = '${folder}'`,
    'max_connections = 300',
    // The crash tests rely on fsync.
    'fsync = on',
    'wal_level = minimal',
    'max_wal_senders = 0',
    // A recycled file of the write-ahead log would keep redacted bytes that no command removes.
    'wal_recycle = off',
    "min_wal_size = '32MB'",
  ];
  await appendFile(join(data, 'postgresql.conf'), `\n${settings.join('\n')}\n`);
  const log = join(folder, 'log');
  const started = await runCommand(join(binaries.folder, 'pg_ctl'), ['-D', data, '-l', log, '-w', 'start'], options);
  if (started.ok) return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, data };
  const lines = (await readFile(log, 'utf8').catch(() => '')).trim().split('\n');
  return { missing: `the server did not start: ${lines.at(-1) || started.lastLine}` };
}
