/** What every store and peer in the benchmark is given. */

/** The size of each document in bytes. */
export const DOCUMENT_BYTES = 2048;

const WORDS =
  'the agent prefers short answers and keeps notes on every project with dates names decisions open questions links to sources what changed since last week who asked for it and why it matters to the user'.split(
    ' ',
  );

/** Prose in Markdown of exactly 2 kB, a little different for each number. */
export function documentText(number: number): string {
  let text = `# Note ${number}\n\n`;
  for (let i = number % WORDS.length; text.length < DOCUMENT_BYTES; i = (i * 7 + 3) % 1009) {
    text += WORDS[i % WORDS.length];
    text += i % 13 === 0 ? '.\n' : ' ';
  }
  return text.slice(0, DOCUMENT_BYTES);
}

export const FOLDERS = 10;
export const PATH_DIGITS = 8;

/**
 * Paths in no order, as people and agents choose them: a number is scattered over eight digits (61,803,399 has no
 * factor in common with 10^8, so no two numbers meet), and the first digit is the folder.
 */
export function scatter(number: number): string {
  return String((number * 61_803_399) % 100_000_000).padStart(PATH_DIGITS, '0');
}

export function documentPath(number: number): string {
  const digits = scatter(number);
  return `/notes/${digits[0]}/${digits}.md`;
}

/** Stands for the digits of a path in a request that the load generator fills in. */
export const PATH_MARK = '/notes/#/########.md';
