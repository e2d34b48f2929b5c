import pino, { type Logger } from 'pino';

/**
 * What a log line may say of an error: its kind, code and where it happened. Details, parameters and the messages of
 * parsers can carry memory text or keys, so they stay out.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    type: error.constructor.name,
    ...(error instanceof SyntaxError ? {} : { message: error.message }),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof errcode === 'number' ? { errcode } : {}),
    stack: frames.slice(0, 12).join('\n'),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

/** JSON lines on standard error: standard output has what a person reads, a first key among it. */
export function createLog(level: string, write?: (line: string) => void): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  };
  if (write) return pino(options, { write });
  // Lines leave in blocks of 32 kB or with the timer of `flushRegularly`, whichever is first: a system call for each
  // request costs a tenth of the throughput.
  return pino(options, pino.destination({ fd: 2, minLength: 32_768, maxWrite: 131_072, sync: false }));
}

/** Flushes waiting lines four times a second until stopped. */
export function flushRegularly(log: Logger): () => void {
  const timer = setInterval(() => log.flush(), 250);
  timer.unref();
  return () => clearInterval(timer);
}
