import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { verify } from '../../src/domain/verify.ts';
import { ENGINES } from '../support/engines.ts';
import { mneme, type ServerProcess, spawnServer } from '../support/server.ts';
import { checkClean, snapshot } from './fleet.ts';
import { Load, State } from './load.ts';
import { otherConnectionsEnd } from './postgres.ts';
import { rounds, stress } from './seed.ts';

const ROUNDS = 20;
const WRITERS = 8;

for (const engine of ENGINES)
  describe(`kill -9 on ${engine.name}`, { skip: engine.skip }, () => {
    stress(
      'under a write load: every acknowledged write is there, and nothing is half-written',
      engine.skip,
      async (random) => {
        const database = await engine.create();
        let server: ServerProcess | null = null;
        try {
          const load = new Load(WRITERS, random);
          let store = '';
          await rounds(ROUNDS, async () => {
            const current = await spawnServer(database);
            server = current;
            if (store === '') {
              const created = await current.call('POST', '/v1/memory_stores', { body: { name: 'load' } });
              store = `/v1/memory_stores/${created.body.id}`;
            }
            let killed = false;
            const writing = load.run(current, store, () => killed);
            await Promise.race([sleep(random.between(20, 350)), writing]);
            killed = true;
            assert.equal(await current.end('SIGKILL'), 'SIGKILL');
            server = null;
            await writing;
            // What the killed server sent to PostgreSQL may still be carried out; it counts as before the restart.
            if (database.databaseUrl !== null) await otherConnectionsEnd(database.databaseUrl);
            const { state, report } = await snapshot(database, async (read) => ({
              state: await State.read(read),
              report: await verify(read),
            }));
            load.reconcile(state);
            assert.deepEqual(report.problems, []);
          });

          server = await spawnServer(database);
          const { status, body } = await server.call('GET', `${store}/memories?limit=20&view=full`);
          assert.equal(status, 200);
          assert.ok(body.data.length > 0);
          const result = await mneme(['verify', '--json', ...database.flags]);
          assert.equal(result.code, 0, result.out + result.err);
          assert.deepEqual(JSON.parse(result.out).problems, []);
          assert.ok(load.writes > ROUNDS * WRITERS, 'there was a load');
          assert.equal(await server.end(), 0);
          server = null;
          await checkClean(database);
        } finally {
          await (server as ServerProcess | null)?.end('SIGKILL');
          await database.drop();
        }
      },
    );
  });
