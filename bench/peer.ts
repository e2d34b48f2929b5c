import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { answerParent } from './cleanup.ts';
import { documentPath, documentText, FOLDERS } from './documents.ts';
import type { PeerFigures, PeerName, PeerRequest } from './part-peers.ts';

/** Text at a path, in whatever way a peer keeps it. */
type Peer = {
  put(path: string, text: string): Promise<void>;
  get(path: string): Promise<string>;
  /** About 20 entries of a folder. */
  list(folder: string): Promise<number>;
  close(): Promise<void>;
};

// The peers are dependencies of the benchmark alone, so the project's type check must do without their types.
type Agentfs = {
  fs: {
    mkdir(path: string): Promise<void>;
    writeFile(path: string, text: string): Promise<void>;
    readFile(path: string, encoding: string): Promise<string>;
    readdir(path: string): Promise<string[]>;
  };
  close(): Promise<void>;
};
type Saver = {
  put(config: object, checkpoint: object, metadata: object, versions: object): Promise<unknown>;
  get(config: object): Promise<{ channel_values: { text: string } } | undefined>;
  list(config: object, options: { limit: number }): AsyncIterable<unknown>;
};
type McpClient = {
  connect(transport: object): Promise<void>;
  callTool(call: { name: string; arguments: object }): Promise<{ content: { text: string }[]; isError?: boolean }>;
  close(): Promise<void>;
};

async function load<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

async function openAgentfs(folder: string): Promise<Peer> {
  type Module = { AgentFS: { open(options: { path: string }): Promise<Agentfs> } };
  const agent = await (await load<Module>('agentfs-sdk')).AgentFS.open({ path: join(folder, 'agent.db') });
  await agent.fs.mkdir('/notes');
  for (let i = 0; i < FOLDERS; i++) await agent.fs.mkdir(`/notes/${i}`);
  return {
    put: (path, text) => agent.fs.writeFile(path, text),
    get: (path) => agent.fs.readFile(path, 'utf8'),
    list: async (prefix) => (await agent.fs.readdir(prefix.slice(0, -1))).slice(0, 20).length,
    close: () => agent.close(),
  };
}

async function openGit(folder: string): Promise<Peer> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  git('init', '--quiet');
  git('config', 'user.name', 'bench');
  git('config', 'user.email', 'bench@localhost');
  git('config', 'gc.auto', '0');
  return {
    put: async (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
      git('add', path.slice(1));
      git('commit', '--quiet', '--message', path);
    },
    get: async (path) => git('show', `HEAD:${path.slice(1)}`),
    list: async (prefix) => git('ls-tree', '--name-only', 'HEAD', prefix.slice(1)).split('\n').slice(0, 20).length,
    close: async () => {},
  };
}

async function openLanggraph(directory: string): Promise<Peer> {
  type Module = { SqliteSaver: { fromConnString(file: string): Saver } };
  const { SqliteSaver } = await load<Module>('@langchain/langgraph-checkpoint-sqlite');
  const saver = SqliteSaver.fromConnString(join(directory, 'saver.db'));
  // A folder as a thread and a path as a namespace: the only mapping in which it lists a folder by an index.
  const thread = (path: string) => path.slice(0, path.lastIndexOf('/') + 1);
  const at = (path: string) => ({ configurable: { thread_id: thread(path), checkpoint_ns: path } });
  let count = 0;
  return {
    put: async (path, text) => {
      const id = `1ef4f797-8335-6428-8001-${String(count++).padStart(12, '0')}`;
      const values = { channel_values: { text }, channel_versions: {}, versions_seen: {}, pending_sends: [] };
      await saver.put(at(path), { v: 1, ts: new Date().toISOString(), id, ...values }, { source: 'input' }, {});
    },
    get: async (path) => (await saver.get(at(path)))?.channel_values.text ?? '',
    list: async (folder) => {
      let entries = 0;
      for await (const _ of saver.list({ configurable: { thread_id: folder } }, { limit: 20 })) entries++;
      return entries;
    },
    close: async () => {},
  };
}

async function openMcp(folder: string): Promise<Peer> {
  const sdk = '@modelcontextprotocol/sdk/client';
  type ClientModule = { Client: new (info: object) => McpClient };
  type StdioModule = { StdioClientTransport: new (options: object) => object };
  const { Client } = await load<ClientModule>(`${sdk}/index.js`);
  const { StdioClientTransport } = await load<StdioModule>(`${sdk}/stdio.js`);
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(import.meta.dirname, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js')],
      env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
      stderr: 'ignore',
    }),
  );
  const call = async (name: string, args: object) => {
    const answer = await client.callTool({ name, arguments: args });
    if (answer.isError) throw new Error(answer.content[0]?.text);
    return JSON.parse(answer.content[0]?.text ?? 'null');
  };
  return {
    put: async (path, text) => {
      await call('create_entities', { entities: [{ name: path, entityType: 'note', observations: [text] }] });
    },
    get: async (path) => (await call('open_nodes', { names: [path] })).entities[0].observations[0],
    list: async (prefix) => (await call('search_nodes', { query: prefix })).entities.slice(0, 20).length,
    close: () => client.close(),
  };
}

const OPEN: Record<PeerName, (folder: string) => Promise<Peer>> = {
  'agentfs-sdk': openAgentfs,
  'git, a commit a put': openGit,
  'langgraph SqliteSaver': openLanggraph,
  'MCP memory server': openMcp,
};

/** Repeats an action for some seconds; answers how often it ran in a second. */
async function rate(seconds: number, act: (i: number) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let count = 0;
  while (count === 0 || performance.now() - start < seconds * 1000) await act(count++);
  return count / ((performance.now() - start) / 1000);
}

answerParent(async ({ name, folder, documents, fillSeconds, seconds }: PeerRequest): Promise<PeerFigures> => {
  const peer = await OPEN[name](folder);
  const start = performance.now();
  let held = 0;
  while (held < documents && performance.now() - start < fillSeconds * 1000) {
    await peer.put(documentPath(held), documentText(held));
    held++;
  }
  if ((await peer.get(documentPath(held - 1))) !== documentText(held - 1)) throw new Error('it gave back another text');
  const filled = held;
  const get = await rate(seconds, (i) => peer.get(documentPath((i * 7919) % filled)));
  const list = await rate(seconds, async (i) => {
    const entries = await peer.list(`/notes/${i % FOLDERS}/`);
    if (entries < Math.min(20, held / FOLDERS / 2)) throw new Error(`a list had ${entries} entries`);
  });
  const put = await rate(seconds, () => peer.put(documentPath(held), documentText(held++)));
  await peer.close();
  return { documents: filled, retrieve: get, create: put, list };
});
