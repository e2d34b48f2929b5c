import { createHash } from 'node:crypto';
import { test } from 'node:test';

// Text that no storage engine can compress, so that a size is the room it takes: a chain of hashes.
const NOISE = (() => {
  let text = '';
  for (let i = 0; text.length < 250_000; i++) text += createHash('sha256').update(`${i}`).digest('base64url');
  return text;
})();

/** A small generator of repeatable random numbers (mulberry32); what it decides is the same for the same seed. */
export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** At least 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('nothing to pick from');
    return items[this.between(0, items.length - 1)] as T;
  }

  /** Text of so many bytes; up to 100,000. */
  text(bytes: number): string {
    const from = this.between(0, NOISE.length - bytes);
    return NOISE.slice(from, from + bytes);
  }

  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.between(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
    }
    return shuffled;
  }
}

// Fixed, so that two runs differ only in how the machine schedules them.
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_260_801);

/** A test that gets a generator of its own, and names the seed when it fails. */
export function stress(name: string, skip: string | undefined, body: (random: Random) => Promise<void>): void {
  test(name, { skip }, async () => {
    try {
      await body(new Random(SEED));
    } catch (error) {
      console.error(`"${name}" failed with the seed ${SEED}: run it again with MNEME_TEST_SEED=${SEED}`);
      throw error;
    }
  });
}

/** Runs `body` for the rounds 1 to `count`; a failure names its round. */
export async function rounds(count: number, body: (round: number) => Promise<void>): Promise<void> {
  for (let round = 1; round <= count; round++) {
    try {
      await body(round);
    } catch (error) {
      console.error(`round ${round} of ${count} failed`);
      throw error;
    }
  }
}
