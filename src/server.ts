import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { createIdSource } from './contract/ids.ts';
import { describeKey, mintKey } from './domain/keys.ts';
import type { World } from './domain/world.ts';
import { createApp, type Patience } from './http/app.ts';
import { openPostgres } from './storage/postgres/open.ts';
import { openSqlite } from './storage/sqlite/open.ts';
import type { Storage } from './storage/storage.ts';
import { startSweeper } from './worker/sweeper.ts';

export type Server = {
  url: string;
  app: FastifyInstance;
  world: World;
  /** The admin key that this start minted; null when one existed or a setting gave it. */
  newKey: string | null;
  /** Finishes requests in flight, at most `graceMs`, then closes everything. */
  stop(graceMs?: number): Promise<void>;
};

/** Gives back an admin key only when the database had none. */
async function bootstrap(storage: Storage, config: Config, world: Pick<World, 'now' | 'newId'>) {
  const minted = mintKey();
  const now = world.now();
  const key = (text: string, name: string) =>
    describeKey(text, {
      id: world.newId('apikey'),
      workspaceId: '',
      name,
      role: 'admin',
      user: null,
      createdBy: null,
      expiresAt: null,
      now,
    });
  const { freshUsed, workspace } = await storage.keys.bootstrap({
    workspace: { id: world.newId('wrkspc'), name: 'default', createdAt: now },
    fixed: config.apiKey === null ? null : key(config.apiKey, 'MNEME_API_KEY'),
    fresh: key(minted, 'first admin key'),
  });
  return { newKey: freshUsed ? minted : null, defaultWorkspaceId: workspace.id };
}

/** Opens storage, builds the world and listens. What was opened is closed again when a later step fails. */
export async function startServer(
  config: Config,
  log: Logger,
  overrides: { now?: () => number; patience?: Patience } = {},
): Promise<Server> {
  const now = overrides.now ?? Date.now;
  const storage = config.databaseUrl === null ? openSqlite(config.dataDir) : await openPostgres(config.databaseUrl);
  try {
    const newId = createIdSource(now);
    const { newKey, defaultWorkspaceId } = await bootstrap(storage, config, { now, newId });
    const sweeper = startSweeper({ storage, now, log, ...config });
    const world: World = {
      storage,
      now,
      newId,
      settings: config,
      defaultWorkspaceId,
      sweepSoon: sweeper.soon,
    };
    try {
      const app = await createApp(world, log, overrides.patience);
      await app.listen({ host: config.host, port: config.port });
      const { port } = app.server.address() as AddressInfo;
      const host = config.host.includes(':') ? `[${config.host}]` : config.host;
      return {
        url: `http://${host}:${port}`,
        app,
        world,
        newKey,
        async stop(graceMs = 10_000) {
          const force = setTimeout(() => app.server.closeAllConnections(), graceMs);
          // A connection that was busy when the stop began is kept alive after its answer unless it is closed.
          const idle = setInterval(() => app.server.closeIdleConnections(), 50);
          await app.close();
          clearInterval(idle);
          clearTimeout(force);
          await sweeper.stop();
          await storage.close();
        },
      };
    } catch (error) {
      await sweeper.stop();
      throw error;
    }
  } catch (error) {
    await storage.close();
    throw error;
  }
}
