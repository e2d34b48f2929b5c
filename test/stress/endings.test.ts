import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENGINES } from '../support/engines.ts';
import type { Answer } from '../support/server.ts';
import { CLIENTS, checkClean, expectCount, Fleet, type Item, snapshot } from './fleet.ts';
import { checkHistory } from './history.ts';
import { rounds, stress } from './seed.ts';

const ROUNDS = 4;

/** How many stores wait to be purged, and how many memories and versions of stores that are gone there are. */
function countLeft(fleet: Fleet): Promise<{ deleted: number; rows: number }> {
  return snapshot(fleet.database, async (read) => {
    const live = new Set<number>();
    let deleted = 0;
    for await (const store of read.stores()) {
      if (store.deleted) deleted++;
      else live.add(store.key);
    }
    let rows = 0;
    for await (const memory of read.memories()) if (!live.has(memory.storeKey)) rows++;
    for await (const version of read.versions()) if (!live.has(version.storeKey)) rows++;
    return { deleted, rows };
  });
}

type Written = { /** Versions that answers named. */ versions: string[]; refusals: Answer[] };

/**
 * Each client creates memories, and changes the last one, until the store refuses. What is sent after the end was
 * answered must be refused.
 */
async function writeUntilRefused(fleet: Fleet, store: string, ended: () => boolean): Promise<Written> {
  const versions: string[] = [];
  const refusals = await Promise.all(
    Array.from({ length: CLIENTS - 1 }, async (_, client) => {
      let url = `${store}/memories`;
      for (let i = 0; ; i++) {
        const late = ended();
        const path = `/${client}/${i}`;
        const answer = await fleet.call(
          'POST',
          url,
          url.endsWith('/memories') ? { path, content: path } : { content: path },
        );
        if (answer.status !== 200) return answer;
        assert.ok(!late, 'a write that was sent after the end was answered is refused');
        versions.push(answer.body.memory_version_id);
        url = i % 3 === 2 ? `${store}/memories` : `${store}/memories/${answer.body.id}`;
      }
    }),
  );
  return { versions, refusals };
}

for (const engine of ENGINES)
  describe(`an end races with 20 clients on ${engine.name}`, { skip: engine.skip }, () => {
    let fleet: Fleet;
    before(async () => {
      fleet = await Fleet.start(engine);
    });
    after(() => fleet?.stop());

    const race = (name: string, body: Parameters<typeof stress>[2]) =>
      stress(name, engine.skip, async (random) => {
        await body(random);
        await checkClean(fleet.database);
      });

    race('archiving a store: what came before is there, and nothing comes after', (random) =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        let ended = false;
        const writing = writeUntilRefused(fleet, store, () => ended);
        await sleep(random.between(5, 60));
        const archived = await fleet.call('POST', `${store}/archive`);
        assert.equal(archived.status, 200);
        ended = true;
        const atOnce = await fleet.all(`${store}/memories`);
        const { versions, refusals } = await writing;
        expectCount(refusals, CLIENTS - 1, 400, 'invalid_request_error');
        assert.deepEqual(await fleet.all(`${store}/memories`), atOnce, 'nothing was written after the answer');
        const history = await checkHistory(fleet, store, Number.POSITIVE_INFINITY);
        assert.deepEqual(history.map((version) => version.id).sort(), versions.sort());
      }),
    );

    race('deleting a store: nothing of it stays', (random) =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        let ended = false;
        const writing = writeUntilRefused(fleet, store, () => ended);
        await sleep(random.between(5, 60));
        const deleted = await fleet.call('DELETE', store);
        assert.equal(deleted.status, 200);
        ended = true;
        assert.equal((await fleet.call('GET', `${store}/memories`)).status, 404);
        const { versions, refusals } = await writing;
        expectCount(refusals, CLIENTS - 1, 404, 'not_found_error');
        for (const path of ['', '/memories', '/memory_versions', `/memory_versions/${versions.at(-1)}`])
          assert.equal((await fleet.call('GET', store + path)).status, 404);
        // Rows go in steps after the answer. Rows that came too late for their store would never go: they must not
        // outlast its mark.
        for (;;) {
          const left = await countLeft(fleet);
          if (left.deleted === 0) {
            assert.equal(left.rows, 0, 'no memory or version outlasts its store');
            break;
          }
          await sleep(50);
        }
      }),
    );

    race('deleting a store 20 times at once: one finds it', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        await fleet.newMemory(store, '/a', 'text');
        const answers = await Promise.all(Array.from({ length: CLIENTS }, () => fleet.call('DELETE', store)));
        expectCount(answers, 1, 200);
        expectCount(answers, CLIENTS - 1, 404, 'not_found_error');
      }),
    );

    /** Half of the clients redact `versionId` while the other half `change`; the memory must stay whole. */
    const redactWhile = async (
      store: string,
      memory: { id: string; memory_version_id: string },
      change: (client: number) => Promise<Answer>,
    ) => {
      const redact = `${store}/memory_versions/${memory.memory_version_id}/redact`;
      const answers = await Promise.all(
        Array.from({ length: CLIENTS }, (_, client) =>
          client % 2 === 0 ? fleet.call('POST', redact) : change(client),
        ),
      );
      const redactions = answers.filter((_, client) => client % 2 === 0);
      const changes = answers.filter((_, client) => client % 2 === 1);
      for (const { status, body } of redactions) assert.ok(status === 200 || status === 400, JSON.stringify(body));
      expectCount(changes, changes.length, 200);
      const versions = await fleet.all(`${store}/memory_versions?memory_id=${memory.id}`);
      const version = versions.find((each) => each.id === memory.memory_version_id) as Item;
      const redacted = redactions.some((answer) => answer.status === 200);
      assert.equal(version.redacted_at !== null, redacted, 'the version is redacted if and only if an answer said so');
      for (const other of versions) assert.ok(other === version || other.redacted_at === null);
      await checkClean(fleet.database);
      // Once the memory has moved on, nothing stands in the way of the redaction.
      const last = await fleet.call('POST', redact);
      assert.equal(last.status, 200);
      assert.equal(last.body.content_sha256, null);
      return versions;
    };

    race('redacting the current version while it is replaced', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const memory = await fleet.newMemory(store, '/a', 'secret');
        const versions = await redactWhile(store, memory, (client) =>
          fleet.call('POST', `${store}/memories/${memory.id}`, { content: `clean ${client}` }),
        );
        assert.equal(versions.length, 1 + CLIENTS / 2);
        const { body } = await fleet.call('GET', `${store}/memories/${memory.id}`);
        assert.match(body.content, /^clean \d+$/);
        assert.equal(body.memory_version_id, versions[0]?.id);
      }),
    );

    // A renamed memory shares the text of the version before: redacting that one must leave the shared text.
    race('redacting the current version while the memory is renamed: its text stays', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const memory = await fleet.newMemory(store, '/a', 'shared text');
        await redactWhile(store, memory, (client) =>
          fleet.call('POST', `${store}/memories/${memory.id}`, { path: `/renamed ${client}` }),
        );
        const { body } = await fleet.call('GET', `${store}/memories/${memory.id}`);
        assert.equal(body.content, 'shared text');
      }),
    );

    race('redacting all versions that share a text at once: the text goes', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const memory = await fleet.newMemory(store, '/a', 'shared secret');
        const url = `${store}/memories/${memory.id}`;
        const shared = [memory.memory_version_id];
        for (let i = 0; i < 9; i++)
          shared.push((await fleet.call('POST', url, { path: `/b/${i}` })).body.memory_version_id);
        await fleet.call('POST', url, { content: 'clean' });
        const answers = await Promise.all(
          [...shared, ...shared].map((id) => fleet.call('POST', `${store}/memory_versions/${id}/redact`)),
        );
        expectCount(answers, answers.length, 200);
        // `verify` names a text without versions; a version must not lead to one either.
        for (const version of await fleet.all(`${store}/memory_versions`))
          assert.equal(version.redacted_at !== null, shared.includes(version.id));
        assert.equal((await fleet.call('GET', url)).body.content, 'clean');
        const texts = await snapshot(fleet.database, async (read) => {
          const left: string[] = [];
          for await (const version of read.versions())
            if (version.bytes !== null) left.push(Buffer.from(version.bytes).toString());
          return left;
        });
        assert.ok(!texts.includes('shared secret'));
      }),
    );

    race('deleting a memory while its last version is redacted', () =>
      rounds(ROUNDS, async () => {
        const store = await fleet.newStore();
        const memory = await fleet.newMemory(store, '/a', 'secret');
        const redact = `${store}/memory_versions/${memory.memory_version_id}/redact`;
        const answers = await Promise.all(
          Array.from({ length: CLIENTS }, (_, client) =>
            client === CLIENTS / 2
              ? fleet.call('DELETE', `${store}/memories/${memory.id}`)
              : fleet.call('POST', redact),
          ),
        );
        assert.equal(answers[CLIENTS / 2]?.status, 200);
        for (const { status, body } of answers) assert.ok(status === 200 || status === 400, JSON.stringify(body));
        assert.equal((await fleet.call('POST', redact)).status, 200);
        const versions = await fleet.all(`${store}/memory_versions`);
        assert.deepEqual(
          versions.map((version) => [version.operation, version.redacted_at !== null]),
          [
            ['deleted', false],
            ['created', true],
          ],
        );
      }),
    );
  });
