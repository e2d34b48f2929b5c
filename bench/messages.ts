/** What the processes of the benchmark say to each other. */

/** The operations that every target is measured with. */
export const OPERATIONS = ['retrieve', 'create', 'list'] as const;
export type Operation = (typeof OPERATIONS)[number];

export type Plan = {
  port: number;
  connections: number;
  seconds: number;
  /** Stops earlier, after so many requests. */
  maxRequests: number | null;
  /** Complete requests, sent in turn. Where `PATH_MARK` stands, the generator writes a path that was not used before. */
  requests: string[];
  /** The number of the first new path. */
  firstNumber: number;
};

/** What a load was answered with. Times in seconds unless the name says otherwise. */
export type Load = {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  seconds: number;
  /** CPU time of the load generator, to see that it was not the limit. */
  generatorCpu: number;
  nextNumber: number;
};

/** Where a storage is. */
export type Place = { dataDir: string } | { databaseUrl: string };

export type FillRequest = { do: 'fill'; place: Place; memories: number; stores: number; sample: number };
export type Filled = {
  stores: string[];
  /** Some of the memories, at random. */
  sample: { storeId: string; memoryId: string }[];
  seconds: number;
  /** The number after the last path. */
  nextNumber: number;
};

export type MeasureRequest = { do: 'measure'; operation: Operation; seconds: number; concurrency: number };
export type Measured = { perSecond: number; cpuPerOperationUs: number };
