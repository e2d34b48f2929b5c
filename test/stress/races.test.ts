import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { ENGINES } from '../support/engines.ts';
import type { Answer } from '../support/server.ts';
import { CLIENTS, checkClean, expectCount, Fleet, type Memory, sha256 } from './fleet.ts';
import { checkHistory } from './history.ts';
import { rounds, stress } from './seed.ts';

const LIMIT = 12;
const ROUNDS = 6;

/** Runs one request of each client at the same time. */
function together(send: (client: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: CLIENTS }, (_, client) => send(client)));
}

for (const engine of ENGINES)
  describe(`20 clients race on ${engine.name}`, { skip: engine.skip }, () => {
    let fleet: Fleet;
    before(async () => {
      fleet = await Fleet.start(engine, ['--max-memories-per-store', String(LIMIT)]);
    });
    after(() => fleet?.stop());

    const race = (name: string, body: Parameters<typeof stress>[2]) =>
      stress(name, engine.skip, async (random) => {
        await body(random);
        await checkClean(fleet.database);
      });

    race('with one precondition: one wins', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const memory = await fleet.newMemory(store, '/shared', 'before');
        const url = `${store}/memories/${memory.id}`;
        const precondition = { type: 'content_sha256', content_sha256: sha256('before') };
        const answers = await together((client) =>
          fleet.call('POST', url, { content: `by client ${client}`, precondition }),
        );
        expectCount(answers, CLIENTS - 1, 409, 'memory_precondition_failed_error');
        const [won] = expectCount(answers, 1, 200);
        const winner = answers.indexOf(won as Answer);
        const { body } = await fleet.call('GET', url);
        assert.equal(body.content, `by client ${winner}`);
        assert.equal(body.memory_version_id, won?.body.memory_version_id);
        const versions = await checkHistory(fleet, store, 1);
        assert.deepEqual(
          versions.map((version) => version.id),
          [memory.memory_version_id, won?.body.memory_version_id],
        );
      }),
    );

    race('to delete with one precondition while others update: one wins', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const memory = await fleet.newMemory(store, '/shared', 'before');
        const url = `${store}/memories/${memory.id}`;
        const precondition = { type: 'content_sha256', content_sha256: sha256('before') };
        const answers = await together((client) =>
          client % 2 === 0
            ? fleet.call('DELETE', `${url}?expected_content_sha256=${sha256('before')}`)
            : fleet.call('POST', url, { content: `by client ${client}`, precondition }),
        );
        const [won] = expectCount(answers, 1, 200);
        const deleted = won?.body.type === 'memory_deleted';
        expectCount(answers, CLIENTS - 1, deleted ? 404 : 409);
        const versions = await checkHistory(fleet, store, 1);
        assert.deepEqual(
          versions.map((version) => version.operation),
          ['created', deleted ? 'deleted' : 'modified'],
        );
      }),
    );

    race('to create one path: one wins, and the others learn of it', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const answers = await together((client) =>
          fleet.call('POST', `${store}/memories`, { path: '/new/one', content: `by client ${client}` }),
        );
        const [won] = expectCount(answers, 1, 200);
        for (const lost of expectCount(answers, CLIENTS - 1, 409, 'memory_path_conflict_error')) {
          assert.equal(lost.body.error.conflicting_memory_id, won?.body.id);
          assert.equal(lost.body.error.conflicting_path, '/new/one');
        }
        assert.equal((await checkHistory(fleet, store, 1)).length, 1);
      }),
    );

    race('to create a path, its ancestors and its descendants: one wins', () =>
      rounds(ROUNDS, async (round) => {
        const store = await fleet.newStore();
        // The depth at which the others meet differs by round, so that the winner is now above, now below.
        const chain = (client: number) => '/deep'.repeat(1 + ((client + round) % 5));
        const answers = await together((client) =>
          fleet.call('POST', `${store}/memories`, { path: chain(client), content: `by client ${client}` }),
        );
        const [won] = expectCount(answers, 1, 200);
        for (const lost of expectCount(answers, CLIENTS - 1, 409, 'memory_path_conflict_error'))
          assert.equal(lost.body.error.conflicting_path, won?.body.path);
        await checkHistory(fleet, store, 1);
      }),
    );

    race('to create children of a path and the path itself: either the children or the path', (random) =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const order = random.shuffle(Array.from({ length: CLIENTS }, (_, i) => i));
        const answers = await together((client) => {
          const place = order[client] as number;
          const path = place < CLIENTS / 2 ? '/dir' : `/dir/child ${place}`;
          return fleet.call('POST', `${store}/memories`, { path, content: '' });
        });
        const won = answers.filter((answer) => answer.status === 200).map((answer) => answer.body.path);
        expectCount(answers, CLIENTS - won.length, 409, 'memory_path_conflict_error');
        assert.equal(won.length, won.includes('/dir') ? 1 : CLIENTS / 2);
        await checkHistory(fleet, store, CLIENTS / 2);
      }),
    );

    race('to rename to a path while others create it, its ancestors and descendants: one wins', (random) =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const sources: Memory[] = [];
        for (let i = 0; i < CLIENTS / 4; i++) sources.push(await fleet.newMemory(store, `/source/${i}`, `text ${i}`));
        const order = random.shuffle(Array.from({ length: CLIENTS }, (_, i) => i));
        const answers = await together((client) => {
          const place = order[client] as number;
          const target = random.pick(['/target', '/target/a', '/target/a/b']);
          const source = sources[place];
          return source
            ? fleet.call('POST', `${store}/memories/${source.id}`, { path: target })
            : fleet.call('POST', `${store}/memories`, { path: target, content: 'new' });
        });
        const won = answers.filter((answer) => answer.status === 200).map((answer) => answer.body.path);
        expectCount(answers, CLIENTS - won.length, 409, 'memory_path_conflict_error');
        assert.equal(won.length, 1);
        await checkHistory(fleet, store, LIMIT);
      }),
    );

    race('to fill a store: never one too many', () =>
      rounds(ROUNDS, async (round) => {
        const store = await fleet.newStore();
        const taken = LIMIT - round;
        for (let i = 0; i < taken; i++) await fleet.newMemory(store, `/before/${i}`, '');
        const answers = await together((client) =>
          fleet.call('POST', `${store}/memories`, { path: `/more/${client}`, content: '' }),
        );
        expectCount(answers, LIMIT - taken, 200);
        expectCount(answers, CLIENTS - LIMIT + taken, 400, 'invalid_request_error');
        assert.equal((await checkHistory(fleet, store, LIMIT)).length, LIMIT);
      }),
    );

    race('to create in a full store while others delete: never one too many', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const old: Memory[] = [];
        for (let i = 0; i < LIMIT; i++) old.push(await fleet.newMemory(store, `/before/${i}`, ''));
        const answers = await together((client) =>
          client % 2 === 0
            ? fleet.call('DELETE', `${store}/memories/${old[client / 2]?.id}`)
            : fleet.call('POST', `${store}/memories`, { path: `/more/${client}`, content: '' }),
        );
        const created = answers.filter((answer) => answer.body.type === 'memory').length;
        expectCount(answers, CLIENTS / 2 + created, 200);
        expectCount(answers, CLIENTS / 2 - created, 400, 'invalid_request_error');
        await checkHistory(fleet, store, LIMIT);
        assert.equal((await fleet.all(`${store}/memories`)).length, LIMIT - CLIENTS / 2 + created);
      }),
    );

    race('with everything at once on few paths: each answer holds, and none is a fault', (random) =>
      rounds(3, async () => {
        const store = await fleet.newStore();
        const ids: string[] = [];
        const written = new Set<string>();
        const paths = ['/a', '/b', '/a/b', '/b/a', '/a/b/c', '/c', '/d', '/d/a', '/e', '/f'];
        let deleted = 0;
        const client = async (name: number) => {
          for (let i = 0; i < 15; i++) {
            const path = random.pick(paths);
            const url = ids.length === 0 ? null : `${store}/memories/${random.pick(ids)}`;
            const dice = random.next();
            const answer =
              url === null || dice < 0.35
                ? await fleet.call('POST', `${store}/memories`, { path, content: `${name} ${i}` })
                : dice < 0.6
                  ? await fleet.call('POST', url, { path })
                  : dice < 0.8
                    ? await fleet.call('POST', url, { path, content: `${name} ${i} changed` })
                    : await fleet.call('DELETE', url);
            assert.ok([200, 400, 404, 409].includes(answer.status), JSON.stringify(answer.body));
            if (answer.body.type === 'memory_deleted') deleted++;
            if (answer.body.type !== 'memory') continue;
            written.add(answer.body.memory_version_id);
            if (!ids.includes(answer.body.id)) ids.push(answer.body.id);
          }
        };
        await Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
        const versions = await checkHistory(fleet, store, LIMIT);
        const kept = versions.filter((version) => version.operation !== 'deleted').map((version) => version.id);
        assert.deepEqual(new Set(kept), written, 'the versions are those that clients were told of');
        assert.equal(versions.length - kept.length, deleted);
      }),
    );
  });
