import Type from 'typebox';
import { LIMITS } from './limits.ts';
import { Page, PageParams } from './pages.ts';
import { Nullable, Timestamp } from './wire.ts';

const Name = Type.String({
  minLength: 1,
  maxLength: LIMITS.storeNameChars,
  description: 'The name, 1 to 255 characters without control characters. Names need not be unique.',
});
const Description = Type.String({
  maxLength: LIMITS.storeDescriptionChars,
  description: 'What the store contains, up to 1,024 characters. Agents that the store is attached to read it.',
});
const METADATA = 'Up to 16 pairs for your own use: keys of 1 to 64 characters, values of up to 512.';

export const MemoryStore = Type.Object({
  id: Type.String(),
  type: Type.Literal('memory_store'),
  name: Type.String(),
  description: Type.String(),
  metadata: Type.Record(Type.String(), Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
  archived_at: Nullable(Timestamp),
});

export const DeletedMemoryStore = Type.Object({ id: Type.String(), type: Type.Literal('memory_store_deleted') });

export const MemoryStorePage = Page(MemoryStore);

export const CreateStoreBody = Type.Object(
  {
    name: Name,
    description: Type.Optional(Description),
    metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { description: METADATA })),
  },
  { additionalProperties: false },
);

export const UpdateStoreBody = Type.Object(
  {
    name: Type.Optional(Nullable(Name)),
    description: Type.Optional(Nullable(Description)),
    metadata: Type.Optional(
      Nullable(
        Type.Record(Type.String(), Nullable(Type.String()), {
          description: `${METADATA} Keys left out stay; null removes a key.`,
        }),
      ),
    ),
  },
  { additionalProperties: false },
);

export const ListStoresQuery = Type.Object(
  {
    ...PageParams,
    include_archived: Type.Optional(Type.Boolean({ description: 'True includes archived stores.' })),
    'created_at[gte]': Type.Optional(
      Type.String({ format: 'date-time', description: 'Created at or after this time.' }),
    ),
    'created_at[lte]': Type.Optional(
      Type.String({ format: 'date-time', description: 'Created at or before this time.' }),
    ),
  },
  { additionalProperties: false },
);
