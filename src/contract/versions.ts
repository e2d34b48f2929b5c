import Type from 'typebox';
import { View } from './memories.ts';
import { Page, PageParams } from './pages.ts';
import { Nullable, Timestamp } from './wire.ts';

export const Actor = Type.Union([
  Type.Object({ type: Type.Literal('api_actor'), api_key_id: Type.String() }),
  Type.Object({ type: Type.Literal('user_actor'), user_id: Type.String() }),
  Type.Object({ type: Type.Literal('session_actor'), session_id: Type.String() }),
  Type.Object({ type: Type.Literal('service_account_actor'), service_account_id: Type.String() }),
]);

const VersionOperation = Type.Union([Type.Literal('created'), Type.Literal('modified'), Type.Literal('deleted')]);

export const MemoryVersion = Type.Object({
  id: Type.String(),
  type: Type.Literal('memory_version'),
  memory_store_id: Type.String(),
  memory_id: Type.String(),
  operation: VersionOperation,
  path: Nullable(Type.String()),
  content: Nullable(Type.String()),
  content_sha256: Nullable(Type.String()),
  content_size_bytes: Nullable(Type.Integer()),
  created_at: Timestamp,
  created_by: Nullable(Actor),
  redacted_at: Nullable(Timestamp),
  redacted_by: Nullable(Actor),
  session_event_id: Type.Optional(
    Type.String({
      description: 'Extension. On a version that a session wrote: the newest event of the session at that moment.',
    }),
  ),
  identical_version_ids: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Extension. In the answer to a redaction: versions of the store that still hold the same text.',
    }),
  ),
});

export const MemoryVersionPage = Page(MemoryVersion);

export const RetrieveVersionQuery = Type.Object({ view: Type.Optional(View) }, { additionalProperties: false });

const Id = (of: string) => Type.String({ description: `Only versions ${of}.` });

export const ListVersionsQuery = Type.Object(
  {
    ...PageParams,
    view: Type.Optional(View),
    memory_id: Type.Optional(Id('of the memory with this id')),
    operation: Type.Optional(VersionOperation),
    session_id: Type.Optional(Id('written by this session')),
    api_key_id: Type.Optional(Id('written with this API key')),
    service_account_id: Type.Optional(Id('written by this service account')),
    'created_at[gte]': Type.Optional(
      Type.String({ format: 'date-time', description: 'Written at or after this time.' }),
    ),
    'created_at[lte]': Type.Optional(
      Type.String({ format: 'date-time', description: 'Written at or before this time.' }),
    ),
  },
  { additionalProperties: false },
);

/** An empty body, or `{}`. */
export const EmptyBody = Type.Optional(Type.Object({}, { additionalProperties: false }));
