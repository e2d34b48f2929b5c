import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));

/** What each layer may import beside itself. Only the files at the top of `src` wire layers together. */
const ARROWS: Record<string, string[]> = {
  contract: [],
  storage: ['contract'],
  domain: ['storage', 'contract'],
  http: ['domain', 'storage', 'contract'],
  worker: ['domain', 'storage', 'contract'],
  cli: ['domain', 'storage', 'contract'],
};
/** Types of storage are the records that the layers above pass on; its engines are for the top alone. */
const ONLY_TYPES = new Set(['http', 'worker', 'cli']);
const CONTRACT_PACKAGES = new Set(['typebox', 'node:crypto']);

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

function importsOf(file: string): { from: string; isType: boolean }[] {
  const text = readFileSync(SRC + file, 'utf8');
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'/gms);
  return [...found].map((match) => ({ isType: match[1] !== undefined, from: match[2] ?? `side effect ${match[3]}` }));
}

test('arrows go one way, engines are opened only at the top, and no import is for its side effect', () => {
  const wrong: string[] = [];
  assert.ok(files.length > 30);
  for (const file of files) {
    const layer = file.includes('/') ? (file.split('/')[0] as string) : null;
    for (const { from, isType } of importsOf(file)) {
      if (from.startsWith('side effect')) wrong.push(`${file}: ${from}`);
      if (layer === null) continue;
      if (!from.startsWith('.')) {
        if (layer === 'contract' && !CONTRACT_PACKAGES.has(from.split('/')[0] as string))
          wrong.push(`${file}: ${from}`);
        continue;
      }
      const target = new URL(from, new URL(file, 'file:///')).pathname.slice(1).split('/');
      const to = target.length > 1 ? (target[0] as string) : 'the top';
      const allowed = to === layer || ARROWS[layer]?.includes(to);
      const engine = to === 'storage' && layer !== 'storage' && target.length > 2;
      if (!allowed || engine || (to === 'storage' && ONLY_TYPES.has(layer) && !isType)) wrong.push(`${file}: ${from}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('files stay under 400 lines, most under 150, in folders named by meaning', () => {
  const lengths = files.map((file) => [readFileSync(SRC + file, 'utf8').split('\n').length, file] as const);
  for (const [length, file] of lengths) assert.ok(length <= 400, `${file} has ${length} lines`);
  const sorted = lengths.map(([length]) => length).sort((a, b) => a - b);
  assert.ok((sorted[Math.floor(sorted.length / 2)] as number) < 150);
  for (const file of files) assert.ok(!/(^|\/)(utils|common|shared|lib|helpers)\//.test(file), file);
});
