import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import postgres from 'postgres';
import { type Database, ENGINES } from '../support/engines.ts';
import { mneme, type ServerProcess, spawnServer } from '../support/server.ts';

// Sizes around SQLite's page of 4 kB and PostgreSQL's threshold of 2 kB for rows kept out of line, where texts take
// different ways through the files. PostgreSQL compresses what repeats, so the filling is incompressible.
const SIZES = [40, 900, 1990, 2100, 4000, 4200, 9000, 40_000, 102_000];

const canary = (name: string) => `CANARY-${name}-5bd1e995`;

function filling(length: number, seed: number): string {
  let text = '';
  for (let x = seed + 1; text.length < length; x = (x * 1_103_515_245 + 12_345) % 2_147_483_648) text += x.toString(36);
  return text.slice(0, length);
}

/** Every file below a directory in which one of the words stands, with the word. */
async function filesWith(directory: string, words: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0));
    for (const word of words) if (bytes.includes(word)) found.push(`${entry.name}: ${word}`);
  }
  return found;
}

/** Every row of every table as text. */
async function dump(database: Database): Promise<string> {
  if (database.databaseUrl === null) {
    const db = new DatabaseSync(join(database.dataDir, 'mneme.db'), { readOnly: true });
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[];
    const rows = tables.flatMap(({ name }) => db.prepare(`SELECT * FROM "${name}"`).all());
    db.close();
    return rows
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join('\n');
  }
  const sql = postgres(database.databaseUrl, { max: 1, onnotice: () => {} });
  const tables = await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`;
  const rows = await Promise.all(tables.map((table) => sql`SELECT * FROM ${sql(table.table_name)}`));
  await sql.end();
  return rows
    .flat()
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
    .join('\n');
}

/** Memories whose first version has a canary in text and path, each changed and renamed since, then redacted. */
async function writeAndRedact(server: ServerProcess): Promise<{ words: string[]; kept: string }> {
  const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
  const root = `/v1/memory_stores/${store.id}`;
  const words: string[] = [];
  const redact: string[] = [];
  const kept = canary('kept');
  await server.call('POST', `${root}/memories`, { body: { path: '/kept.md', content: kept } });
  for (const [i, size] of SIZES.entries()) {
    const text = `${filling(size / 2, i)}${canary(`text${i}`)}${filling(size / 2, i + 100)}`;
    words.push(canary(`text${i}`), canary(`path${i}`));
    const path = `/${canary(`path${i}`)}/a.md`;
    const memory = (await server.call('POST', `${root}/memories`, { body: { path, content: text } })).body;
    redact.push(memory.memory_version_id);
    const renamed = await server.call('POST', `${root}/memories/${memory.id}`, { body: { path: `/clean/${i}` } });
    redact.push(renamed.body.memory_version_id);
    if (i % 2 === 0) await server.call('POST', `${root}/memories/${memory.id}`, { body: { content: `clean ${i}` } });
    else await server.call('DELETE', `${root}/memories/${memory.id}`);
  }
  for (const [i, id] of redact.entries()) {
    const { status, body } = await server.call('POST', `${root}/memory_versions/${id}/redact`, { body: {} });
    assert.equal(status, 200);
    assert.deepEqual([body.content, body.path, body.content_sha256, body.content_size_bytes], [null, null, null, null]);
    // The rename shares the text of the version before it, so the first redaction of each pair names the second.
    assert.deepEqual(body.identical_version_ids, i % 2 === 0 ? [redact[i + 1]] : []);
    const again = await server.call('POST', `${root}/memory_versions/${id}/redact`, { body: {} });
    assert.deepEqual([again.status, again.body.redacted_at], [200, body.redacted_at]);
  }
  return { words, kept };
}

for (const engine of ENGINES)
  describe(`redaction on ${engine.name}`, { skip: engine.skip }, () => {
    test('leaves nothing of text and path in files, logs of the engine, tables and the log', async () => {
      const database = await engine.create();
      try {
        const server = await spawnServer(database, { flags: ['--log-level', 'trace'] });
        const { words, kept } = await writeAndRedact(server);
        const rows = await dump(database);
        for (const word of words) assert.ok(!rows.includes(word), word);
        assert.ok(rows.includes(kept), 'the dump sees text that was not redacted');

        if (engine.name === 'sqlite') {
          // At once, beside the running server: the answer to the redaction waited for it.
          assert.deepEqual(await filesWith(database.dataDir, words), []);
          assert.notDeepEqual(await filesWith(database.dataDir, [kept]), [], 'the search finds what is there');
        } else {
          const directory = process.env.MNEME_TEST_POSTGRES_DATA as string;
          assert.notDeepEqual(await filesWith(directory, words), [], 'PostgreSQL keeps dead rows and its log');
          const scrub = await mneme(['scrub', '--json', ...database.flags]);
          assert.equal(JSON.parse(scrub.out).removed, SIZES.length * 2, scrub.err);
          assert.deepEqual(await filesWith(directory, words), []);
          assert.notDeepEqual(await filesWith(directory, [kept]), [], 'the search finds what is there');
        }
        await server.end();
        for (const word of words) assert.ok(!(server.output.out + server.output.err).includes(word));
        assert.equal(JSON.parse((await mneme(['verify', ...database.flags])).out).problems.length, 0);
      } finally {
        await database.drop();
      }
    });

    test('names the versions that still hold the same text, and leaves them alone', async () => {
      const database = await engine.create();
      const server = await spawnServer(database);
      try {
        const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
        const root = `/v1/memory_stores/${store.id}`;
        const write = async (path: string, content: string) =>
          (await server.call('POST', `${root}/memories`, { body: { path, content } })).body;
        const first = await write('/a.md', 'same');
        const second = await write('/b.md', 'same');
        const head = await server.call('POST', `${root}/memory_versions/${first.memory_version_id}/redact`);
        assert.equal(head.status, 400);
        await server.call('POST', `${root}/memories/${first.id}`, { body: { content: 'other' } });
        const redacted = await server.call('POST', `${root}/memory_versions/${first.memory_version_id}/redact`);
        assert.deepEqual(redacted.body.identical_version_ids, [second.memory_version_id]);
        assert.equal((await server.call('GET', `${root}/memories/${second.id}`)).body.content, 'same');
      } finally {
        await server.end();
        await database.drop();
      }
    });

    test('a deleted store leaves nothing behind', async () => {
      const database = await engine.create();
      const server = await spawnServer(database);
      try {
        const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
        const word = canary('gone');
        for (let i = 0; i < 30; i++)
          await server.call('POST', `/v1/memory_stores/${store.id}/memories`, {
            body: { path: `/${i}/${word}`, content: `${word}${filling(3000, i)}` },
          });
        assert.equal((await server.call('DELETE', `/v1/memory_stores/${store.id}`)).status, 200);
        assert.equal((await server.call('GET', `/v1/memory_stores/${store.id}/memories`)).status, 404);
        await server.end();
        // What the end of the server cut short goes on with the next start.
        const next = await spawnServer(database);
        while ((await dump(database)).includes(word)) await new Promise((resolve) => setTimeout(resolve, 50));
        await next.end();
        assert.equal(JSON.parse((await mneme(['verify', ...database.flags])).out).versions, 0);
      } finally {
        await database.drop();
      }
    });
  });
