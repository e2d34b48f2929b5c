import { makeFolder, startChild } from './cleanup.ts';
import {
  type Filled,
  type FillRequest,
  type Measured,
  type MeasureRequest,
  OPERATIONS,
  type Operation,
} from './messages.ts';
import type { Options } from './options.ts';
import { residentBytes } from './server.ts';
import { median, medianOf } from './statistics.ts';
import { CONNECTIONS, Generator, type Measurement, startTarget } from './target.ts';

/** 25 documents in each folder of a store, so that a list of 20 has a next page. */
export const BASE = { memories: 10_000, stores: 40 };

export type Figures = { perSecond: number; p50Ms: number; p99Ms: number; cpuUs: number | null };

export type HttpPart = {
  hello: Figures & { generatorShare: number };
  inProcess: Record<Operation, { perSecond: number; cpuUs: number }>;
  /** One operation after the other, as the peers are measured. */
  alone: Record<Operation, { perSecond: number; cpuUs: number }>;
  http: Record<Operation, Figures>;
  residentBytes: { started: number | null; loaded: number | null };
};

export function summarize(rounds: Measurement[]): Figures {
  return {
    perSecond: median(rounds.map((round) => round.perSecond)),
    p50Ms: median(rounds.map((round) => round.p50Ms)),
    p99Ms: median(rounds.map((round) => round.p99Ms)),
    cpuUs: medianOf(rounds, (round) => round.serverCpuUs),
  };
}

export const perOperation = <T>(make: (operation: Operation) => T): Record<Operation, T> =>
  Object.fromEntries(OPERATIONS.map((operation) => [operation, make(operation)])) as Record<Operation, T>;

/** Raw node:http, the storage alone and the server, in turn; each round measures all of them. */
export async function runHttp(options: Options, say: (line: string) => void): Promise<HttpPart> {
  const { seconds } = options;
  const generator = new Generator();
  const helloChild = startChild('./hello.ts');
  const hello = { port: await helloChild.ask<number>('listen'), child: helloChild };
  const target = await startTarget({ dataDir: makeFolder('http') }, BASE);
  const inProcess = startChild('./inprocess.ts');
  const fill: FillRequest = { do: 'fill', place: { dataDir: makeFolder('inprocess') }, ...BASE, sample: 10_000 };
  await inProcess.ask<Filled>(fill);
  const started = residentBytes(target.server.process);

  const measure = (operation: Operation, duration: number, concurrency = CONNECTIONS) =>
    inProcess.ask<Measured>({ do: 'measure', operation, seconds: duration, concurrency } satisfies MeasureRequest);

  // The first second of each runs code that is not compiled yet.
  const warmUp = Math.min(seconds, 1.5);
  await generator.hello(hello, warmUp);
  for (const operation of OPERATIONS) {
    await generator.load(target, operation, warmUp);
    await measure(operation, warmUp);
  }

  const helloRounds: Measurement[] = [];
  const httpRounds = perOperation(() => [] as Measurement[]);
  const inProcessRounds = perOperation(() => [] as Measured[]);
  for (let round = 1; round <= options.rounds; round++) {
    say(`round ${round} of ${options.rounds}`);
    for (const operation of OPERATIONS) {
      // The yardstick beside each load: other programs on the machine come and go.
      helloRounds.push(await generator.hello(hello, seconds));
      httpRounds[operation].push(await generator.load(target, operation, seconds));
      inProcessRounds[operation].push(await measure(operation, seconds));
    }
  }
  const aloneRounds = perOperation(() => [] as Measured[]);
  for (let round = 0; round < Math.min(options.rounds, 3); round++)
    for (const operation of OPERATIONS) aloneRounds[operation].push(await measure(operation, seconds, 1));

  const loaded = residentBytes(target.server.process);
  await target.server.stop();
  await Promise.all([inProcess.end(), helloChild.end(), generator.end()]);
  const summarizeInProcess = (rounds: Measured[]) => ({
    perSecond: median(rounds.map((round) => round.perSecond)),
    cpuUs: median(rounds.map((round) => round.cpuPerOperationUs)),
  });
  return {
    hello: {
      ...summarize(helloRounds),
      generatorShare: median(helloRounds.map((round) => round.generatorCpu / round.seconds)),
    },
    inProcess: perOperation((operation) => summarizeInProcess(inProcessRounds[operation])),
    alone: perOperation((operation) => summarizeInProcess(aloneRounds[operation])),
    http: perOperation((operation) => summarize(httpRounds[operation])),
    residentBytes: { started, loaded },
  };
}
