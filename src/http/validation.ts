import { isUtf8 } from 'node:buffer';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Failure, invalid } from '../contract/errors.ts';

/** Parses a JSON body. Bytes that are not UTF-8 are refused: decoding would silently replace them. */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw invalid('The request body is not valid UTF-8. Encode the JSON as UTF-8.');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw invalid('The request body is not valid JSON.');
  }
}

type Properties = Record<string, { type?: string }>;

/** Query values arrive as text; those of a number or a boolean are read strictly, others stay as they are. */
function readQuery(properties: Properties, raw: Record<string, unknown>): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(raw)) {
    // Old clients mark beta endpoints with ?beta=true. It says nothing that the header does not.
    if (name === 'beta' && properties.beta === undefined) continue;
    const type = properties[name]?.type;
    if (type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value)) query[name] = Number(value);
    else if (type === 'boolean' && (value === 'true' || value === 'false')) query[name] = value === 'true';
    else query[name] = value;
  }
  return query;
}

type Problem = { keyword: string; instancePath: string; message: string; params: object };

/** One sentence on the first problem, with the field and never its value. */
function explain(where: string, problems: Problem[]): Failure {
  const unknown = problems.find((problem) => problem.keyword === 'additionalProperties');
  if (unknown) {
    const names = (unknown.params as { additionalProperties: string[] }).additionalProperties;
    const shown = names.map((name) => JSON.stringify(name.slice(0, 64))).join(', ');
    return invalid(`The ${where} has fields that this endpoint does not know: ${shown}. Remove them.`);
  }
  // Of a failed union every branch complains; the deepest problem says most.
  const problem = problems.reduce((best, next) => (next.instancePath.length > best.instancePath.length ? next : best));
  const field = problem.instancePath === '' ? where : problem.instancePath.slice(1).replaceAll('/', '.').slice(0, 128);
  return invalid(`${field} ${problem.message}.`);
}

/** Validates with the contract's schemas, compiled once when routes are registered. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  // Headers are checked by `guard`, in words of their own; a malformed id is simply not found.
  if (httpPart === 'headers' || httpPart === 'params') return () => true;
  const compiled = Compile(schema);
  const properties = (schema as { properties?: Properties }).properties ?? {};
  const optionalBody = httpPart === 'body' && '~optional' in schema;
  const where = httpPart === 'querystring' ? 'query' : 'body';
  return (data: unknown) => {
    if (optionalBody && (data === undefined || data === null)) return { value: data };
    const value = httpPart === 'querystring' ? readQuery(properties, data as Record<string, unknown>) : data;
    if (compiled.Check(value)) return { value };
    return { error: explain(where, compiled.Errors(value) as Problem[]) };
  };
};
