import type { FastifyInstance, FastifySchema } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { ROUTES, Route, RouteName } from '../contract/routes.ts';
import type { Principal } from '../domain/access.ts';
import type { Auth } from './auth.ts';
import { describeRoute } from './openapi.ts';

type Part<S> = S extends TSchema ? Static<S> : undefined;

/** A validated request. */
export type Call<R extends Route> = {
  principal: Principal;
  params: Part<R['params']>;
  query: Part<R['query']>;
  body: Part<R['body']>;
  /** The client says that it sends this request again because it lost the answer. */
  repeated: boolean;
};

export type Handler<R extends Route> = (call: Call<R>) => Promise<Part<R['response']>>;

/** A handler for each route of the contract; one that is missing or answers another form does not compile. */
export type Handlers = { [Name in RouteName]: Handler<(typeof ROUTES)[Name]> };

/** Registers one route of the contract. */
export function serve(
  app: FastifyInstance,
  auth: Auth,
  name: string,
  route: Route,
  handler: Handlers[keyof Handlers],
): void {
  const schema: FastifySchema = { querystring: route.query, ...describeRoute(name, route) };
  if (route.body) schema.body = route.body;
  app.route({
    method: route.method,
    url: route.path,
    schema,
    onRequest: auth.guard(route.beta, route.path),
    handler: (request) =>
      (handler as Handler<Route>)({
        principal: request.principal as Principal,
        params: request.params as Call<Route>['params'],
        query: request.query as Call<Route>['query'],
        body: request.body as Call<Route>['body'],
        repeated: Number(request.headers['x-stainless-retry-count'] ?? 0) > 0,
      }),
  });
}
