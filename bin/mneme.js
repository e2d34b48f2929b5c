#!/usr/bin/env node
// Runs the command on Node 24, which `npm ci` installs beside the project: the sources are TypeScript as they stand,
// and the machine's own Node may be older.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const main = new URL('../src/main.ts', import.meta.url);

if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import(main.href);
} else {
  const node = createRequire(import.meta.url).resolve('node/bin/node');
  const child = spawn(node, [fileURLToPath(main), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
  });
  child.on('error', (error) => {
    console.error(`Node 24 could not be started: ${error.message}. Run "npm ci" first.`);
    process.exitCode = 1;
  });
}
