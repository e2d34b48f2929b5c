import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { readExpiry } from '../src/cli/keys.ts';
import { printable, table } from '../src/cli/output.ts';
import { type Database, ENGINES } from './support/engines.ts';
import { ADMIN_KEY, mneme, startInProcess, type TestServer } from './support/server.ts';

let database: Database;
let server: TestServer;
const run = (...args: string[]) => mneme(args, { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: ADMIN_KEY });

before(async () => {
  database = await (ENGINES[0] as (typeof ENGINES)[number]).create();
  server = await startInProcess(database);
});
after(async () => {
  await server.stop();
  await database.drop();
});

test('keys create prints the key alone, and it works until it is revoked', async () => {
  const created = await run('keys', 'create', '--name', 'laptop', '--expires', '30d', '--user', 'Ada');
  assert.equal(created.code, 0, created.err);
  assert.match(created.out, /^sk-mneme-\w{44}\n$/);
  const key = created.out.trim();
  assert.ok(!created.err.includes(key));
  assert.equal((await server.call('GET', '/v1/memory_stores', { key })).status, 200);

  const keys = JSON.parse((await run('keys', 'list')).out);
  const record = keys.find((each: { name: string }) => each.name === 'laptop');
  assert.deepEqual([record.role, record.user.name, record.hint], ['developer', 'Ada', key.slice(-4)]);
  const days = (Date.parse(record.expires_at) - Date.now()) / 86_400_000;
  assert.ok(days > 29.9 && days <= 30);

  const wrong = await run('keys', 'revoke', key);
  assert.equal(wrong.code, 2);
  assert.ok(!wrong.err.includes(key), 'a key given by mistake is not printed');
  assert.equal((await run('keys', 'revoke', record.id)).code, 0);
  assert.equal((await server.call('GET', '/v1/memory_stores', { key })).status, 401);
});

test('a workspace, an admin key in it, and what that key may do', async () => {
  const workspace = JSON.parse((await run('workspaces', 'create', 'team')).out);
  const names = JSON.parse((await run('workspaces', 'list')).out).map((each: { name: string }) => each.name);
  assert.deepEqual(names, ['default', 'team']);
  const { out } = await run('keys', 'create', '--name', 'k', '--role', 'admin', '--workspace', workspace.id);
  const inTeam = (...args: string[]) => mneme([...args, '--base-url', server.url, '--api-key', out.trim()]);
  assert.equal(JSON.parse((await inTeam('keys', 'list')).out).length, 1);
  const refused = await inTeam('workspaces', 'list');
  assert.deepEqual([refused.code, refused.out], [3, '']);
  assert.match(refused.err, /admin key of the default workspace/);
});

test('exit codes tell what kind of thing went wrong, and standard error what to do', async () => {
  const nobody = createServer().listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  const closed = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`;
  nobody.close();
  const cases: [string[], Record<string, string>, number, RegExp][] = [
    [['keys', 'list'], { MNEME_BASE_URL: server.url }, 3, /no API key/],
    [['keys', 'list'], { MNEME_BASE_URL: server.url, MNEME_API_KEY: 'wrong' }, 3, /unknown, revoked or expired/],
    [['keys', 'list'], { MNEME_BASE_URL: closed, MNEME_API_KEY: 'x' }, 6, /ECONNREFUSED.*npm start/],
    [['keys', 'create'], {}, 2, /--name/],
    [['nonsense'], {}, 2, /unknown command/],
    [['verify', '--data-dir', '/nonexistent'], {}, 1, /no database/],
  ];
  for (const [args, env, code, message] of cases) {
    const result = await mneme(args, env);
    assert.equal(result.code, code, args.join(' '));
    assert.match(result.err, message);
  }
  assert.equal((await run('workspaces', 'create', 'default')).code, 5);
  assert.equal((await run('keys', 'revoke', 'apikey_01missing')).code, 4);
  assert.equal((await mneme(['--help'])).code, 0);
});

test('an expiry from now, and text that can not disturb a terminal', () => {
  assert.equal(readExpiry('12h', 0), '1970-01-01T12:00:00.000Z');
  assert.equal(readExpiry('2030-01-01T00:00:00Z', 0), '2030-01-01T00:00:00Z');
  assert.equal(readExpiry(undefined, 0), undefined);
  assert.equal(printable('a\u001b[31m\u202eb'), 'a\ufffd[31m\ufffdb');
  assert.equal(table(['A', 'LONG'], [['xyz', '1']]), 'A    LONG\nxyz  1');
});
