import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ADMIN_KEY } from '../support/server.ts';
import { need } from '../support/tools.ts';

export const ant = need('ant');
export type Result = { code: number; out: string; err: string };
export type Input = { stdin?: string; key?: string };

/** The command line against one server, without any settings of the developer. */
export function commandLine(url: string, home: string) {
  const run = async (args: string[], { stdin, key = ADMIN_KEY }: Input = {}): Promise<Result> => {
    const child = spawn(ant.value as string, ['--base-url', url, ...args], {
      // A pipe would be read as the request's body.
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, ANTHROPIC_API_KEY: key },
    });
    let out = '';
    let err = '';
    child.stdout?.setEncoding('utf8').on('data', (data) => {
      out += data;
    });
    child.stderr?.setEncoding('utf8').on('data', (data) => {
      err += data;
    });
    child.stdin?.end(stdin);
    const [code] = (await once(child, 'close')) as [number];
    return { code, out, err };
  };
  /** The lines of JSON that a command prints: one for an object, one for each item of a list. */
  const lines = async (args: string[], input?: Input) => {
    const { code, out, err } = await run(['--format', 'jsonl', ...args], input);
    assert.equal(code, 0, `${args.join(' ')}: ${err}${out}`);
    return out
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  return {
    run,
    lines,
    one: async (args: string[], input?: Input) => {
      const found = await lines(args, input);
      assert.equal(found.length, 1);
      return found[0];
    },
    fails: async (status: string, type: string, args: string[], input?: Input) => {
      const { code, out, err } = await run(['--format-error', 'json', ...args], input);
      assert.equal(code, 1, `${args.join(' ')}: ${out}`);
      assert.match(err, new RegExp(`^(GET|POST|DELETE) "http://.*": ${status}`));
      const body = JSON.parse(out);
      assert.deepEqual([body.type, body.error.type], ['error', type]);
      assert.match(body.request_id, /^req_01/);
      assert.ok(body.error.message.length > 0);
      return body.error;
    },
  };
}
