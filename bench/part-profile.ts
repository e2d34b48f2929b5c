import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './cleanup.ts';
import { OPERATIONS } from './messages.ts';
import type { Options } from './options.ts';
import { BASE } from './part-http.ts';
import { Generator, startTarget } from './target.ts';

type CpuProfile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
};

const SHOWN = 25;

/** The functions in which most of the time of a profile was spent themselves, callees left out. */
function topFunctions(profile: CpuProfile): string[] {
  const names = new Map(
    profile.nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || '(anonymous)'} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`,
    ]),
  );
  const times = new Map<string, number>();
  let total = 0;
  profile.samples.forEach((id, i) => {
    const name = names.get(id) ?? '';
    const time = profile.timeDeltas[i] ?? 0;
    if (name.startsWith('(idle)')) return;
    times.set(name, (times.get(name) ?? 0) + time);
    total += time;
  });
  return [...times]
    .sort((a, b) => b[1] - a[1])
    .slice(0, SHOWN)
    .map(([name, time]) => `  ${((time / total) * 100).toFixed(1).padStart(5)} %  ${name}`);
}

/** Loads a server under Node's profiler, one kind of request each, and says where its busy time went. */
export async function runProfile(options: Options, say: (line: string) => void): Promise<string> {
  const lines: string[] = [];
  for (const operation of OPERATIONS) {
    say(operation);
    const folder = makeFolder('profile');
    const generator = new Generator();
    const target = await startTarget({ dataDir: makeFolder('profiled') }, BASE, [
      '--cpu-prof',
      `--cpu-prof-dir=${folder}`,
    ]);
    await generator.load(target, operation, options.seconds * options.rounds);
    await Promise.all([target.server.stop(), generator.end()]);
    const file = readdirSync(folder)[0];
    if (file === undefined) throw new Error('The server wrote no profile.');
    lines.push(
      `${operation}: share of the busy time`,
      ...topFunctions(JSON.parse(readFileSync(join(folder, file), 'utf8'))),
    );
  }
  return lines.join('\n');
}
