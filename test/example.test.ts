/** The notes example on the project's own documents and on a folder with awkward files. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ROOT } from './support/documents.ts';
import { type Database, ENGINES, temporaryDirectory } from './support/engines.ts';
import { ADMIN_KEY, startInProcess, type TestServer } from './support/server.ts';

const SCRIPT = join(ROOT, 'examples/notes/notes.ts');

type Ended = { code: number; out: string; err: string };

async function runNotes(env: Record<string, string>, folder?: string): Promise<Ended> {
  const child = spawn(process.execPath, folder === undefined ? [SCRIPT] : [SCRIPT, folder], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const result = { code: -1, out: '', err: '' };
  child.stdout.on('data', (data) => {
    result.out += data;
  });
  child.stderr.on('data', (data) => {
    result.err += data;
  });
  [result.code] = (await once(child, 'close')) as [number];
  return result;
}

/** The one store of the output, what it holds by path, and all of its versions, newest first. */
async function readStore({ client }: TestServer, out: string) {
  const id = /^Store (memstore_\w+) /m.exec(out)?.[1];
  assert.ok(id, out);
  const texts = new Map<string, string | null | undefined>();
  for await (const item of client.beta.memoryStores.memories.list(id, { view: 'full' }))
    if (item.type === 'memory') texts.set(item.path, item.content);
  const versions = [];
  for await (const version of client.beta.memoryStores.memoryVersions.list(id, { view: 'full' }))
    versions.push(version);
  return { id, texts, versions };
}

/** What every run does with one memory: two edits, a restore, a secret and its redaction. */
function checkStory(out: string, { texts, versions }: Awaited<ReturnType<typeof readStore>>): void {
  assert.match(out, /the second client was refused/);
  assert.match(out, /both lines are there/);
  const redactedId = /Version (memver_\w+) was redacted/.exec(out)?.[1];
  const redacted = versions.find((version) => version.id === redactedId);
  assert.ok(redacted?.redacted_at);
  assert.deepEqual([redacted.content, redacted.path, redacted.content_sha256], [null, null, null]);
  assert.ok(versions.every((version) => !version.content?.includes('The token is token-')));
  const history = versions.filter((version) => version.memory_id === redacted.memory_id);
  const [cleaned, leak, restored, second, first, original] = history;
  assert.equal(leak?.id, redactedId);
  assert.equal(first?.content, `${original?.content}\nChecked by the first client.\n`);
  assert.equal(second?.content, `${first?.content}\nChecked by the second client.\n`);
  assert.equal(restored?.content, original?.content);
  assert.equal(cleaned?.content, original?.content);
  assert.ok([...texts.values()].every((text) => !text?.includes('Checked by the')));
}

/** Files that can be memories, by the path that they get. */
const GOOD: [file: string, path: string, text: string][] = [
  ['plain.md', '/plain.md', '# Plain\n'],
  ['a/b/deep.md', '/a/b/deep.md', 'below two folders\n'],
  ['folder.md/inside.md', '/folder.md/inside.md', 'in a folder with the name of a file\n'],
  ['with space & %41_.md', '/with space & %41_.md', 'a name that URLs and SQL would quote\n'],
  ['cafe\u0301.md', '/caf\u00e9.md', 'a name in two forms of Unicode\n'],
  ['windows.md', '/windows.md', '\ufeffbyte order mark\r\nand CRLF\u0000 and U+0000  '],
  ['empty.md', '/empty.md', ''],
  ['largest.md', '/largest.md', 'é'.repeat(51_200)],
];

async function fill(folder: string): Promise<void> {
  const write = async (file: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), content);
  };
  for (const [file, , text] of GOOD) await write(file, text);
  await write('large.md', 'x'.repeat(102_401));
  await write('latin1.md', Uint8Array.of(0x63, 0x61, 0x66, 0xe9));
  await write('zero\u200bwidth.md', 'a format character');
  await write('two\nlines.md', 'a control character');
  await write(`${'d/'.repeat(20)}deep.md`, 'the 21st segment');
  await symlink('plain.md', join(folder, 'link.md'));
  await write('.hidden/secret.md', 'not for a store');
  await write('node_modules/package/README.md', 'not ours');
  await write('picture.txt', 'not Markdown');
}

for (const engine of ENGINES)
  describe(`the notes example on ${engine.name}`, { skip: engine.skip }, () => {
    let database: Database;
    let server: TestServer;
    let folder: string;
    let env: Record<string, string>;

    before(async () => {
      database = await engine.create();
      server = await startInProcess(database);
      folder = await temporaryDirectory();
      env = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: ADMIN_KEY };
    });
    after(async () => {
      await server?.stop();
      await database?.drop();
      if (folder) await rm(folder, { recursive: true, force: true });
    });

    test("loads the project's own documents", async () => {
      const { code, out, err } = await runNotes(env);
      assert.equal(code, 0, out + err);
      const store = await readStore(server, out);
      assert.ok(store.texts.size >= 4);
      for (const [path, text] of store.texts) assert.equal(text, await readFile(join(ROOT, 'docs', path), 'utf8'));
      assert.match(out, new RegExp(`${store.texts.size} created, 0 updated, 0 unchanged`));
      checkStory(out, store);
    });

    test('loads what can be loaded of an awkward folder, byte for byte, and names the rest', async () => {
      await fill(folder);
      const { code, out, err } = await runNotes(env, folder);
      assert.equal(code, 0, out + err);
      const store = await readStore(server, out);
      assert.deepEqual(
        [...store.texts].sort(),
        GOOD.map(([, path, text]) => [path, text]).sort((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1)),
      );
      checkStory(out, store);
      assert.deepEqual([...out.matchAll(/^ {2}skipped "(.*)": (.*)$/gm)].map((match) => [match[1], match[2]]).sort(), [
        [`${'d/'.repeat(20)}deep.md`, 'path has more than 20 segments; flatten it.'],
        ['large.md', 'it has 102401 bytes, and a memory holds 102400'],
        ['latin1.md', 'it is not UTF-8 text'],
        ['link.md', 'it is not a regular file'],
        [
          'two\\nlines.md',
          'path contains a control character, a format character, or a line or paragraph separator; remove it.',
        ],
        [
          'zero\u200bwidth.md',
          'path contains a control character, a format character, or a line or paragraph separator; remove it.',
        ],
      ]);
    });

    test('a second run finds the store again and updates only what changed', async () => {
      await writeFile(join(folder, 'plain.md'), '# Plain, changed\n');
      const { code, out, err } = await runNotes(env, folder);
      assert.equal(code, 0, out + err);
      assert.match(out, /0 created, 1 updated, 7 unchanged/);
      const store = await readStore(server, out);
      assert.equal(store.texts.get('/plain.md'), '# Plain, changed\n');
      assert.equal(store.texts.size, GOOD.length);
      checkStory(out, store);
      const stores = await server.client.beta.memoryStores.list();
      assert.equal(stores.data.length, 2);
    });

    test('says what to do when it cannot work', async () => {
      const noSettings = await runNotes({});
      assert.deepEqual([noSettings.code, noSettings.out], [2, '']);
      assert.match(noSettings.err, /Set ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY/);
      const wrongKey = await runNotes({ ...env, ANTHROPIC_API_KEY: 'sk-mneme-wrong' });
      assert.equal(wrongKey.code, 1);
      assert.match(wrongKey.err, /^notes: The server answered 401: The API key is unknown/);
      const noFolder = await runNotes(env, join(folder, 'missing'));
      assert.deepEqual([noFolder.code, noFolder.err], [1, 'notes: There is no such folder.\n']);
      await mkdir(join(folder, 'bare'));
      const empty = await runNotes(env, join(folder, 'bare'));
      assert.equal(empty.code, 1);
      assert.match(empty.err, /There is no Markdown file in .* that can be loaded/);
    });
  });
