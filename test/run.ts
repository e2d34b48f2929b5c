/**
 * Runs the tests: `node test/run.ts [file, glob or part of a path ...]`, all of them without arguments. The last line
 * is `N passed, N failed, N skipped`; the exit code is 0 only when a test ran and none failed.
 */
import { existsSync, globSync } from 'node:fs';
import { matchesGlob, relative, resolve } from 'node:path';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { Report } from './reporter.ts';
import { prepareTools } from './tools/setup.ts';

const root = resolve(import.meta.dirname, '..');
const ending = new URL('./support/ending.ts', import.meta.url).href;
const testSeconds = 600;
const interrupt = new AbortController();

/** The files that the arguments name; an argument that names none is an error. */
function selectFiles(wanted: string[]): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: root }).sort();
  if (wanted.length === 0) return all.map((file) => resolve(root, file));
  const chosen = new Set<string>();
  for (const argument of wanted) {
    const path = relative(root, resolve(argument));
    const matches = all.filter((file) => file === path || matchesGlob(file, argument) || file.includes(argument));
    if (all.includes(path)) chosen.add(resolve(argument));
    else if (matches.length > 0) for (const file of matches) chosen.add(resolve(root, file));
    else if (argument.endsWith('.test.ts') && existsSync(argument)) chosen.add(resolve(argument));
    else throw new Error(`No test file matches ${argument}`);
  }
  return [...chosen];
}

/** The developer's own settings must not reach the servers and clients under test. */
function clearEnvironment(): void {
  for (const name of Object.keys(process.env))
    if (/^(ANTHROPIC_|MNEME_)/.test(name) && !name.startsWith('MNEME_TEST_')) delete process.env[name];
}

/** Runs the files; answers false when it had to be broken off. */
async function runFiles(files: string[], report: Report): Promise<boolean> {
  // A test in an endless loop does not notice its own time limit, so silence for longer than that ends the run.
  const stalled = new AbortController();
  const silence = setTimeout(() => stalled.abort(), (testSeconds + 60) * 1000);
  const stream = run({
    files,
    cwd: root,
    concurrency: 2,
    isolation: 'process',
    timeout: testSeconds * 1000,
    signal: AbortSignal.any([interrupt.signal, stalled.signal]),
    execArgv: [`--import=${ending}`, '--disable-warning=ExperimentalWarning'],
  });
  for await (const event of stream as AsyncIterable<TestEvent>) {
    silence.refresh();
    report.handle(event);
  }
  clearTimeout(silence);
  if (stalled.signal.aborted) print(`No test ended for ${testSeconds + 60} seconds; the run was broken off.`);
  return !stalled.signal.aborted && !interrupt.signal.aborted;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    // The second time at once; the PostgreSQL server is stopped whenever this process ends.
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort();
  });

// A signal for npm alone ends npm and its shell, not this process; the loss of the parent tells.
const parent = process.ppid;
if (process.env.npm_lifecycle_event)
  setInterval(() => {
    if (process.ppid !== parent) interrupt.abort();
  }, 500).unref();

const report = new Report(root, (text) => process.stdout.write(text));
let complete = false;
try {
  const files = selectFiles(process.argv.slice(2));
  clearEnvironment();
  const tools = await prepareTools(root, interrupt.signal, print);
  try {
    if (!interrupt.signal.aborted && files.length > 0) complete = await runFiles(files, report);
  } finally {
    await tools.release();
  }
} catch (error) {
  print(error instanceof Error ? error.message : String(error));
}
const { passed, failed } = report.counts;
if (passed + failed === 0) print('No test was executed, which counts as a failure.');
report.end();
process.exit(interrupt.signal.aborted ? 130 : complete && failed === 0 && passed > 0 ? 0 : 1);
