import { deleteFolder, makeFolder, startChild } from './cleanup.ts';
import type { Operation } from './messages.ts';
import type { Options } from './options.ts';

export const PEERS = ['agentfs-sdk', 'git, a commit a write', 'langgraph SqliteSaver', 'MCP memory server'] as const;
export type PeerName = (typeof PEERS)[number];

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

/** Each peer in a process of its own; one that can't be installed or fails is shown with its reason. */
export async function runPeers(options: Options, say: (line: string) => void): Promise<PeersPart> {
  const part: Partial<PeersPart> = {};
  for (const name of PEERS) {
    say(name);
    const folder = makeFolder('peer');
    const child = startChild('./peer.ts');
    const request = {
      name,
      folder,
      documents: options.peerDocuments,
      fillSeconds: Math.min(FILL_SECONDS, options.peerSeconds * 4),
      seconds: options.peerSeconds,
    } satisfies PeerRequest;
    part[name] = await child.ask<PeerFigures>(request).catch((error: Error) => ({
      missing: error.message.split('\n')[0] ?? 'it failed',
    }));
    await child.end();
    deleteFolder(folder);
  }
  return part as PeersPart;
}
