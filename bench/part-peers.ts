import { spawnSync } from 'node:child_process';
import { type Child, deleteFolder, makeFolder, startChild } from './cleanup.ts';
import type { Operation } from './messages.ts';
import type { Options } from './options.ts';

/** What is compared, and when an acknowledged write of it is on the disk, by its own defaults. */
export const PEERS = {
  'agentfs-sdk': 'each put synced',
  'git, a commit a put': 'not synced',
  'langgraph SqliteSaver': 'synced at checkpoints',
  'MCP memory server': 'not synced',
} as const;
export type PeerName = keyof typeof PEERS;

export type PeerRequest = {
  name: PeerName;
  folder: string;
  documents: number;
  /** A slow peer holds fewer documents, as many as it takes in this time. */
  fillSeconds: number;
  seconds: number;
};
/** Operations a second, one after the other. */
export type PeerFigures = Record<Operation, number> & { documents: number };
export type PeersPart = Record<PeerName, PeerFigures | { missing: string }>;

const FILL_SECONDS = 20;
const HANG_SECONDS = 60;

/** Installs the peers beside this file. What fails to install is missing later, with a reason. */
function installPeers(say: (line: string) => void): void {
  const args = ['install', '--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
  const script = process.env.npm_execpath;
  const [program, first] = script?.endsWith('.js') ? [process.execPath, [script]] : ['npm', []];
  const { status, stderr } = spawnSync(program, [...first, ...args], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    timeout: 180_000,
  });
  if (status !== 0) say(`npm install failed: ${stderr?.trim().split('\n')[0] ?? 'npm did not start'}`);
}

async function runPeer(child: Child, request: PeerRequest): Promise<PeerFigures | { missing: string }> {
  const { promise, reject } = Promise.withResolvers<never>();
  const limit = request.fillSeconds + 3 * request.seconds + HANG_SECONDS;
  const timer = setTimeout(() => reject(new Error(`it did not end within ${limit} seconds`)), limit * 1000);
  try {
    return await Promise.race([child.ask<PeerFigures>(request), promise]);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { missing: message.split('\n').find((line) => line.trim() !== '') ?? 'it failed' };
  } finally {
    clearTimeout(timer);
  }
}

/** Each peer in a process of its own; one that can't be installed, fails or hangs is shown with its reason. */
export async function runPeers(options: Options, say: (line: string) => void): Promise<PeersPart> {
  say('installing');
  installPeers(say);
  const part: Partial<PeersPart> = {};
  for (const name of Object.keys(PEERS) as PeerName[]) {
    say(name);
    const folder = makeFolder('peer');
    const child = startChild('./peer.ts');
    part[name] = await runPeer(child, {
      name,
      folder,
      documents: options.peerDocuments,
      fillSeconds: Math.min(FILL_SECONDS, options.peerSeconds * 4),
      seconds: options.peerSeconds,
    });
    // It may hang in a library, deaf to the end of the channel.
    child.process.kill('SIGKILL');
    await child.end();
    deleteFolder(folder);
  }
  return part as PeersPart;
}
