/**
 * Every limit of the memory contract, and the one place that decides whether a text may enter a store.
 *
 * Bytes are UTF-8 bytes; characters are Unicode code points. Numbers and path rules follow the doc comments of
 * `@anthropic-ai/sdk` 1.14.0 (`src/resources/beta/memory-stores`). Each check answers `null` for a valid value,
 * or a sentence for the person who sent it that says what to change. Sentences never repeat the value: it may be
 * a secret, and error messages are read in logs of clients.
 */
export const LIMITS = {
  storeNameChars: 255,
  storeDescriptionChars: 1024,
  metadataPairs: 16,
  metadataKeyChars: 64,
  metadataValueChars: 512,
  memoriesPerStore: 10_000,
  contentBytes: 102_400,
  pathBytes: 1024,
  pathSegments: 20,
  pageDefault: 20,
  pageMax: 100,
  pageMaxFull: 20,
  /** The largest request body the memory endpoints read: the worst JSON escaping of `contentBytes` is 6 bytes a byte. */
  bodyBytes: 1_048_576,
} as const;

const CONTROL = /\p{Cc}/u;
// Cc control, Cf format (bidirectional controls, zero-width joiners, the byte order mark), Zl and Zp: U+2028, U+2029.
const FORBIDDEN_IN_PATH = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Code points of a well-formed string. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** True when `text` has more than `max` code points; does not walk a text that is obviously short or long. */
function longerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  return text.length > max * 2 || countCharacters(text) > max;
}

/** Checks free text that is not memory content. U+0000 is refused because PostgreSQL cannot hold it in text columns. */
function explainText(field: string, text: string, max: number): string | null {
  if (!text.isWellFormed()) return `${field} contains a lone surrogate; send well-formed Unicode text`;
  if (text.includes('\0')) return `${field} contains the character U+0000; remove it`;
  if (longerThan(text, max)) return `${field} is longer than ${max} characters; shorten it`;
  return null;
}

export function explainStoreName(name: string): string | null {
  if (name.length === 0) return 'name is empty; give 1 to 255 characters';
  if (CONTROL.test(name)) return 'name contains a control character; remove it';
  return explainText('name', name, LIMITS.storeNameChars);
}

export function explainDescription(description: string): string | null {
  return explainText('description', description, LIMITS.storeDescriptionChars);
}

/** Checks one metadata entry; the number of pairs is checked where the patched result is known. */
export function explainMetadataEntry(key: string, value: string | null): string | null {
  if (key.length === 0) return 'metadata has an empty key; keys have 1 to 64 characters';
  const explained = explainText('a metadata key', key, LIMITS.metadataKeyChars);
  if (explained || value === null) return explained;
  return explainText(`a metadata value`, value, LIMITS.metadataValueChars);
}

/** Checks the text of a memory. Everything well-formed up to 102,400 bytes of UTF-8 is allowed, U+0000 included. */
export function explainContent(content: string): string | null {
  if (!content.isWellFormed())
    return 'content contains a lone surrogate, which UTF-8 cannot carry; send well-formed Unicode text';
  if (content.length > LIMITS.contentBytes || Buffer.byteLength(content) > LIMITS.contentBytes)
    return `content is larger than ${LIMITS.contentBytes} bytes of UTF-8; split it into several memories`;
  return null;
}

export function explainPath(path: string): string | null {
  if (!path.startsWith('/')) return 'path must start with "/"';
  if (!path.isWellFormed()) return 'path contains a lone surrogate; send well-formed Unicode text';
  if (path.length > LIMITS.pathBytes || Buffer.byteLength(path) > LIMITS.pathBytes)
    return `path is longer than ${LIMITS.pathBytes} bytes of UTF-8; shorten it`;
  if (FORBIDDEN_IN_PATH.test(path))
    return 'path contains a control character, a format character, or a line or paragraph separator; remove it';
  if (path.normalize('NFC') !== path) return 'path is not in Unicode Normalization Form C; normalize it to NFC';
  const segments = path.split('/');
  // The text before the first "/" is the empty first element.
  if (segments.length - 1 > LIMITS.pathSegments)
    return `path has more than ${LIMITS.pathSegments} segments; flatten it`;
  for (let i = 1; i < segments.length; i++) {
    const segment = segments[i];
    if (segment === '') return 'path has an empty segment; remove the doubled or trailing "/"';
    if (segment === '.' || segment === '..') return 'path has a "." or ".." segment; give the path without it';
  }
  return null;
}

/** Checks a list prefix: a path that ends with "/", or "/" alone for the whole store. */
export function explainPathPrefix(prefix: string): string | null {
  if (!prefix.startsWith('/') || !prefix.endsWith('/')) return 'path_prefix must start and end with "/"';
  if (prefix === '/') return null;
  return explainPath(prefix.slice(0, -1))?.replace(/^path /, 'path_prefix ') ?? null;
}

/** The proper ancestors of a path, shortest first: `/a/b/c` gives `/a`, `/a/b`. */
export function ancestorsOf(path: string): string[] {
  const ancestors: string[] = [];
  for (let i = path.indexOf('/', 1); i !== -1; i = path.indexOf('/', i + 1)) ancestors.push(path.slice(0, i));
  return ancestors;
}

/** The half-open byte range `[from, to)` of all paths below a prefix that ends with "/"; "0" follows "/" in ASCII. */
export function rangeBelow(prefix: string): { from: string; to: string } {
  return { from: prefix, to: `${prefix.slice(0, -1)}0` };
}
