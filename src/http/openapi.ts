import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifySchema } from 'fastify';
import Type from 'typebox';
import type { ErrorName } from '../contract/errors.ts';
import { ROUTES, type Route } from '../contract/routes.ts';
import { BETAS } from '../contract/wire.ts';
import { HTTP_ERRORS } from './failures.ts';

const ErrorResponse = Type.Object({
  type: Type.Literal('error'),
  error: Type.Object({
    type: Type.String(),
    message: Type.String(),
    conflicting_memory_id: Type.Optional(Type.String()),
    conflicting_path: Type.Optional(Type.String()),
  }),
  request_id: Type.String(),
});

/** What every endpoint can answer beside its own errors. */
const ALWAYS: readonly ErrorName[] = [
  'invalid_request',
  'unauthenticated',
  'not_found',
  'timeout',
  'too_large',
  'internal',
  'unavailable',
  'storage_full',
];

export function openApiOptions(version: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Mneme',
        version,
        description: 'Memory stores, memories and their versions, as the Claude Managed Agents API has them.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
          bearer: { type: 'http', scheme: 'bearer' },
        },
      },
      security: [{ apiKey: [] }, { bearer: [] }],
    },
    // The plugin calls every body required; these may be left out.
    transformObject: (document) => {
      const { paths = {} } = 'openapiObject' in document ? document.openapiObject : {};
      for (const route of Object.values<Route>(ROUTES)) {
        const body = paths[route.path.replace(/:(\w+)/g, '{$1}')]?.post?.requestBody;
        if (route.method === 'POST' && route.body && '~optional' in route.body && body && 'required' in body)
          body.required = false;
      }
      return 'openapiObject' in document ? document.openapiObject : document.swaggerObject;
    },
  };
}

/** The parts of a route's schema that only the document needs. */
export function describeRoute(name: string, route: Route): FastifySchema & Record<string, unknown> {
  const statuses = new Map<number, string[]>();
  const roles: readonly ErrorName[] = route.method === 'GET' ? [] : ['forbidden'];
  for (const error of new Set([...ALWAYS, ...roles, ...route.errors])) {
    const { status, type } = HTTP_ERRORS[error];
    statuses.set(status, [...(statuses.get(status) ?? []), type]);
  }
  const errors = [...statuses].map(([status, types]) => [
    status,
    { ...ErrorResponse, description: [...new Set(types)].join(', ') },
  ]);
  return {
    operationId: name,
    summary: route.summary,
    tags: [route.tag],
    ...(route.params ? { params: route.params } : {}),
    ...(route.beta
      ? {
          headers: Type.Object({
            'anthropic-beta': Type.String({ enum: [...BETAS[route.beta]], description: 'Names the beta; required.' }),
          }),
        }
      : {}),
    response: { 200: { ...route.response, description: 'Success.' }, ...Object.fromEntries(errors) },
  };
}
