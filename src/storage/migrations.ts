import { readdirSync, readFileSync } from 'node:fs';

export type Migration = { number: number; sql: string };

const FOLDER = new URL('./migrations/', import.meta.url);

/** The numbered migrations of an engine, in order: files named `0001.sqlite.sql`. Numbers have no gaps. */
export function loadMigrations(engine: 'sqlite' | 'postgres'): Migration[] {
  const migrations = readdirSync(FOLDER)
    .filter((name) => name.endsWith(`.${engine}.sql`))
    .sort()
    .map((name) => ({ number: Number(name.slice(0, 4)), sql: readFileSync(new URL(name, FOLDER), 'utf8') }));
  migrations.forEach((migration, index) => {
    if (migration.number !== index + 1) throw new Error(`migration ${index + 1} of ${engine} is missing`);
  });
  return migrations;
}

/** The message for a database that a newer release wrote. */
export function newerSchemaMessage(found: number, known: number): string {
  return `The database has schema ${found}, and this release knows schemas up to ${known}. It was written by a newer release of Mneme: start that one, or restore a backup from before the upgrade.`;
}
