import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

function run(program: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: ROOT, encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
}

test('the sources are formatted and linted', () => run('node_modules/.bin/biome', 'ci', '.'));

test('the sources have sound types', () => run('node_modules/.bin/tsc', '-p', '.'));
