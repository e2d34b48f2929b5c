import { isUtf8 } from 'node:buffer';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';

/** A Markdown file as a memory: its path in the store and its text. */
export type Note = { path: string; text: string };
/** A file that can't be a memory, and why. */
export type Skipped = { file: string; reason: string };

const MAX_BYTES = 102_400;

/**
 * Reads the Markdown files of a folder and of the folders in it, in path order. Hidden folders and `node_modules` are
 * left out. A file that can't be read or can't be a memory is skipped with its reason.
 */
export async function readNotes(folder: string): Promise<{ notes: Note[]; skipped: Skipped[] }> {
  const notes: Note[] = [];
  const skipped: Skipped[] = [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const file = relative(folder, join(entry.parentPath, entry.name));
    const folders = file.split(sep).slice(0, -1);
    if (!entry.name.endsWith('.md') || folders.some((name) => name.startsWith('.') || name === 'node_modules'))
      continue;
    if (!entry.isFile()) {
      if (!entry.isDirectory()) skipped.push({ file, reason: 'it is not a regular file' });
      continue;
    }
    const note = await readNote(join(folder, file)).catch((error: NodeJS.ErrnoException) => ({
      reason: `it can't be read (${error.code ?? basename(file)})`,
    }));
    if ('reason' in note) skipped.push({ file, reason: note.reason });
    // Some systems store "é" in a file name as two characters. Memory paths have one form, NFC.
    else notes.push({ path: `/${file.split(sep).join('/')}`.normalize('NFC'), text: note.text });
  }
  notes.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { notes, skipped };
}

async function readNote(file: string): Promise<{ text: string } | { reason: string }> {
  const bytes = await readFile(file);
  if (bytes.length > MAX_BYTES) return { reason: `it has ${bytes.length} bytes, and a memory holds ${MAX_BYTES}` };
  // Decoding other bytes would replace them without a word.
  if (!isUtf8(bytes)) return { reason: 'it is not UTF-8 text' };
  return { text: bytes.toString('utf8') };
}
