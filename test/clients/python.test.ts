import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import { ADMIN_KEY, spawnServer, startInProcess } from '../support/server.ts';
import { need } from '../support/tools.ts';
import { TEXTS, TOO_LARGE } from './texts.ts';

const python = need('python');
const SCRIPT = join(import.meta.dirname, 'python_client.py');

/** Runs a part of the script against a server; its traceback is the failure. Answers what it printed. */
async function run(given: { part: string; url: string } & Record<string, unknown>): Promise<Record<string, unknown>> {
  const child = spawn(python.value as string, ['-B', SCRIPT], {
    // UTF-8 whatever the machine's language is, and no settings of the developer.
    env: { PATH: process.env.PATH, PYTHONUTF8: '1' },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  child.stdin.end(JSON.stringify({ key: ADMIN_KEY, ...given }));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, `${err}${out}`);
  return JSON.parse(out);
}

for (const engine of ENGINES)
  describe(`the Python SDK on ${engine.name}`, { skip: engine.skip ?? python.skip }, () => {
    test('drives every endpoint with every parameter, and sees typed errors', async () => {
      const database = await engine.create();
      const server = await startInProcess(database);
      try {
        const create = async (path: string, body: object) =>
          (await server.call('POST', `/mneme/v1/${path}`, { body: { name: 'other', ...body } })).body;
        await run({
          part: 'endpoints',
          url: server.url,
          workspace: server.server.world.defaultWorkspaceId,
          developer: await create('keys', { role: 'developer' }),
          reader: await create('keys', { role: 'read_only' }),
          foreign: await create('keys', { role: 'admin', workspace_id: (await create('workspaces', {})).id }),
        });
        const routes = server.log.map((line) => JSON.parse(line)).filter((line) => line.status === 200);
        const called = new Set(routes.map((line) => `${line.method} ${line.route}`));
        assert.equal([...called].filter((route) => route.includes(' /v1/')).length, 14);
      } finally {
        await server.stop();
        await database.drop();
      }
    });

    test('every text comes back byte for byte, through a restart too', async () => {
      const database = await engine.create();
      const texts = { texts: TEXTS, too_large: TOO_LARGE };
      try {
        const first = await spawnServer(database);
        let written: unknown;
        try {
          written = await run({ part: 'write', url: first.url, ...texts });
        } finally {
          assert.equal(await first.end(), 0);
        }
        const second = await spawnServer(database);
        try {
          await run({ part: 'read', url: second.url, ...texts, written });
        } finally {
          assert.equal(await second.end(), 0);
        }
      } finally {
        await database.drop();
      }
    });
  });
