/**
 * Loaded before each test file by the runner. It fails a file that leaves something running (which node:test would
 * wait for without end) and one that ends before its last test (which node:test would count as passed).
 */
import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';

const graceSeconds = 10;

if (isMainThread && process.env.NODE_TEST_CONTEXT === 'child-v8') {
  let ended = false;
  after(() => {
    ended = true;
    // It runs only if something else keeps the process alive.
    setTimeout(() => {
      const left = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap');
      console.error(`The tests left something running: ${left.join(', ') || 'a pipe or a child process'}`);
      process.exit(1);
    }, graceSeconds * 1000).unref();
  });
  process.on('exit', (code) => {
    if (ended || code !== 0) return;
    console.error('The process ended before its last test.');
    process.exitCode = 1;
  });

  // A runner that was killed can't stop its test files.
  const runner = process.ppid;
  setInterval(() => {
    if (process.ppid !== runner) process.exit(1);
  }, 1000).unref();

  // Processes that the tests start are no test files: they inherit neither this module nor the channel to the runner.
  // node:test has read both by now.
  process.execArgv.length = 0;
  delete process.env.NODE_TEST_CONTEXT;
}
