/** A process that holds a storage of its own: it fills one for a server, or measures one without HTTP. */
import { hash } from 'node:crypto';
import { createIdSource } from '../src/contract/ids.ts';
import { describeKey } from '../src/domain/keys.ts';
import { openPostgres } from '../src/storage/postgres/open.ts';
import { openSqlite } from '../src/storage/sqlite/open.ts';
import type { Storage, StoreRef, Text } from '../src/storage/storage.ts';
import { answerParent } from './cleanup.ts';
import { documentPath, documentText, FOLDERS } from './documents.ts';
import type { Filled, FillRequest, Measured, MeasureRequest } from './messages.ts';
import { API_KEY } from './server.ts';

const newId = createIdSource(Date.now);
// As many as one group commit takes.
const FILL_CONCURRENCY = 128;
const MAX_MEMORIES = 10_000;
const LIST_LIMIT = 20;

type State = {
  storage: Storage;
  workspaceId: string;
  keyId: string;
  stores: StoreRef[];
  sample: Filled['sample'];
  nextNumber: number;
};
let state: State | null = null;

function toText(content: string): Text {
  const bytes = Buffer.from(content);
  return { bytes, sha256: hash('sha256', bytes, 'hex') };
}

async function create(now: State, number: number, text: Text): Promise<{ storeId: string; memoryId: string }> {
  const ref = now.stores[number % now.stores.length] as StoreRef;
  const result = await now.storage.memories.create(ref, {
    memoryId: newId('mem'),
    versionId: newId('memver'),
    path: documentPath(number),
    text,
    maxMemories: MAX_MEMORIES,
    actor: { type: 'api_actor', id: now.keyId },
    sessionEventId: null,
    now: Date.now(),
  });
  if (result.outcome !== 'created') throw new Error(`A create was answered with ${result.outcome}.`);
  return { storeId: ref.storeId, memoryId: result.memory.id };
}

async function fill(request: FillRequest): Promise<Filled> {
  const { place } = request;
  const storage = 'dataDir' in place ? openSqlite(place.dataDir) : await openPostgres(place.databaseUrl);
  const now = Date.now();
  const keyId = newId('apikey');
  const rest = { workspaceId: '', name: 'bench', role: 'admin', user: null, createdBy: null, expiresAt: null } as const;
  const key = describeKey(API_KEY, { ...rest, id: keyId, now });
  const { workspace } = await storage.keys.bootstrap({
    workspace: { id: newId('wrkspc'), name: 'default', createdAt: now },
    fixed: key,
    fresh: key,
  });
  const stores: StoreRef[] = [];
  for (let i = 0; i < request.stores; i++) {
    const ref = { workspaceId: workspace.id, storeId: newId('memstore') };
    await storage.stores.create({ ...ref, id: ref.storeId, name: `store ${i}`, description: '', metadata: {}, now });
    stores.push(ref);
  }
  state = { storage, workspaceId: workspace.id, keyId, stores, sample: [], nextNumber: 0 };
  const filling = state;
  // Texts differ in few places only; making each anew would take longer than storing it.
  const texts = Array.from({ length: 500 }, (_, i) => toText(documentText(i)));
  const every = Math.max(1, Math.floor(request.memories / request.sample));
  const start = performance.now();
  await inParallel(
    FILL_CONCURRENCY,
    () => filling.nextNumber < request.memories,
    async () => {
      const number = filling.nextNumber++;
      const made = await create(filling, number, texts[number % texts.length] as Text);
      if (number % every === 0) filling.sample.push(made);
    },
  );
  return {
    stores: stores.map(({ storeId }) => storeId),
    sample: filling.sample,
    seconds: (performance.now() - start) / 1000,
    nextNumber: filling.nextNumber,
  };
}

async function inParallel(concurrency: number, goOn: () => boolean, step: () => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (goOn()) await step();
    }),
  );
}

/** One operation with what the domain does around it: ids, bytes and hash of a text. */
async function perform(filled: State, request: MeasureRequest, content: string): Promise<void> {
  const { storage, sample } = filled;
  if (request.operation === 'create') {
    await create(filled, filled.nextNumber++, toText(content));
    return;
  }
  const one = sample[Math.floor(Math.random() * sample.length)] as Filled['sample'][number];
  const ref = { workspaceId: filled.workspaceId, storeId: one.storeId };
  if (request.operation === 'retrieve') {
    const memory = await storage.memories.get(ref, one.memoryId, true);
    if (memory?.content?.length !== content.length) throw new Error('A retrieve found nothing.');
    return;
  }
  const prefix = `/notes/${Math.floor(Math.random() * FOLDERS)}/`;
  const query = { prefix, from: prefix, depth: 0, limit: LIST_LIMIT + 1, withContent: false } as const;
  const entries = await storage.memories.list(ref, query);
  if (entries?.length !== LIST_LIMIT + 1) throw new Error('A list was too short.');
}

async function measure(request: MeasureRequest): Promise<Measured> {
  if (!state) throw new Error('Nothing was filled.');
  const filled = state;
  const content = documentText(7);
  const cpu = process.cpuUsage();
  const start = performance.now();
  const end = start + request.seconds * 1000;
  // Reads of SQLite are ready at once: without a turn of the event loop they would starve the timers that a server has.
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  let done = 0;
  await inParallel(
    request.concurrency,
    () => performance.now() < end,
    async () => {
      await perform(filled, request, content);
      done++;
      if (request.operation !== 'create') await turn();
    },
  );
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: done / ((performance.now() - start) / 1000),
    cpuPerOperationUs: (user + system) / done,
  };
}

answerParent<FillRequest | MeasureRequest | { do: 'close' }>(async (message) => {
  if (message.do === 'fill') return fill(message);
  if (message.do === 'measure') return measure(message);
  await state?.storage.close();
  state = null;
  return null;
});
