import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { Failure, notFound } from '../contract/errors.ts';
import { BETAS, type BetaKind } from '../contract/wire.ts';
import { createAuthenticator, type Principal } from '../domain/access.ts';
import type { World } from '../domain/world.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; null before it is known. */
    principal: Principal | null;
    /** The pattern of the route, for logs and metrics; `routeOptions` builds a new object for each look. */
    pattern: string | null;
  }
}

export type Auth = {
  /** A hook that lets only known callers with the right beta header reach a route. */
  guard(beta: BetaKind | null, pattern: string): onRequestHookHandler;
  forget(): void;
};

function unauthenticated(message: string): Failure {
  return new Failure('unauthenticated', message);
}

/** The keys that a request carries; the SDKs may send both headers, and one valid key is enough. */
function presentedKeys(request: FastifyRequest): string[] {
  const { 'x-api-key': apiKey, authorization } = request.headers;
  const keys: string[] = [];
  if (typeof apiKey === 'string' && apiKey !== '') keys.push(apiKey.trim());
  const bearer = /^bearer +(\S+) *$/i.exec(authorization ?? '');
  if (bearer?.[1]) keys.push(bearer[1]);
  return keys;
}

/** Raises unless the request names exactly one of the kind's beta headers; others are ignored. */
function checkBeta(kind: BetaKind, header: string | string[] | undefined): void {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  const accepted: readonly string[] = BETAS[kind];
  if (accepted.includes(text)) return;
  const sent = new Set(text.split(',').map((name) => name.trim()));
  const matching = accepted.filter((name) => sent.has(name));
  if (matching.length === 0)
    throw new Failure('not_found', `This endpoint is in beta. Send the header "anthropic-beta: ${accepted[0]}".`);
  if (matching.length > 1)
    throw new Failure(
      'invalid_request',
      `The beta headers ${matching.join(' and ')} can't be combined on this endpoint. Send only ${accepted[0]}.`,
    );
}

export function createAuth(world: World): Auth {
  const authenticator = createAuthenticator(world);

  const admit = (request: FastifyRequest, reply: FastifyReply, principal: Principal, beta: BetaKind | null): void => {
    request.principal = principal;
    // The SDKs show it beside an error.
    reply.header('anthropic-workspace-id', principal.workspaceId);
    const workspace = request.headers['anthropic-workspace-id'];
    if (typeof workspace === 'string' && workspace !== principal.workspaceId)
      throw notFound('Workspace', workspace, 'what this API key may use');
    if (beta) checkBeta(beta, request.headers['anthropic-beta']);
  };

  const findSlowly = async (keys: string[]): Promise<Principal> => {
    for (const key of keys) {
      const principal = await authenticator.authenticate(key);
      if (principal) return principal;
    }
    throw unauthenticated(
      'The API key is unknown, revoked or expired. Check ANTHROPIC_API_KEY, or ask an admin for a key.',
    );
  };

  return {
    forget: authenticator.forget,
    guard: (beta, pattern) => (request, reply, done) => {
      request.pattern = pattern;
      try {
        const keys = presentedKeys(request);
        if (keys.length === 0)
          throw unauthenticated('There is no API key. Send one in the header "x-api-key" or "authorization: Bearer".');
        // A key seen a moment ago is known without waiting, which is the common case.
        const known = authenticator.authenticate(keys[0] as string);
        if (known !== null && !(known instanceof Promise)) {
          admit(request, reply, known, beta);
          done();
          return;
        }
        const rest = known === null ? keys.slice(1) : keys;
        findSlowly(rest)
          .then((principal) => {
            admit(request, reply, principal, beta);
          })
          .then(() => done(), done);
      } catch (error) {
        done(error as Error);
      }
    },
  };
}
