import type { Command } from 'commander';
import type { Static } from 'typebox';
import type { ApiKey, ApiKeyList, CreatedApiKey, Workspace, WorkspaceList } from '../contract/keys.ts';
import { ROUTES } from '../contract/routes.ts';
import { CallError, call, readConnection } from './client.ts';
import { show, table } from './output.ts';

type Common = { baseUrl?: string; apiKey?: string; json?: boolean };

const UNITS: Record<string, number> = { h: 3_600_000, d: 86_400_000 };

/** `30d` and `12h` count from now; anything else goes to the server as a time. */
export function readExpiry(text: string | undefined, now: number): string | undefined {
  const match = /^(\d{1,5})([hd])$/.exec(text ?? '');
  return match ? new Date(now + Number(match[1]) * (UNITS[match[2] as string] as number)).toISOString() : text;
}

function remote(command: Command): Command {
  return command
    .option('--base-url <url>', 'the server (MNEME_BASE_URL, ANTHROPIC_BASE_URL; default http://127.0.0.1:8400)')
    .option('--api-key <key>', 'an admin key (MNEME_API_KEY, ANTHROPIC_API_KEY)')
    .option('--json', 'print JSON, as into a pipe');
}

function workspaceTable(workspaces: Static<typeof Workspace>[]): string {
  return table(
    ['ID', 'NAME', 'CREATED'],
    workspaces.map((each) => [each.id, each.name, each.created_at]),
  );
}

function keyTable(keys: Static<typeof ApiKey>[]): string {
  const state = (key: Static<typeof ApiKey>) =>
    key.revoked_at !== null
      ? `revoked ${key.revoked_at}`
      : key.expires_at !== null
        ? `until ${key.expires_at}`
        : 'active';
  return table(
    ['ID', 'NAME', 'ROLE', 'ENDS', 'USER', 'STATE'],
    keys.map((key) => [key.id, key.name, key.role, key.hint, key.user?.name ?? '', state(key)]),
  );
}

export function addKeyCommands(program: Command): void {
  const workspaces = program
    .command('workspaces')
    .description('manage workspaces (admin key of the default workspace)');
  remote(workspaces.command('create').argument('<name>').description('create a workspace')).action(
    async (name: string, flags: Common) => {
      const workspace = await call(readConnection(flags, process.env), 'POST', ROUTES.createWorkspace.path, {
        body: { name },
      });
      show(workspace, flags.json, () => workspaceTable([workspace as Static<typeof Workspace>]));
    },
  );
  remote(workspaces.command('list').description('list workspaces')).action(async (flags: Common) => {
    const list = (await call(readConnection(flags, process.env), 'GET', ROUTES.listWorkspaces.path)) as Static<
      typeof WorkspaceList
    >;
    show(list.data, flags.json, () => workspaceTable(list.data));
  });

  const keys = program.command('keys').description('manage API keys (admin key)');
  remote(
    keys
      .command('create')
      .description('create a key and print it alone on standard output; it is shown only once')
      .requiredOption('--name <name>', 'what the key is for')
      .option('--role <role>', 'admin, developer or read_only', 'developer')
      .option('--user <name>', 'the person whose key this is: versions then name the person')
      .option('--workspace <id>', 'another workspace than that of the admin key')
      .option('--expires <time>', 'an RFC 3339 time, or 30d or 12h from now'),
  ).action(
    async (flags: Common & { name: string; role: string; user?: string; workspace?: string; expires?: string }) => {
      const created = (await call(readConnection(flags, process.env), 'POST', ROUTES.createKey.path, {
        body: {
          name: flags.name,
          role: flags.role,
          user: flags.user,
          workspace_id: flags.workspace,
          expires_at: readExpiry(flags.expires, Date.now()),
        },
      })) as Static<typeof CreatedApiKey>;
      process.stderr.write(
        `Created ${created.id} (${created.role}) in ${created.workspace_id}. The key is shown only now.\n`,
      );
      process.stdout.write(`${flags.json ? JSON.stringify(created, null, 2) : created.key}\n`);
    },
  );
  remote(
    keys
      .command('list')
      .description('list keys')
      .option('--workspace <id>', 'another workspace than that of the admin key'),
  ).action(async (flags: Common & { workspace?: string }) => {
    const list = (await call(readConnection(flags, process.env), 'GET', ROUTES.listKeys.path, {
      query: { workspace_id: flags.workspace },
    })) as Static<typeof ApiKeyList>;
    show(list.data, flags.json, () => keyTable(list.data));
  });
  remote(
    keys
      .command('revoke')
      .argument('<id>', 'the id of the key, apikey_...')
      .description('end a key at once')
      .option('--workspace <id>', 'another workspace than that of the admin key'),
  ).action(async (id: string, flags: Common & { workspace?: string }) => {
    if (!/^apikey_\w+$/.test(id)) throw new CallError(400, 'Give the id of the key (apikey_...), not the key.');
    const key = await call(
      readConnection(flags, process.env),
      'POST',
      ROUTES.revokeKey.path.replace(':api_key_id', id),
      { query: { workspace_id: flags.workspace } },
    );
    show(key, flags.json, () => keyTable([key as Static<typeof ApiKey>]));
  });
}
