import { isUtf8 } from 'node:buffer';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Failure, invalid } from '../contract/errors.ts';

/** Parses a JSON body. Bytes that are not UTF-8 are refused: decoding would silently replace them. */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw invalid('The request body is not valid UTF-8. Encode the JSON as UTF-8.');
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw invalid('The request body is not valid JSON.');
  }
  // Null stands for "no body" from here on, which some endpoints accept.
  if (value === null) throw invalid('The request body must be a JSON object.');
  return value;
}

type Properties = Record<string, { type?: string }>;

/** Query values arrive as text; those of a number or a boolean are read strictly, others stay as they are. */
function readQuery(properties: Properties, raw: Record<string, unknown>): Record<string, unknown> {
  // Without a prototype: the name __proto__ is then a field like any other, and refused.
  const query: Record<string, unknown> = Object.create(null);
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

/** What a problem asks for, by the schema's keyword; the validator's own words serve for the rest. */
const DEMANDS: Record<string, (params: { [name: string]: unknown }) => string> = {
  type: ({ type }) => `must be ${/^[aio]/.test(String(type)) ? 'an' : 'a'} ${type}`,
  required: ({ requiredProperties }) => `must have ${(requiredProperties as string[]).join(', ')}`,
  minLength: ({ limit }) => `must have at least ${limit} character${limit === 1 ? '' : 's'}`,
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  pattern: () => 'must have the form that the documentation gives (64 lowercase hexadecimal digits for a hash)',
  format: () => 'must be an RFC 3339 time such as 2026-01-31T09:00:00Z',
};

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
  const allowed = problems
    .filter((each) => each.keyword === 'const' && each.instancePath === problem.instancePath)
    .map((each) => JSON.stringify((each.params as { allowedValue: unknown }).allowedValue));
  if (allowed.length > 0) return invalid(`${field} must be ${allowed.join(' or ')}.`);
  const demand = DEMANDS[problem.keyword]?.(problem.params as { [name: string]: unknown }) ?? problem.message;
  return invalid(`${field} ${demand}.`);
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
