import { randomBytes } from 'node:crypto';

/** Identifier prefixes, one for each kind of object that has an id on the wire. */
export type IdPrefix =
  | 'memstore'
  | 'mem'
  | 'memver'
  | 'agent'
  | 'env'
  | 'sesn'
  | 'sthr'
  | 'sevt'
  | 'work'
  | 'drm'
  | 'apikey'
  | 'user'
  | 'svac'
  | 'wrkspc'
  | 'req';

// Base58 in ascending ASCII order, so that ids of one process sort by time.
export const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const TIME_CHARS = 8;
const TAIL_CHARS = 14;

/** Uniform random base58 digits (0 to 57): bytes of 6 bits, rejecting the six values base58 lacks. */
function* randomDigits(): Generator<number, never> {
  for (;;) for (const byte of randomBytes(1024)) if ((byte & 63) < 58) yield byte & 63;
}

const digits = randomDigits();

/** `count` characters of uniform random base58, for secrets: 5.86 bits of entropy a character. */
export function randomBase58(count: number): string {
  let text = '';
  for (let i = 0; i < count; i++) text += BASE58[digits.next().value];
  return text;
}

function encodeTime(milliseconds: number): string {
  let text = '';
  for (let rest = milliseconds, i = 0; i < TIME_CHARS; i++) {
    text = BASE58[rest % 58] + text;
    rest = Math.floor(rest / 58);
  }
  return text;
}

export type IdSource = (prefix: IdPrefix) => string;

/**
 * Makes an id source: prefix, `_01`, eight characters of milliseconds, fourteen random ones. Ids ascend within one
 * source even when the clock stands still or steps back: the random part is then counted up instead. Nothing may
 * rely on their order across processes.
 */
export function createIdSource(now: () => number): IdSource {
  let lastTime = -1;
  let timePart = '';
  const tail = new Uint8Array(TAIL_CHARS);
  const increment = () => {
    for (let i = TAIL_CHARS - 1; i >= 0; i--) {
      const next = (tail[i] as number) + 1;
      tail[i] = next % 58;
      if (next < 58) return;
    }
  };
  return (prefix) => {
    const time = now();
    if (time > lastTime) {
      lastTime = time;
      timePart = encodeTime(time);
      for (let i = 0; i < TAIL_CHARS; i++) tail[i] = digits.next().value;
      // Half of the first digit's range stays free for counting up.
      tail[0] = (tail[0] as number) % 29;
    } else increment();
    let id = `${prefix}_01${timePart}`;
    for (let i = 0; i < TAIL_CHARS; i++) id += BASE58[tail[i] as number];
    return id;
  };
}

/** True for text that can be an id or a reference to one: visible ASCII, at most 128 characters. */
export function isReference(text: string): boolean {
  return /^[\x21-\x7e]{1,128}$/.test(text);
}
