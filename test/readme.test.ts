/** Every block of the README does what it says when it is pasted: against a real server, with the real clients. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import type Anthropic from '@anthropic-ai/sdk';
import { blocksOf, document, ROOT } from './support/documents.ts';
import { ENGINES } from './support/engines.ts';
import { client, type ServerProcess, spawnServer } from './support/server.ts';
import { need } from './support/tools.ts';

const run = promisify(execFile);
const blocks = blocksOf(document('README.md'));
const TIMESTAMP = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/;

let server: ServerProcess;
let sdk: Anthropic;
let folder: string;
let drop: () => Promise<void>;
let env: Record<string, string>;

before(async () => {
  const engine = ENGINES.find(({ name }) => name === 'sqlite');
  assert.ok(engine);
  const database = await engine.create();
  drop = database.drop;
  server = await spawnServer(database, { apiKey: null });
  // What a person does: copy the two export lines.
  const exported = [...server.output.out.matchAll(/^export (ANTHROPIC_\w+)=(\S+)$/gm)];
  const { ANTHROPIC_BASE_URL = '', ANTHROPIC_API_KEY = '' } = Object.fromEntries(
    exported.map((match) => [match[1], match[2]]),
  );
  assert.equal(exported.length, 2, server.output.out);
  sdk = client(ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY);
  // A project with the SDK installed, and a home without settings of anyone.
  folder = await mkdtemp(join(tmpdir(), 'mneme-readme-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await mkdir(join(folder, 'home'));
  const folders = [dirname(process.execPath), ...[need('ant'), need('curl')].map(({ value }) => dirname(value ?? ''))];
  env = {
    PATH: [...folders, process.env.PATH].join(delimiter),
    HOME: join(folder, 'home'),
    ANTHROPIC_BASE_URL,
    ANTHROPIC_API_KEY,
  };
});

after(async () => {
  await server?.end();
  await drop?.();
  if (folder) await rm(folder, { recursive: true, force: true });
});

function block(heading: string, language: string): string {
  const [found, ...more] = blocks.filter((each) => each.heading === heading);
  assert.ok(found && more.length === 0, `one block under "${heading}"`);
  assert.equal(found.language, language);
  return found.code;
}

async function runFile(program: string, args: string[], name: string, code: string): Promise<string[]> {
  await writeFile(join(folder, name), code);
  const { stdout } = await run(program, [...args, name], { cwd: folder, env, timeout: 180_000 });
  return stdout.trimEnd().split('\n');
}

/** The story of each block: an edit with a precondition, a restore, and a redaction that left no password. */
async function checkStory(runBlock: () => Promise<string[]>): Promise<string[]> {
  const known = new Set<string>();
  for await (const store of sdk.beta.memoryStores.list()) known.add(store.id);
  const lines = await runBlock();
  const made = [];
  for await (const store of sdk.beta.memoryStores.list()) if (!known.has(store.id)) made.push(store);
  const [store] = made;
  assert.ok(store && made.length === 1, 'one new store');
  assert.equal(store.name, 'Team notes');
  assert.equal(store.description, 'How we work.');

  const { data: memories } = await sdk.beta.memoryStores.memories.list(store.id, { view: 'full' });
  assert.deepEqual(
    memories.map((item) => item.type === 'memory' && [item.path, item.content]),
    [['/deploy.md', 'Run make deploy.']],
  );
  const { data: versions } = await sdk.beta.memoryStores.memoryVersions.list(store.id, { view: 'full' });
  assert.deepEqual(
    versions.map(({ operation, content, path }) => [operation, content, path]),
    [
      ['modified', 'Run make deploy.', '/deploy.md'],
      ['modified', null, null],
      ['created', 'Run make deploy.', '/deploy.md'],
    ],
  );
  assert.ok(versions[1]?.redacted_at);
  return lines;
}

test('the curl block', { skip: need('curl').skip }, async () => {
  const code = block('curl', 'bash');
  const lines = await checkStory(() => runFile('bash', ['-euo', 'pipefail'], 'first.sh', code));
  const [path, edited = '', modified, created, restored, redacted = '', ...more] = lines;
  assert.deepEqual([path, restored, more], ['/deploy.md', 'Run make deploy.', []]);
  for (const time of [edited, redacted]) assert.match(time, TIMESTAMP);
  assert.match(`${modified}\n${created}`, /^modified \d{4}-.*\ncreated \d{4}-/);
});

test('the TypeScript block', async () => {
  const code = block('TypeScript', 'ts');
  const lines = await checkStory(() => runFile(process.execPath, [], 'first.mts', code));
  const [path, modified, created, restored, redacted = '', ...more] = lines;
  assert.deepEqual([path, restored, more], ['/deploy.md', 'Run make deploy.', []]);
  assert.match(`${modified}\n${created}`, /^modified \d{4}-.*\ncreated \d{4}-/);
  assert.match(redacted, TIMESTAMP);
});

test('the TypeScript block has no type errors', async () => {
  await writeFile(join(folder, 'types.mts'), block('TypeScript', 'ts'));
  const flags = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', 'node'];
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const { stdout } = await run(tsc, [...flags, 'types.mts'], { cwd: folder, env, timeout: 180_000 });
  assert.equal(stdout, '');
});

test('the Python block', { skip: need('python').skip }, async () => {
  const code = block('Python', 'python');
  const lines = await checkStory(() => runFile(need('python').value ?? '', [], 'first.py', code));
  const [path, operations, restored, redacted = '', ...more] = lines;
  assert.deepEqual([path, operations, restored, more], ['/deploy.md', 'modified created', 'Run make deploy.', []]);
  assert.match(redacted, TIMESTAMP);
});

test('the ant block', { skip: need('ant').skip }, async () => {
  const code = block('`ant`', 'bash');
  const lines = await checkStory(() => runFile('bash', ['-euo', 'pipefail'], 'first-ant.sh', code));
  const [path, edited = '', modified, created, restored, redacted = '', ...more] = lines;
  assert.deepEqual(
    [path, modified, created, restored, more],
    ['/deploy.md', 'modified', 'created', 'Run make deploy.', []],
  );
  for (const time of [edited, redacted]) assert.match(time, TIMESTAMP);
});

test('the commands to run and to test', async () => {
  assert.equal(block('Run', 'sh'), 'npm ci && npm start\n');
  assert.equal(block('Test', 'sh'), 'npm ci && npm test\n');
  // "npm ci" has run before this test; "npm test" runs it.
  const data = join(folder, 'data');
  const child = spawn('npm', ['start', '--', '--port', '0', '--data-dir', data], {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  let out = '';
  try {
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      out += chunk;
      if (/^export ANTHROPIC_API_KEY=/m.test(out)) break;
    }
    const url = /listens on (http:\S+)/.exec(out)?.[1];
    assert.ok(url, out);
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
  } finally {
    // As Ctrl-C in a terminal: to npm, its shell and the server.
    process.kill(-(child.pid as number), 'SIGINT');
    await ended;
  }
});
