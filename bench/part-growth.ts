import { statSync } from 'node:fs';
import { join } from 'node:path';
import { deleteFolder, makeFolder } from './cleanup.ts';
import { OPERATIONS, type Operation } from './messages.ts';
import type { Options } from './options.ts';
import { type Figures, perOperation, summarize } from './part-http.ts';
import { residentBytes } from './server.ts';
import { Generator, type Measurement, startTarget, type Target } from './target.ts';

/**
 * 250 memories a store, so that a list of 20 has 20 entries on both sides and the measured creates fit. In 200 stores
 * 1,000 memories would leave 5 for each.
 */
export const SMALL = { memories: 1000, stores: 4 };
export const LARGE_STORES = 200;
// The small database must stay small while creates into it are measured.
const CREATES = 1000;

export type GrowthPart = {
  memories: number;
  small: Record<Operation, Figures>;
  large: Record<Operation, Figures>;
  fillSeconds: number;
  databaseBytes: number;
  residentBytes: { started: number | null; loaded: number | null };
  /** How large the small database was at the end. */
  smallEnd: number;
};

/** The same loads on a small and a large database, in turn. */
export async function runGrowth(options: Options, say: (line: string) => void): Promise<GrowthPart> {
  const generator = new Generator();
  const smallFolder = makeFolder('small');
  const small = await startTarget({ dataDir: smallFolder }, SMALL);
  const largeFolder = makeFolder('large');
  say(`filling a database with ${options.growth.toLocaleString('en')} memories`);
  const large = await startTarget({ dataDir: largeFolder }, { memories: options.growth, stores: LARGE_STORES });
  const started = residentBytes(large.server.process);

  const seconds = options.seconds / 2;
  const load = (target: Target, operation: Operation) =>
    generator.load(target, operation, operation === 'create' ? 60 : seconds, operation === 'create' ? CREATES : null);
  for (const target of [small, large]) for (const operation of OPERATIONS) await load(target, operation);

  const rounds = { small: perOperation(() => [] as Measurement[]), large: perOperation(() => [] as Measurement[]) };
  const count = options.rounds * 2 - 1;
  for (let round = 1; round <= count; round++) {
    say(`round ${round} of ${count}`);
    for (const operation of OPERATIONS) {
      rounds.small[operation].push(await load(small, operation));
      rounds.large[operation].push(await load(large, operation));
    }
  }
  const loaded = residentBytes(large.server.process);
  const databaseBytes = statSync(join(largeFolder, 'mneme.db')).size;
  await Promise.all([small.server.stop(), large.server.stop(), generator.end()]);
  for (const folder of [smallFolder, largeFolder]) deleteFolder(folder);
  return {
    memories: options.growth,
    small: perOperation((operation) => summarize(rounds.small[operation])),
    large: perOperation((operation) => summarize(rounds.large[operation])),
    fillSeconds: large.fillSeconds,
    databaseBytes,
    residentBytes: { started, loaded },
    smallEnd: small.nextNumber,
  };
}
