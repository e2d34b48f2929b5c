/** The documents say what the code does: each list of the code has its table, and no table has more. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { SETTINGS } from '../src/config.ts';
import { ERROR_NAMES } from '../src/contract/errors.ts';
import { LIMITS } from '../src/contract/limits.ts';
import { ROUTES } from '../src/contract/routes.ts';
import { BETAS } from '../src/contract/wire.ts';
import { HTTP_ERRORS } from '../src/http/failures.ts';
import { anchorsOf, codeOf, DOCUMENTS, document, ROOT, rowsOf } from './support/documents.ts';
import { ENGINES } from './support/engines.ts';
import { mneme, startInProcess } from './support/server.ts';

const operations = document('docs/operations.md');
const architecture = document('docs/architecture.md');

/** The first cells of the rows whose first cell matches. */
function firstCells(text: string, pattern: RegExp): string[] {
  return rowsOf(text)
    .map((row) => row[0] ?? '')
    .filter((cell) => pattern.test(cell));
}

function assertSame(documented: Iterable<string>, actual: Iterable<string>): void {
  assert.deepEqual([...documented].sort(), [...actual].sort());
}

test('docs/operations.md has every setting with its flag, variable and default', () => {
  const rows = rowsOf(operations).filter((row) => /^`MNEME_/.test(row[1] ?? ''));
  assertSame(
    rows.map((row) => row.slice(0, 3).join(' ')),
    SETTINGS.map(({ flag, env, value }) => `\`--${flag}\` \`${env}\` ${value === '' ? 'none' : `\`${value}\``}`),
  );
});

test('docs/operations.md has every error with its status and type', () => {
  const rows = rowsOf(operations).filter((row) => /^[1-5]\d\d$/.test(row[1] ?? ''));
  assertSame(
    rows.map((row) => row.slice(0, 3).join(' ')),
    ERROR_NAMES.map((name) => `\`${name}\` ${HTTP_ERRORS[name].status} \`${HTTP_ERRORS[name].type}\``),
  );
});

test('docs/architecture.md has every route, and every other path is in docs/operations.md', () => {
  assertSame(
    firstCells(architecture, /^`(GET|POST|DELETE) /),
    Object.values(ROUTES).map((route) => `\`${route.method} ${route.path}\``),
  );
  const app = readFileSync(resolve(ROOT, 'src/http/app.ts'), 'utf8');
  const served = [...app.matchAll(/app\.(?:get|post|delete)\('([^']+)'/g)].map((match) => `\`${match[1]}\``);
  assertSame(firstCells(operations, /^`\//), served);
});

test('docs/differences.md names the beta headers', () => {
  for (const beta of Object.values(BETAS).flat()) assert.ok(document('docs/differences.md').includes(`\`${beta}\``));
});

test('docs/architecture.md has every limit with its value, and every table of the database', () => {
  const rows = rowsOf(architecture).filter((row) => /^[\d,]+$/.test(row[1] ?? ''));
  assertSame(
    rows.map((row) => `${row[0]} ${row[1]}`),
    Object.entries(LIMITS).map(([name, value]) => `\`${name}\` ${value.toLocaleString('en-US')}`),
  );
  const migrations = globSync('src/storage/migrations/*.sqlite.sql', { cwd: ROOT })
    .map((file) => readFileSync(resolve(ROOT, file), 'utf8'))
    .join('\n');
  const tables = [...migrations.matchAll(/^CREATE TABLE (\w+)/gm)].map((match) => match[1] ?? '');
  const section = architecture.split('## Data model')[1]?.split('\n## ')[0] ?? '';
  assertSame(
    firstCells(section, /^`/),
    tables.map((name) => `\`${name}\``),
  );
});

type Command = { name: string; flags: string[] };

/** Every command that does something, as `--help` shows it. */
async function readCommands(words: string[] = []): Promise<Command[]> {
  const { code, out } = await mneme([...words, '--help']);
  assert.equal(code, 0, out);
  const [options = '', commands] = out.split('\nCommands:\n');
  if (commands === undefined) {
    const flags = [...options.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map((match) => match[1] ?? '');
    return [{ name: ['mneme', ...words].join(' '), flags: flags.filter((flag) => flag !== '--help') }];
  }
  const names = [...commands.matchAll(/^ {2}([a-z]+)/gm)].map((match) => match[1] ?? '');
  const found = names.filter((name) => name !== 'help').map((name) => readCommands([...words, name]));
  return (await Promise.all(found)).flat();
}

test('docs/operations.md has every command with its flags, and no document shows another', async () => {
  const commands = await readCommands();
  const settings = SETTINGS.map(({ flag }) => `--${flag}`);
  const rows = rowsOf(operations).filter((row) => /^`mneme /.test(row[0] ?? ''));
  const flagsOf = (cell: string) => (cell === 'the settings above' ? settings : cell.replaceAll('`', '').split(' '));
  assertSame(
    rows.map(
      (row) =>
        `${row[0]}: ${flagsOf(row[1] ?? '')
          .sort()
          .join(' ')}`,
    ),
    commands.map(({ name, flags }) => `\`${name}\`: ${flags.sort().join(' ')}`),
  );

  for (const { file, text } of DOCUMENTS)
    for (const code of codeOf(text)) {
      const shown = /(?:^|[\s/])mneme(?:\.js)? ((?:[a-z]+ ?)+)?(.*)$/.exec(code);
      if (!shown) continue;
      const words = `mneme ${(shown[1] ?? '').trim()}`.trim();
      const command = commands.find(({ name }) => words === name || words.startsWith(`${name} `));
      const group = commands.some(({ name }) => name.startsWith(`${words} `));
      assert.ok(command || group, `${file} shows a command that does not exist: ${code}`);
      for (const [flag] of (shown[2] ?? '').matchAll(/--[a-z][a-z-]*/g))
        assert.ok(flag === '--help' || command?.flags.includes(flag), `${file} shows the flag ${flag} in: ${code}`);
    }
});

test('docs/operations.md has every metric of /metrics', async () => {
  const engine = ENGINES.find(({ name }) => name === 'sqlite');
  assert.ok(engine);
  const database = await engine.create();
  const server = await startInProcess(database);
  try {
    await server.client.beta.memoryStores.list();
    const { body } = await server.call('GET', '/metrics', { key: null });
    const served = [...String(body).matchAll(/^# TYPE (mneme_\w+) (\w+)$/gm)];
    assert.ok(served.length > 0);
    assertSame(
      rowsOf(operations)
        .filter((row) => /^`mneme_/.test(row[0] ?? ''))
        .map((row) => `${row[0]} ${row[1]}`),
      served.map((match) => `\`${match[1]}\` ${match[2]}`),
    );
  } finally {
    await server.stop();
    await database.drop();
  }
});

test('every relative link of the documents leads somewhere', () => {
  for (const { file, text } of DOCUMENTS)
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const linked = path === '' ? file : join(dirname(file), path);
      assert.ok(existsSync(resolve(ROOT, linked)), `${file} links to ${target}`);
      if (anchor !== undefined)
        assert.ok(anchorsOf(document(linked)).includes(anchor), `${file} links to the heading #${anchor} of ${linked}`);
    }
});

test('no document names a path of a machine or a host of a registry', () => {
  const folders = /(?<![\w.~-])\/(?:work|root|home|tmp|usr|opt|var|etc|Users)\//;
  const hosts = /registry\.npmjs|npmjs\.org|pypi\.org|proxy\.golang|artifactory|\.internal\b/;
  for (const { file, text } of DOCUMENTS) {
    assert.doesNotMatch(text, folders, file);
    assert.doesNotMatch(text, hosts, file);
  }
});

test('the licence is Apache-2.0 and named in package.json', () => {
  const licence = readFileSync(resolve(ROOT, 'LICENSE'), 'utf8');
  assert.match(licence, /Apache License\s+Version 2\.0, January 2004/);
  assert.match(licence, /END OF TERMS AND CONDITIONS\s+APPENDIX: How to apply the Apache License to your work/);
  assert.equal(JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')).license, 'Apache-2.0');
});
