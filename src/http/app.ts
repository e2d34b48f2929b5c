import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastifySwagger from '@fastify/swagger';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { Failure } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { ROUTES } from '../contract/routes.ts';
import type { World } from '../domain/world.ts';
import { createAuth } from './auth.ts';
import { HTTP_ERRORS, toErrorBody, toFailure } from './failures.ts';
import { keyHandlers } from './keys.ts';
import { memoryHandlers } from './memories.ts';
import { createMetrics } from './metrics.ts';
import { openApiOptions } from './openapi.ts';
import { type Handlers, serve } from './serve.ts';
import { storeHandlers } from './stores.ts';
import { compileValidator, parseJson } from './validation.ts';
import { versionHandlers } from './versions.ts';

export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

/** Times after which a connection that makes no progress is cut off, in milliseconds. */
export type Patience = {
  /** From the first byte of a request to its last. */
  request: number;
  /** Without any traffic while a request is served: a client that stopped reading, or is gone. */
  idle: number;
  /** An idle connection kept for the next request. */
  keepAlive: number;
};

export const PATIENCE: Patience = { request: 30_000, idle: 120_000, keepAlive: 65_000 };

/** Builds the HTTP server around a world; the caller listens and closes. */
export async function createApp(world: World, log: Logger, patience: Patience = PATIENCE): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One line a request is written by the hook below, without paths.
    logController: new LogController({ disableRequestLogging: true }),
    // Nothing logs through a request, so it needs no logger of its own.
    childLoggerFactory: (logger) => logger,
    genReqId: () => world.newId('req'),
    bodyLimit: LIMITS.bodyBytes,
    requestTimeout: patience.request,
    connectionTimeout: patience.idle,
    keepAliveTimeout: patience.keepAlive,
    // Stopping waits for requests in flight and ends idle connections.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: true },
    http: {
      keepAlive: true,
      // Refused below, in the form that every error has.
      requireHostHeader: false,
      keepAliveInitialDelay: 30_000,
      headersTimeout: patience.request,
      connectionsCheckingInterval: Math.min(patience.request / 2, 5000),
    },
    frameworkErrors: (error, request, reply) => answerError(error, request as FastifyRequest, reply as FastifyReply),
    clientErrorHandler: answerBrokenRequest as (error: Error, socket: Socket) => void,
  });

  function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    let failure = toFailure(error);
    if (failure === null || failure.name === 'internal') {
      log.error({ err: error, request_id: request.id }, 'a request failed');
      failure = new Failure('internal', 'The server failed. Its log has the details under this request_id.');
    } else if (failure.name === 'storage_full' || failure.name === 'unavailable') {
      log.error({ err: failure.cause ?? failure, request_id: request.id }, 'storage failed');
    }
    // The SDKs repeat a 409 by themselves, in vain: only the caller can resolve a conflict. It would also make a
    // second create look like a repeated one.
    if (HTTP_ERRORS[failure.name].status === 409) reply.header('x-should-retry', 'false');
    return reply
      .code(HTTP_ERRORS[failure.name].status)
      .header('request-id', request.id)
      .send(toErrorBody(failure, request.id));
  }

  /** Answers what is not HTTP, has too large a header or took too long; there is no request object then. */
  function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    const failure = late
      ? new Failure('timeout', 'The request took too long to arrive. Send it again.')
      : new Failure('invalid_request', 'The request is not valid HTTP, or its header is too large.');
    const id = world.newId('req');
    const { status } = HTTP_ERRORS[failure.name];
    const body = JSON.stringify(toErrorBody(failure, id));
    log.info({ request_id: id, route: 'unreadable', status }, 'request');
    socket.end(
      `HTTP/1.1 ${status} ${late ? 'Request Timeout' : 'Bad Request'}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nrequest-id: ${id}\r\nconnection: close\r\n\r\n${body}`,
      // The other side may never close its half.
      () => socket.destroy(),
    );
  }

  // Node would answer a bare 417 by itself.
  app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const id = world.newId('req');
    const failure = new Failure('invalid_request', 'The header "expect" may only be "100-continue". Leave it out.');
    log.info({ request_id: id, route: 'unreadable', status: 400 }, 'request');
    const headers = { 'content-type': 'application/json; charset=utf-8', 'request-id': id, connection: 'close' };
    response.writeHead(400, headers).end(JSON.stringify(toErrorBody(failure, id)));
  });

  const metrics = createMetrics(world.storage.engine, VERSION);
  const auth = createAuth(world);

  app.setValidatorCompiler(compileValidator as Parameters<typeof app.setValidatorCompiler>[0]);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(/^application\/json(;|$)/i, { parseAs: 'buffer' }, (request, body, done) => {
    try {
      if (!/^(identity)?$/i.test(request.headers['content-encoding'] ?? ''))
        throw new Failure('invalid_request', 'Compressed bodies are not read. Send the body without content-encoding.');
      done(null, parseJson(body));
    } catch (error) {
      done(error as Error);
    }
  });
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    answerError(
      new Failure(
        'not_found',
        'There is no such endpoint. Check the method and the path; GET /openapi.json lists them.',
      ),
      request,
      reply,
    ),
  );

  app.decorateRequest('principal', null);
  app.decorateRequest('pattern', null);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('request-id', request.id);
    const nameless = request.raw.httpVersion === '1.1' && request.headers.host === undefined;
    done(
      nameless
        ? new Failure('invalid_request', 'The header "host" is missing. Send the host and port of this server.')
        : explainQuery(request.raw.url ?? ''),
    );
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.pattern ?? request.routeOptions.url ?? 'unmatched';
    const status = reply.raw.writableFinished ? reply.statusCode : 499;
    metrics.observe(request.method, route, status, reply.elapsedTime / 1000);
    log.info(
      {
        request_id: request.id,
        method: request.method,
        route,
        status,
        duration_ms: Math.round(reply.elapsedTime * 1000) / 1000,
        workspace_id: request.principal?.workspaceId,
        key_id: request.principal?.keyId,
      },
      'request',
    );
    done();
  });

  await app.register(fastifySwagger, openApiOptions(VERSION));

  const handlers: Handlers = {
    ...storeHandlers(world),
    ...memoryHandlers(world),
    ...versionHandlers(world),
    ...keyHandlers(world, auth.forget),
  };
  app.after(() => {
    const methods = new Map<string, string[]>();
    for (const [name, route] of Object.entries(ROUTES)) {
      serve(app, auth, name, route, handlers[name as keyof Handlers] as Handlers[keyof Handlers]);
      methods.set(route.path, [...(methods.get(route.path) ?? []), route.method]);
    }
    refuseOtherMethods(app, methods);
  });

  app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }));
  app.get('/readyz', { schema: { hide: true } }, async () => {
    await withDeadline(world.storage.ping(), 2000);
    return { status: 'ready' };
  });
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('content-type', metrics.registry.contentType);
    return metrics.registry.metrics();
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());

  await app.ready();
  return app;
}

const OTHER_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/** Answers 405 with the methods that a path has, instead of a 404 that looks like a missing object. */
function refuseOtherMethods(app: FastifyInstance, methods: Map<string, string[]>): void {
  for (const [url, allowed] of methods) {
    const others = OTHER_METHODS.filter((method) => !allowed.includes(method));
    app.route({
      method: others,
      url,
      exposeHeadRoute: false,
      schema: { hide: true },
      // Before the body is read: it does not matter here.
      onRequest: (_request, reply, done) => {
        reply.header('allow', allowed.join(', '));
        done(new Failure('method_not_allowed', `This path has ${allowed.join(' and ')}. Use one of them.`));
      },
      handler: () => undefined,
    });
  }
}

/** The parser of queries takes a value with a broken escape as it stands, which could name another path. */
function explainQuery(url: string): Failure | undefined {
  const start = url.indexOf('?');
  if (start === -1 || !url.includes('%', start)) return undefined;
  try {
    decodeURIComponent(url.slice(start));
    return undefined;
  } catch {
    return new Failure('invalid_request', 'The query is malformed. Check its percent-encoding.');
  }
}

function withDeadline<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Failure('unavailable', 'The database does not answer. Check that it runs and can be reached.')),
    milliseconds,
  );
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
