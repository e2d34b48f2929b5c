import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ROUTES } from '../../src/contract/routes.ts';
import { ENGINES, temporaryDirectory } from '../support/engines.ts';
import { ADMIN_KEY, BETA, startInProcess } from '../support/server.ts';
import { need } from '../support/tools.ts';

const python = need('python');

/** Runs the Python of the tests to its end; what it prints is the proof that a failure shows. */
async function runPython(
  args: string[],
  options: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<{ code: number; output: string }> {
  const child = spawn(python.value as string, args, {
    cwd: options.cwd,
    // Nothing is written beside the sources or into the home directory.
    env: { PATH: process.env.PATH, HOME: options.cwd, PYTHONDONTWRITEBYTECODE: '1', COLUMNS: '120', ...options.env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data;
    });
  child.stdin.end(options.input ?? '');
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

/** The specification's own schema for its documents, which schemathesis brings along. */
const VALIDATE = `
import json, sys
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR as validator
document = json.load(sys.stdin)
def problems(candidate):
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message}"[:300] for error in validator.iter_errors(candidate)]
assert problems({**document, "paths": []}), "the validator accepts anything"
found = problems(document)
sys.exit("\\n".join(found) if found else 0)
`;

for (const engine of ENGINES)
  describe(`the OpenAPI document on ${engine.name}`, { skip: engine.skip ?? python.skip }, () => {
    test('is valid OpenAPI 3.1 and has every route', async () => {
      const database = await engine.create();
      const server = await startInProcess(database);
      const cwd = await temporaryDirectory();
      try {
        const document = (await server.call('GET', '/openapi.json')).body;
        const { code, output } = await runPython(['-c', VALIDATE], { cwd, input: JSON.stringify(document) });
        assert.equal(code, 0, output);
        type Operation = { operationId: string };
        const names = Object.values<Record<string, Operation>>(document.paths).flatMap((path) =>
          Object.values(path).map((operation) => operation.operationId),
        );
        assert.deepEqual(names.sort(), Object.keys(ROUTES).sort());
      } finally {
        await server.stop();
        await database.drop();
        await rm(cwd, { recursive: true });
      }
    });

    test('schemathesis finds no 5xx and no answer outside the schema', async () => {
      const database = await engine.create();
      const server = await startInProcess(database);
      const cwd = await temporaryDirectory();
      try {
        const config = join(import.meta.dirname, 'schemathesis.toml');
        const headers = [`x-api-key: ${ADMIN_KEY}`, `anthropic-beta: ${BETA}`].flatMap((header) => ['-H', header]);
        const { code, output } = await runPython(
          ['-m', 'schemathesis.cli', '--config-file', config, 'run', `${server.url}/openapi.json`, ...headers],
          {
            cwd,
            env: {
              SCHEMATHESIS_HOOKS: join(import.meta.dirname, 'schemathesis_hooks.py'),
              MNEME_FUZZ_URL: server.url,
              MNEME_FUZZ_KEY: ADMIN_KEY,
            },
          },
        );
        assert.equal(code, 0, output);
        // It would also end with 0 if it had not got anywhere.
        assert.match(output, new RegExp(`Tested: ${Object.keys(ROUTES).length}\\b`), output);
        const statuses = new Map<string, Set<number>>();
        const lines = server.log.map((line) => JSON.parse(line));
        for (const line of lines)
          if (line.msg === 'request') {
            const route = `${line.method} ${line.route}`;
            statuses.set(route, (statuses.get(route) ?? new Set()).add(line.status));
          }
        for (const route of Object.values(ROUTES)) {
          const seen = statuses.get(`${route.method} ${route.path}`) ?? new Set();
          assert.ok(seen.has(200) && seen.size > 1, `${route.method} ${route.path} answered only ${[...seen]}`);
        }
        assert.deepEqual(
          lines.filter((line) => line.level !== 'info' || line.status >= 500),
          [],
        );
      } finally {
        await server.stop();
        await database.drop();
        await rm(cwd, { recursive: true });
      }
    });
  });
