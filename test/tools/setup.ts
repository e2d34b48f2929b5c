import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { missingVariable, type Tool, valueVariable } from '../support/tools.ts';
import type { Found } from './command.ts';
import { startPostgres } from './postgres.ts';
import { prepareAnt, prepareProgram } from './programs.ts';
import { preparePython } from './python.ts';

export type Tools = { release(): Promise<void> };

/**
 * Prepares every tool at the same time, names each in this process's environment, which test processes inherit, and
 * prints one line for each. A tool that fails is missing with a reason; nothing here raises.
 */
export async function prepareTools(root: string, signal: AbortSignal, print: (line: string) => void): Promise<Tools> {
  const folder = join(root, '.test-tools');
  await mkdir(folder, { recursive: true });
  let stopPostgres = async (): Promise<void> => {};

  const postgres = async (): Promise<Found> => {
    const cluster = await startPostgres(signal);
    if ('missing' in cluster) return cluster;
    stopPostgres = cluster.stop;
    process.env.MNEME_TEST_POSTGRES_DATA = cluster.data;
    return { value: cluster.url, note: cluster.note };
  };
  const prepare = async (tool: Tool, preparation: Promise<Found>): Promise<void> => {
    const found = await preparation.catch((error: unknown): Found => ({ missing: String(error) }));
    delete process.env[valueVariable(tool)];
    delete process.env[missingVariable(tool)];
    if ('value' in found) process.env[valueVariable(tool)] = found.value;
    else process.env[missingVariable(tool)] = found.missing;
    print(`${tool.padEnd(9)} ${'value' in found ? found.note : `missing: ${found.missing}`}`);
  };

  await Promise.all([
    prepare('postgres', postgres()),
    prepare('python', preparePython(folder, signal)),
    prepare('ant', prepareAnt(folder, signal)),
    prepare('jq', prepareProgram('jq', signal)),
    prepare('curl', prepareProgram('curl', signal)),
  ]);
  return { release: () => stopPostgres() };
}
