import type { Logger } from 'pino';
import type { Storage } from '../storage/storage.ts';

const DAY_MS = 86_400_000;
const ROUND_MS = 60_000;
const RETENTION_EVERY_MS = 3_600_000;
const PURGE_ROWS = 1000;
const EXPIRE_BATCH = 500;
// How long a redaction's answer waits for its bytes to be gone before it leaves the rest to the next round.
const SOON_MS = 2000;

export type Sweeper = {
  /** See `World.sweepSoon`. */
  soon(): Promise<void>;
  /** Applies the retention rule once, to the end; answers how many versions went. */
  expire(): Promise<number>;
  /** Stops after the step in hand. */
  stop(): Promise<void>;
};

/**
 * Removes in small steps what deletions, redactions and the retention rule leave: rows of deleted stores, old
 * versions, bytes in free pages and logs. Several servers may sweep one database. A failed round is logged and the
 * next one tries again.
 */
export function startSweeper(options: {
  storage: Storage;
  now: () => number;
  log: Logger;
  versionRetentionDays: number;
  keepRecentVersions: number;
}): Sweeper {
  const { storage, log } = options;
  let stopped = false;
  let round: Promise<void> | null = null;
  let again = false;
  let nextRetention = options.now();

  const pause = () => new Promise((resolve) => setImmediate(resolve));

  const expire = async () => {
    if (options.versionRetentionDays === 0) return 0;
    const rule = {
      writtenBefore: options.now() - options.versionRetentionDays * DAY_MS,
      // The current version is the memory itself and stays whatever the setting says.
      keepRecent: Math.max(options.keepRecentVersions, 1),
      batch: EXPIRE_BATCH,
    };
    let removed = 0;
    for (let after: string | null = null; !stopped; ) {
      const step = await storage.versions.expire(rule, after);
      removed += step.removed;
      if (step.next === null) break;
      after = step.next;
      await pause();
    }
    return removed;
  };

  const sweep = async () => {
    while (!stopped && (await storage.stores.purge(PURGE_ROWS))) await pause();
    if (!stopped) await storage.scrub();
    const now = options.now();
    // A clock that stepped back makes the rule due now rather than far in the future.
    if (!stopped && (now >= nextRetention || nextRetention - now > RETENTION_EVERY_MS)) {
      const removed = await expire();
      if (removed > 0) log.info({ removed }, 'versions past their retention were removed');
      nextRetention = now + RETENTION_EVERY_MS;
    }
  };

  const run = (): Promise<void> => {
    if (round !== null) {
      again = true;
      return round;
    }
    round = sweep()
      .catch((error: unknown) => log.error({ err: error }, 'a sweep failed and will be tried again'))
      .then(() => {
        round = null;
        if (!again || stopped) return;
        again = false;
        return run();
      });
    return round;
  };

  const timer = setInterval(run, ROUND_MS);
  timer.unref();
  void run();

  return {
    soon: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const limit = setTimeout(resolve, SOON_MS);
      void run().then(() => {
        clearTimeout(limit);
        resolve();
      });
      return promise;
    },
    expire,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await round;
    },
  };
}
