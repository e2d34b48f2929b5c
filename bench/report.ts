import { OPERATIONS, type Operation } from './messages.ts';
import type { GrowthPart } from './part-growth.ts';
import { BASE, type HttpPart } from './part-http.ts';
import type { PeersPart } from './part-peers.ts';
import type { PostgresPart } from './part-postgres.ts';
import { CONNECTIONS } from './target.ts';

export type Results = {
  http?: HttpPart;
  growth?: GrowthPart;
  postgres?: PostgresPart | { missing: string };
  peers?: PeersPart;
};

export type Target = { name: string; value: number; goal: number; reached: boolean };

/** The least share of raw node:http's rate that each operation of the server is to reach. */
const SHARES: Record<Operation, number> = { retrieve: 0.25, create: 0.12, list: 0.1 };
const CREATE_OF_IN_PROCESS = 0.4;
const GROWTH = 1.25;

/** Every goal with what was measured. Ratios alone: they bear another machine. */
export function checkTargets({ http, growth }: Results): Target[] {
  const targets: Target[] = [];
  const atLeast = (name: string, value: number, goal: number) =>
    targets.push({ name, value, goal, reached: value >= goal });
  if (http) {
    for (const operation of OPERATIONS)
      atLeast(
        `${operation} / raw node:http, at least`,
        http.http[operation].perSecond / http.hello.perSecond,
        SHARES[operation],
      );
    atLeast(
      'create / in-process create, at least',
      http.http.create.perSecond / http.inProcess.create.perSecond,
      CREATE_OF_IN_PROCESS,
    );
  }
  if (growth)
    for (const operation of OPERATIONS) {
      const value = growth.large[operation].p50Ms / growth.small[operation].p50Ms;
      targets.push({
        name: `${operation} median, ${growth.memories.toLocaleString('en')} / 1,000 memories, at most`,
        value,
        goal: GROWTH,
        reached: value <= GROWTH,
      });
    }
  return targets;
}

const rate = (value: number) => Math.round(value).toLocaleString('en').padStart(9);
const ratio = (value: number) => value.toFixed(3).padStart(7);
const megabytes = (bytes: number | null) => (bytes === null ? 'unknown' : `${Math.round(bytes / 1e6)} MB`);

/** The results for a person. */
export function writeReport(results: Results): string {
  const lines: string[] = [];
  const { http, growth, postgres, peers } = results;
  if (http) {
    const { hello } = http;
    lines.push(
      `Over loopback, ${CONNECTIONS} connections, 2 kB documents, a key with each request, ${BASE.memories.toLocaleString('en')} memories`,
      '                        per second   / raw    p50 ms   p99 ms',
      `  raw node:http        ${rate(hello.perSecond)}  ${ratio(1)}  ${hello.p50Ms.toFixed(2).padStart(8)} ${hello.p99Ms.toFixed(2).padStart(8)}   (generator busy ${Math.round(hello.generatorShare * 100)}%)`,
    );
    for (const operation of OPERATIONS) {
      const { perSecond, p50Ms, p99Ms } = http.http[operation];
      lines.push(
        `  SQLite, ${operation.padEnd(12)} ${rate(perSecond)}  ${ratio(perSecond / hello.perSecond)}  ${p50Ms.toFixed(2).padStart(8)} ${p99Ms.toFixed(2).padStart(8)}`,
      );
    }
    lines.push('', 'The storage in process, 32 at a time, and the share of it that remains over HTTP');
    for (const operation of OPERATIONS) {
      const { perSecond } = http.inProcess[operation];
      lines.push(
        `  SQLite, ${operation.padEnd(12)} ${rate(perSecond)}  ${ratio(http.http[operation].perSecond / perSecond)}`,
      );
    }
    lines.push(
      '',
      `Memory of the server: ${megabytes(http.residentBytes.started)} after its start, ${megabytes(http.residentBytes.loaded)} after these loads`,
    );
  }
  if (growth) {
    lines.push(
      '',
      `Growth: median ms at 1,000 memories in 4 stores and at ${growth.memories.toLocaleString('en')} in 200`,
    );
    for (const operation of OPERATIONS) {
      const [small, large] = [growth.small[operation].p50Ms, growth.large[operation].p50Ms];
      lines.push(
        `  ${operation.padEnd(20)} ${small.toFixed(2).padStart(9)} ${large.toFixed(2).padStart(9)}  ${ratio(large / small)}`,
      );
    }
    lines.push(
      `  filled in ${Math.round(growth.fillSeconds)} s, database ${megabytes(growth.databaseBytes)}, memory of the server ${megabytes(growth.residentBytes.started)} after its start, ${megabytes(growth.residentBytes.loaded)} after the loads`,
    );
  }
  if (postgres) {
    lines.push('');
    if ('missing' in postgres) lines.push(`PostgreSQL was not measured: ${postgres.missing}`);
    else {
      lines.push(`PostgreSQL ${postgres.version} on the same machine       per second   / raw`);
      for (const operation of OPERATIONS) {
        const { perSecond } = postgres.http[operation];
        lines.push(
          `  PostgreSQL, ${operation.padEnd(12)}          ${rate(perSecond)}  ${ratio(perSecond / postgres.hello.perSecond)}`,
        );
      }
      lines.push(`  memory of the server ${megabytes(postgres.residentBytes)}`);
    }
  }
  if (peers) {
    lines.push('', 'One operation after the other, in process     documents      put       get    list of 20');
    if (http)
      lines.push(
        `  ${'Mneme, SQLite, each put on disk'.padEnd(40)} ${rate(BASE.memories)} ${rate(http.alone.create.perSecond)} ${rate(http.alone.retrieve.perSecond)} ${rate(http.alone.list.perSecond)}`,
      );
    for (const [name, figures] of Object.entries(peers)) {
      if ('missing' in figures) lines.push(`  ${name.padEnd(40)} not measured: ${figures.missing}`);
      else
        lines.push(
          `  ${name.padEnd(40)} ${rate(figures.documents)} ${rate(figures.create)} ${rate(figures.retrieve)} ${rate(figures.list)}`,
        );
    }
  }
  const targets = checkTargets(results);
  if (targets.length > 0) lines.push('', 'Targets');
  for (const { name, value, goal, reached } of targets)
    lines.push(
      `  ${reached ? 'reached    ' : 'NOT REACHED'} ${name.padEnd(58)} ${goal.toFixed(2)}  measured ${value.toFixed(3)}`,
    );
  return lines.join('\n');
}
