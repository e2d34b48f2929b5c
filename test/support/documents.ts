import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

export type Document = { file: string; text: string };

/** Every document of the project, by its path from the root. */
export const DOCUMENTS: Document[] = globSync(['*.md', 'docs/*.md', 'examples/*/*.md'], { cwd: ROOT })
  .sort()
  .map((file) => ({ file, text: readFileSync(resolve(ROOT, file), 'utf8') }));

export function document(file: string): string {
  const found = DOCUMENTS.find((each) => each.file === file);
  if (!found) throw new Error(`There is no document ${file}.`);
  return found.text;
}

/** The fenced blocks of a text with the heading above each. */
export function blocksOf(text: string): { heading: string; language: string; code: string }[] {
  const blocks = [];
  let heading = '';
  for (const match of text.matchAll(/^#+ (.+)$|^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (match[1] !== undefined) heading = match[1];
    else blocks.push({ heading, language: match[2] ?? '', code: match[3] ?? '' });
  }
  return blocks;
}

/** The cells of every row of every table of a text. */
export function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
}

/** What a text shows as code: its spans and the lines of its fenced blocks. */
export function codeOf(text: string): string[] {
  const prose = text.replaceAll(/^```\w*\n[\s\S]*?^```$/gm, '');
  const lines = blocksOf(text).flatMap(({ code }) => code.split('\n'));
  return [...[...prose.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''), ...lines];
}

/** The anchors of a text's headings, as GitHub makes them. */
export function anchorsOf(text: string): string[] {
  return [...text.replaceAll(/^```\w*\n[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
