import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = {
  registry: Registry;
  /** Counts a finished request; `route` is the pattern, never the path. */
  observe(method: string, route: string, status: number, seconds: number): void;
};

export function createMetrics(engine: string, version: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'mneme_info',
    help: 'Constant 1, labelled with the release and the storage engine.',
    labelNames: ['version', 'engine'],
    registers: [registry],
  })
    .labels(version, engine)
    .set(1);
  const requests = new Histogram({
    name: 'mneme_http_request_duration_seconds',
    help: 'Time from the request to its answer, by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  // Looking labels up costs more than observing: each combination is resolved once.
  const resolved = new Map<string, ReturnType<typeof requests.labels>>();
  return {
    registry,
    observe(method, route, status, seconds) {
      const key = `${method} ${route} ${status}`;
      let child = resolved.get(key);
      if (!child) {
        child = requests.labels(method, route, String(status));
        resolved.set(key, child);
      }
      child.observe(seconds);
    },
  };
}
