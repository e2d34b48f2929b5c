import type { Command } from 'commander';
import { verify } from '../domain/verify.ts';
import type { ScrubResult, Snapshot } from '../storage/storage.ts';
import { show, table } from './output.ts';

/** Which database a command works on directly; the same settings as the server's. */
export type Database = { dataDir: string; databaseUrl: string | null };

/** What `main` hands in: the engines' direct ways to a database. */
export type DatabaseTools = {
  readDatabase(flags: { dataDir?: string; databaseUrl?: string }): Database;
  snapshot<T>(database: Database, read: (snapshot: Snapshot) => Promise<T>): Promise<T>;
  /** Null when the engine has a tool of its own for it. */
  backup(database: Database, file: string): Promise<void> | null;
  scrub(database: Database): Promise<ScrubResult>;
};

type Flags = { dataDir?: string; databaseUrl?: string; json?: boolean };

function local(command: Command): Command {
  return command
    .option('--data-dir <dir>', 'directory of the SQLite database (MNEME_DATA_DIR; default ./.mneme)')
    .option('--database-url <url>', 'postgres://.. (MNEME_DATABASE_URL)')
    .option('--json', 'print JSON, as into a pipe');
}

export function addDatabaseCommands(program: Command, tools: DatabaseTools): void {
  local(
    program
      .command('verify')
      .description('check the whole database, also beside a running server; exit code 1 when something is wrong'),
  ).action(async (flags: Flags) => {
    const report = await tools.snapshot(tools.readDatabase(flags), verify);
    show(report, flags.json, () => {
      const counts = `${report.stores} stores, ${report.memories} memories, ${report.versions} versions`;
      const scrubs =
        report.pendingScrubs > 0 ? `\n${report.pendingScrubs} redactions await a scrub ("mneme scrub").` : '';
      if (report.problems.length === 0) return `All is well: ${counts}.${scrubs}`;
      const rows = report.problems.map(({ object, problem }) => [object, problem]);
      return `${table(['OBJECT', 'PROBLEM'], rows)}\n${report.problems.length} problems in ${counts}. Stop writing and restore a backup, or report a bug.${scrubs}`;
    });
    if (report.problems.length > 0) process.exitCode = 1;
  });

  local(
    program
      .command('backup')
      .argument('<file>', 'a new file')
      .description('copy the SQLite database to a file, consistently, while the server runs'),
  ).action(async (file: string, flags: Flags) => {
    const done = tools.backup(tools.readDatabase(flags), file);
    if (done === null)
      throw new Error(
        'Back up PostgreSQL with its own tool: pg_dump --format=custom --file=FILE "$MNEME_DATABASE_URL".',
      );
    await done;
    show({ file }, flags.json, () => `Wrote ${file}.`);
    process.stderr.write(
      'To restore: stop the server, put the file in place of mneme.db in the data directory, remove mneme.db-wal and mneme.db-shm, run "mneme verify", start.\n',
    );
  });

  local(
    program
      .command('scrub')
      .description('remove what redactions left in free space, dead rows and logs of the database'),
  ).action(async (flags: Flags) => {
    const result = await tools.scrub(tools.readDatabase(flags));
    show(result, flags.json, () =>
      [`${result.removed} redactions scrubbed.`, ...result.remaining, ...result.elsewhere].join('\n'),
    );
    if (result.remaining.length > 0) process.exitCode = 1;
  });
}
