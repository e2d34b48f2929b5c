import { Command, CommanderError } from 'commander';
import { CallError, exitCodeFor } from './cli/client.ts';
import { addDatabaseCommands, type Database } from './cli/database.ts';
import { addKeyCommands } from './cli/keys.ts';
import { ConfigError, readConfig, SETTINGS, type SettingName } from './config.ts';
import { VERSION } from './http/app.ts';
import { createLog, describeError, flushRegularly } from './log.ts';
import { startServer } from './server.ts';
import { scrubPostgres, snapshotPostgres } from './storage/postgres/open.ts';
import { backupSqlite, scrubSqlite, snapshotSqlite } from './storage/sqlite/open.ts';

/** Runs a server until SIGTERM or SIGINT; a second signal ends it at once. */
async function serve(flags: Partial<Record<SettingName, string>>): Promise<void> {
  const config = readConfig(flags, process.env);
  const log = createLog(config.logLevel);
  const stopFlushing = flushRegularly(log);
  const server = await startServer(config, log);

  // All before the announcement, since whoever reads it may end the server at once.
  // A fault that nothing caught: what the server's state is, is not known, so it ends and is started again. What it
  // acknowledged is in the database.
  const die = (error: unknown) => {
    log.fatal({ err: error }, 'a fault that nothing caught; the server ends');
    log.flush(() => process.exit(1));
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);

  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping: requests in flight are finished');
    server
      .stop()
      .catch((error: unknown) => {
        log.error({ err: error }, 'the server did not stop cleanly');
        process.exitCode = 1;
      })
      .finally(() => {
        stopFlushing();
        log.flush();
      });
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  const reachable = server.url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  const where = config.databaseUrl === null ? `SQLite in ${config.dataDir}` : 'PostgreSQL';
  const keyLines =
    server.newKey === null
      ? ''
      : `\nA first admin key was made. It is shown only now. Paste these lines where your client runs:\n\nexport ANTHROPIC_BASE_URL=${reachable}\nexport ANTHROPIC_API_KEY=${server.newKey}\n\n`;
  process.stdout.write(`Mneme ${VERSION} listens on ${reachable} (${where})\n${keyLines}`);
}

function readDatabase(flags: { dataDir?: string; databaseUrl?: string }): Database {
  return readConfig({ 'data-dir': flags.dataDir, 'database-url': flags.databaseUrl }, process.env);
}

function buildProgram(): Command {
  const program = new Command('mneme')
    .description('A self-hosted memory server for AI agents that speaks the Claude Managed Agents API.')
    .version(VERSION)
    .showHelpAfterError('(add --help for the commands and flags)')
    .exitOverride();
  const command = program.command('serve').description('start the server');
  for (const { flag, env, value, help } of SETTINGS)
    command.option(`--${flag} <value>`, `${help} (${env}${value === '' ? '' : `; default ${value}`})`);
  command.action((flags: Record<string, string>) => {
    const named = SETTINGS.map(({ flag }) => [flag, flags[flag.replace(/-(\w)/g, (_, c) => c.toUpperCase())]]);
    return serve(Object.fromEntries(named));
  });
  addKeyCommands(program);
  addDatabaseCommands(program, {
    readDatabase,
    snapshot: (database, read) =>
      database.databaseUrl === null
        ? snapshotSqlite(database.dataDir, read)
        : snapshotPostgres(database.databaseUrl, read),
    backup: (database, file) => (database.databaseUrl === null ? backupSqlite(database.dataDir, file) : null),
    scrub: (database) =>
      database.databaseUrl === null ? scrubSqlite(database.dataDir) : scrubPostgres(database.databaseUrl),
  });
  return program;
}

/** Says what went wrong on standard error and sets the exit code: 2 for wrong words, others by `exitCodeFor`. */
function report(error: unknown): void {
  if (error instanceof CommanderError) {
    // Commander has printed its message; help and version are no errors.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    return;
  }
  if (error instanceof ConfigError) process.exitCode = 2;
  else if (error instanceof CallError) process.exitCode = exitCodeFor(error.status);
  else process.exitCode = 1;
  const message = error instanceof Error ? error.message : String(describeError(error).type);
  process.stderr.write(`mneme: ${message}\n`);
  if (process.env.MNEME_LOG_LEVEL === 'debug') process.stderr.write(`${JSON.stringify(describeError(error))}\n`);
}

// The database, its log, backups: what this process writes is for its owner alone.
process.umask(0o077);
await buildProgram().parseAsync(process.argv).catch(report);
