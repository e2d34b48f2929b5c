import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect, styleText } from 'node:util';

export type Counts = { passed: number; failed: number; skipped: number };

type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;
/** In the runner's process node:test adds the test file; `file` may name a module with shared tests instead. */
type Origin = { file?: string; entryFile?: string; line?: number };
type Open = { name: string; hasChildren: boolean };

/**
 * Turns the events of node:test into lines. Results arrive file by file in the order of declaration, children between
 * the start and the end of their parent. Only leaves count; a parent counts when it fails for a reason of its own.
 */
export class Report {
  readonly counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #root: string;
  readonly #write: (text: string) => void;
  readonly #failures: string[] = [];
  readonly #reasons = new Map<string, number>();
  #open: Open[] = [];
  #file = '';

  constructor(root: string, write: (text: string) => void) {
    this.#root = root;
    this.#write = write;
  }

  handle(event: TestEvent): void {
    switch (event.type) {
      case 'test:start': {
        const { nesting, name } = event.data;
        this.#open.length = Math.min(this.#open.length, nesting);
        this.#open[nesting] = { name, hasChildren: false };
        break;
      }
      case 'test:pass':
      case 'test:fail':
        this.#finish(event);
        break;
      case 'test:stdout':
      case 'test:stderr':
        this.#heading(event.data);
        for (const line of event.data.message.trimEnd().split('\n'))
          this.#write(`  ${styleText('dim', `| ${line}`)}\n`);
        break;
    }
  }

  /** The reasons of skipped tests, the failures again, and the counts as the last line. */
  end(): void {
    if (this.#failures.length > 0) this.#write(`\nFailed:\n${this.#failures.join('')}`);
    if (this.#reasons.size > 0) this.#write('\nSkipped:\n');
    for (const [reason, times] of this.#reasons) this.#write(`  ${times} x ${reason}\n`);
    const { passed, failed, skipped } = this.counts;
    this.#write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }

  #finish(event: Finished): void {
    const { data } = event;
    const origin: Origin = data;
    const failed = event.type === 'test:fail';
    const own = this.#open[data.nesting];
    // A file has a result of its own only when it has no tests or when its process failed.
    const isFile = origin.entryFile === undefined && data.name === data.file;
    this.#heading(origin);
    for (const [depth, parent] of this.#open.slice(0, data.nesting).entries()) {
      if (!parent.hasChildren) this.#write(`${indent(depth)}${parent.name}\n`);
      parent.hasChildren = true;
    }
    const error = failed ? (event.data.details.error as FailureError) : undefined;
    if (error && data.todo === undefined) {
      if (error.failureType !== 'subtestsFailed')
        this.#fail(data.nesting, isFile ? 'the file' : data.name, origin, explain(error));
    } else if (isFile) {
      this.#fail(0, 'the file', origin, 'It has no tests.');
    } else if (data.skip !== undefined || error) {
      this.#skip(
        data.nesting,
        data.name,
        error ? `to do: ${reasonOf(data.todo, data.name)}` : reasonOf(data.skip, data.name),
      );
    } else if (!own?.hasChildren && data.details.type !== 'suite') {
      this.counts.passed += 1;
      const time = styleText('dim', `(${Math.round(data.details.duration_ms)} ms)`);
      this.#write(`${indent(data.nesting)}${styleText('green', '✔')} ${data.name} ${time}\n`);
    }
  }

  #fail(nesting: number, name: string, origin: Origin, details: string): void {
    this.counts.failed += 1;
    this.#write(`${indent(nesting)}${styleText('red', `✖ ${name}`)}\n`);
    this.#write(`${details.replaceAll(/^/gm, indent(nesting + 1))}\n`);
    const parents = this.#open.slice(0, nesting).map((parent) => `${parent.name} > `);
    const place = `${this.#short(origin.file)}${name === 'the file' ? '' : `:${origin.line}`}`;
    this.#failures.push(`  ${place}  ${parents.join('')}${name}\n`);
  }

  #skip(nesting: number, name: string, reason: string): void {
    this.counts.skipped += 1;
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    this.#write(`${indent(nesting)}${styleText('yellow', '-')} ${name} ${styleText('dim', '(skipped)')}\n`);
  }

  #heading(origin: Origin): void {
    const file = origin.entryFile ?? origin.file ?? '';
    if (file === this.#file) return;
    this.#file = file;
    this.#write(`\n${styleText('bold', this.#short(file))}\n`);
  }

  #short(file: string | undefined): string {
    const path = relative(this.#root, file ?? '');
    return path.startsWith('..') ? (file ?? '') : path;
  }
}

type FailureError = Error & { failureType?: string; exitCode?: number | null; signal?: string | null };

function indent(nesting: number): string {
  return '  '.repeat(nesting + 1);
}

function reasonOf(given: string | boolean | undefined, name: string): string {
  return typeof given === 'string' && given !== '' ? given : `no reason given (${name})`;
}

function explain(error: FailureError): string {
  if (error.signal) return `Its process was ended by ${error.signal}.`;
  if (error.exitCode !== undefined) return `Its process ended with exit code ${error.exitCode}.`;
  const cause: unknown = error.cause ?? error;
  if (error.failureType === 'testAborted' || (cause instanceof Error && cause.name === 'AbortError'))
    return 'The run was broken off.';
  // The stack of a failed assertion holds the difference; inspect would print both sides a second time.
  const isAssertion = cause instanceof Error && 'code' in cause && cause.code === 'ERR_ASSERTION';
  const text = isAssertion ? String(cause.stack) : typeof cause === 'string' ? cause : inspect(cause, { depth: 5 });
  return text
    .split('\n')
    .filter((line) => !/^\s+at .*\bnode:/.test(line) || line.endsWith('{'))
    .join('\n');
}
