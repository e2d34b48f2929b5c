/**
 * Loads a folder of Markdown into a memory store, then edits it from two clients, shows the history, restores an old
 * version and redacts a secret. Usage: `npx node examples/notes/notes.ts [folder]`; see the README beside this file.
 */
import { hash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { type Note, readNotes, type Skipped } from './folder.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');
const ATTEMPTS = 5;

type Store = Anthropic.Beta.BetaManagedAgentsMemoryStore;
type Memory = Anthropic.Beta.MemoryStores.BetaManagedAgentsMemory;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** The store that an earlier run made for this folder, or a new one. */
async function openStore(client: Anthropic, folder: string): Promise<Store> {
  // Metadata values have up to 512 characters.
  const key = folder.length <= 512 ? folder : sha256(folder);
  for await (const store of client.beta.memoryStores.list({ limit: 100 }))
    if (store.metadata?.example === 'notes' && store.metadata.folder === key) return store;
  return client.beta.memoryStores.create({
    name: `Notes of ${basename(folder) || 'the root folder'}`,
    description: `The Markdown files of ${basename(folder) || 'the root folder'}, loaded by the notes example.`,
    metadata: { example: 'notes', folder: key },
  });
}

/** Creates or updates a memory for each note; one that the server refuses is skipped with the server's reason. */
async function load(client: Anthropic, store: Store, notes: Note[]) {
  const present = new Map<string, Memory>();
  for await (const item of client.beta.memoryStores.memories.list(store.id, { limit: 100 }))
    if (item.type === 'memory') present.set(item.path, item);

  const loaded: Memory[] = [];
  const skipped: Skipped[] = [];
  const counts = { created: 0, updated: 0, unchanged: 0 };
  for (const note of notes) {
    const memory = present.get(note.path);
    try {
      if (!memory) {
        loaded.push(await client.beta.memoryStores.memories.create(store.id, { path: note.path, content: note.text }));
        counts.created++;
      } else if (memory.content_sha256 === sha256(note.text)) {
        loaded.push(memory);
        counts.unchanged++;
      } else {
        loaded.push(await edit(client, memory, () => note.text));
        counts.updated++;
      }
    } catch (error) {
      // 400: a path or text that memories can't have. 409: the path lies above or below that of another memory.
      if (!(error instanceof Anthropic.BadRequestError || error instanceof Anthropic.ConflictError)) throw error;
      skipped.push({ file: note.path.slice(1), reason: error.apiMessage ?? error.message });
    }
  }
  return { loaded, skipped, counts };
}

/**
 * Changes a memory without losing what others wrote: the update holds only for the text that `change` saw. When
 * somebody was faster, the memory is read again and the change applied to its new text. `onConflict` is told.
 */
async function edit(
  client: Anthropic,
  seen: Memory,
  change: (text: string) => string,
  onConflict: () => void = () => {},
): Promise<Memory> {
  const at = { memory_store_id: seen.memory_store_id };
  let memory = seen;
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.beta.memoryStores.memories.update(seen.id, {
        ...at,
        content: change(memory.content ?? ''),
        precondition: { type: 'content_sha256', content_sha256: memory.content_sha256 },
      });
    } catch (error) {
      const late = error instanceof Anthropic.ConflictError && error.type === 'memory_precondition_failed_error';
      if (!late || attempt === ATTEMPTS) throw error;
      onConflict();
      memory = await client.beta.memoryStores.memories.retrieve(seen.id, at);
    }
  }
}

async function showHistory(client: Anthropic, memory: Memory): Promise<void> {
  say(`\nHistory of ${memory.path}, newest first:`);
  const { data } = await client.beta.memoryStores.memoryVersions.list(memory.memory_store_id, {
    memory_id: memory.id,
    limit: 10,
  });
  for (const version of data) {
    const author = version.created_by?.type === 'api_actor' ? version.created_by.api_key_id : version.created_by?.type;
    const size = version.redacted_at ? 'redacted' : `${version.content_size_bytes ?? 0} bytes`;
    say(`  ${version.created_at}  ${version.operation.padEnd(8)}  ${size.padEnd(12)}  ${author ?? 'unknown'}`);
  }
}

/** Two people who share a memory: both read it, both write it, nothing is lost. */
async function editFromTwoClients(first: Anthropic, second: Anthropic, memory: Memory): Promise<void> {
  say(`\nTwo clients edit ${memory.path}:`);
  const at = { memory_store_id: memory.memory_store_id };
  const [seenByFirst, seenBySecond] = await Promise.all([
    first.beta.memoryStores.memories.retrieve(memory.id, at),
    second.beta.memoryStores.memories.retrieve(memory.id, at),
  ]);
  await edit(first, seenByFirst, (text) => `${text}\nChecked by the first client.\n`);
  say('  the first client added a line');
  await edit(
    second,
    seenBySecond,
    (text) => `${text}\nChecked by the second client.\n`,
    () => say('  the second client was refused, because the text had changed; it reads again and adds its line there'),
  );
  const { content } = await first.beta.memoryStores.memories.retrieve(memory.id, at);
  for (const name of ['first', 'second'])
    if (!content?.includes(`Checked by the ${name} client.`))
      throw new Error(`The line of the ${name} client is lost.`);
  say('  both lines are there');
}

async function restore(client: Anthropic, memory: Memory, versionId: string): Promise<void> {
  const at = { memory_store_id: memory.memory_store_id };
  const version = await client.beta.memoryStores.memoryVersions.retrieve(versionId, at);
  const current = await client.beta.memoryStores.memories.retrieve(memory.id, at);
  await edit(client, current, () => version.content ?? '');
  say(`\nRestored ${memory.path} to its version of ${version.created_at}.`);
}

/** A secret slips in, is taken out again, and is then removed from the history too. */
async function leakAndRedact(client: Anthropic, memory: Memory): Promise<void> {
  const at = { memory_store_id: memory.memory_store_id };
  const secret = `token-${sha256(memory.id + Date.now()).slice(0, 16)}`;
  const before = await client.beta.memoryStores.memories.retrieve(memory.id, at);
  const leak = await edit(client, before, (text) => `${text}\nThe token is ${secret}.\n`);
  const leaked = await client.beta.memoryStores.memories.retrieve(memory.id, at);
  await edit(client, leaked, (text) => text.replace(`\nThe token is ${secret}.\n`, ''));
  const redacted = await client.beta.memoryStores.memoryVersions.redact(leak.memory_version_id, at);
  say(`\nA secret got into ${memory.path}. Version ${redacted.id} was redacted at ${redacted.redacted_at}.`);

  let checked = 0;
  for await (const version of client.beta.memoryStores.memoryVersions.list(at.memory_store_id, { view: 'full' })) {
    checked++;
    if (version.content?.includes(secret)) throw new Error(`The secret is still in version ${version.id}.`);
  }
  say(`  none of the store's ${checked} versions has it any more`);
}

async function run(folder: string): Promise<void> {
  const first = new Anthropic();
  const second = new Anthropic();
  const { notes, skipped } = await readNotes(folder);
  if (notes.length === 0) throw new Error(`There is no Markdown file in ${folder} that can be loaded.`);

  const store = await openStore(first, folder);
  say(`Store ${store.id} (${store.name})`);
  const result = await load(first, store, notes);
  const { created, updated, unchanged } = result.counts;
  say(`  ${created} created, ${updated} updated, ${unchanged} unchanged, from ${folder}`);
  for (const { file, reason } of [...skipped, ...result.skipped]) say(`  skipped ${JSON.stringify(file)}: ${reason}`);

  // Smallest first: the lines that are added have room.
  const [memory] = result.loaded.toSorted((a, b) => a.content_size_bytes - b.content_size_bytes);
  if (!memory) throw new Error('The server took none of the files.');
  await editFromTwoClients(first, second, memory);
  await restore(first, memory, memory.memory_version_id);
  await leakAndRedact(first, memory);
  await showHistory(first, memory);
}

/** What a person can do about an error. */
function explain(error: unknown): string {
  if (error instanceof Anthropic.APIConnectionError)
    return `No server answers at ${process.env.ANTHROPIC_BASE_URL}. Start one with "npm start".`;
  if (error instanceof Anthropic.APIError)
    return `The server answered ${error.status}: ${error.apiMessage ?? error.message}`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'There is no such folder.';
  return error instanceof Error ? error.message : String(error);
}

if (!process.env.ANTHROPIC_BASE_URL || !process.env.ANTHROPIC_API_KEY) {
  process.stderr.write('Set ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY: paste the two lines that the server printed.\n');
  process.exitCode = 2;
} else
  await run(resolve(process.argv[2] ?? DOCS)).catch((error: unknown) => {
    process.stderr.write(`notes: ${explain(error)}\n`);
    process.exitCode = 1;
  });
