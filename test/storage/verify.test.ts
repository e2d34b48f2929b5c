import assert from 'node:assert/strict';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import postgres from 'postgres';
import { type Database, ENGINES, temporaryDirectory } from '../support/engines.ts';
import { mneme, spawnServer } from '../support/server.ts';

/** Damage that verify must name: a statement that both engines take, and words of the problem it causes. */
const DAMAGE: [name: string, sql: string, problem: RegExp][] = [
  [
    'a text changed outside',
    "UPDATE memory_contents SET bytes = X'6162' WHERE key = 1",
    /its hash is not|says \d+ bytes/,
  ],
  ['a text lost', 'DELETE FROM memory_contents WHERE key = 1', /its text does not exist/],
  [
    'a current version lost',
    "DELETE FROM memory_versions WHERE path = '/a/b.md'",
    /its current version .* does not exist/,
  ],
  ['a wrong count', 'UPDATE memory_stores SET memory_count = 7', /memory_count says 7, and the store holds 2/],
  ['an overlap', "UPDATE memories SET path = '/a' WHERE path = '/c.md'", /lies below the path of another/],
  ['a path against the rules', "UPDATE memories SET path = '/c//d' WHERE path = '/c.md'", /empty segment/],
  [
    'a head with another hash',
    "UPDATE memories SET content_sha256 = 'x' WHERE path = '/c.md'",
    /its hash is not that of its current/,
  ],
  [
    'a version of no memory',
    "UPDATE memory_versions SET memory_id = 'mem_x' WHERE path = '/gone.md'",
    /neither live nor recorded/,
  ],
  [
    'a version of no store',
    "UPDATE memory_versions SET store_key = 99 WHERE path = '/gone.md'",
    /a store that does not exist/,
  ],
  ['a text of no version', "INSERT INTO memory_contents (key, bytes) VALUES (999, X'61')", /no version refers to it/],
  [
    'a redaction that kept its text',
    "UPDATE memory_versions SET redacted_at = 1 WHERE path = '/gone.md'",
    /is redacted and still/,
  ],
];

async function execute(database: Database, sql: string): Promise<void> {
  if (database.databaseUrl === null) {
    const db = new DatabaseSync(join(database.dataDir, 'mneme.db'));
    db.exec(sql);
    db.close();
    return;
  }
  const client = postgres(database.databaseUrl, { max: 1, onnotice: () => {} });
  // PostgreSQL spells bytes in another way.
  await client.unsafe(sql.replace(/X'(\w+)'/, "'\\x$1'::bytea"));
  await client.end();
}

/** Two live memories, `/a/b.md` whose text has key 1 and `/c.md`, and a deleted one. */
async function fill(database: Database): Promise<void> {
  const server = await spawnServer(database);
  const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
  const memories = `/v1/memory_stores/${store.id}/memories`;
  for (const path of ['/a/b.md', '/c.md', '/gone.md']) {
    const { body } = await server.call('POST', memories, { body: { path, content: `text of ${path}` } });
    if (path === '/gone.md') await server.call('DELETE', `${memories}/${body.id}`);
  }
  await server.end();
}

for (const engine of ENGINES)
  describe(`verify on ${engine.name}`, { skip: engine.skip }, () => {
    test('a sound database: no problem, the counts, exit code 0', async () => {
      const database = await engine.create();
      await fill(database);
      const { code, out } = await mneme(['verify', ...database.flags]);
      assert.deepEqual(
        [code, JSON.parse(out)],
        [0, { stores: 1, memories: 2, versions: 4, problems: [], pendingScrubs: 0 }],
      );
      await database.drop();
    });

    for (const [name, sql, problem] of DAMAGE)
      test(`names ${name}, and exit code 1 tells`, async () => {
        const database = await engine.create();
        await fill(database);
        await execute(database, sql);
        const { code, out, err } = await mneme(['verify', ...database.flags]);
        assert.equal(code, 1, err);
        const { problems } = JSON.parse(out) as { problems: { object: string; problem: string }[] };
        assert.ok(
          problems.some((each) => problem.test(each.problem)),
          JSON.stringify(problems),
        );
        assert.ok(!out.includes('text of'), 'no memory text in a report');
        await database.drop();
      });
  });

describe('backup', () => {
  const sqlite = ENGINES[0] as (typeof ENGINES)[number];

  test('a copy made while the server writes is consistent, and restores', async () => {
    const database = await sqlite.create();
    const directory = await temporaryDirectory();
    const server = await spawnServer(database);
    const store = (await server.call('POST', '/v1/memory_stores', { body: { name: 's' } })).body;
    const memories = `/v1/memory_stores/${store.id}/memories`;
    const write = (i: number) =>
      server.call('POST', memories, { body: { path: `/${i}.md`, content: `${i} `.repeat(2000) } });
    let written = 0;
    for (; written < 50; written++) await write(written);
    let writing = true;
    const writer = (async () => {
      for (; writing; written++) assert.equal((await write(written)).status, 200);
    })();
    const file = join(directory, 'copies', 'backup.db');
    const { code, err } = await mneme(['backup', file, ...database.flags]);
    assert.equal(code, 0, err);
    assert.equal((await mneme(['backup', file, ...database.flags])).code, 1, 'an existing file is not overwritten');
    writing = false;
    await writer;
    await server.end();

    const restored = {
      ...database,
      dataDir: join(directory, 'restored'),
      flags: ['--data-dir', join(directory, 'restored')],
    };
    await mkdir(restored.dataDir);
    await cp(file, join(restored.dataDir, 'mneme.db'));
    const report = JSON.parse((await mneme(['verify', ...restored.flags])).out);
    assert.deepEqual(report.problems, []);
    assert.ok(report.memories >= 50 && report.memories <= written);
    const again = await spawnServer(restored);
    const page = await again.call('GET', `${memories}?path_prefix=/&limit=1&view=full`);
    assert.equal(page.body.data[0].content, '0 '.repeat(2000));
    assert.equal((await again.call('POST', memories, { body: { path: '/new.md', content: '' } })).status, 200);
    await again.end();
    await rm(directory, { recursive: true });
    await database.drop();
  });

  test('PostgreSQL is sent to its own tool', async () => {
    const { code, err } = await mneme(['backup', 'x', '--database-url', 'postgres://nowhere/x']);
    assert.equal(code, 1);
    assert.match(err, /pg_dump/);
  });
});
