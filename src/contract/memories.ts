import Type from 'typebox';
import { LIMITS } from './limits.ts';
import { Page, PageParams } from './pages.ts';
import { Nullable, Timestamp } from './wire.ts';

export const View = Type.Union([Type.Literal('basic'), Type.Literal('full')], {
  description: '`full` includes the text, `basic` leaves it null. Default: `full` on retrieve, `basic` elsewhere.',
});
const Path = Type.String({
  description:
    'Starts with "/"; 1 to 20 segments, none empty, "." or ".."; at most 1,024 bytes; Unicode NFC; no control or format characters, U+2028 or U+2029.',
});
const Content = Type.String({
  description: `The text, up to ${LIMITS.contentBytes} bytes of UTF-8. Stored byte for byte.`,
});
export const Sha256 = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'The SHA-256 of the UTF-8 bytes of the text, as 64 lowercase hexadecimal digits.',
});

export const Memory = Type.Object({
  id: Type.String(),
  type: Type.Literal('memory'),
  memory_store_id: Type.String(),
  path: Type.String(),
  memory_version_id: Type.String(),
  content: Nullable(Type.String()),
  content_sha256: Type.String(),
  content_size_bytes: Type.Integer(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export const MemoryPrefix = Type.Object({ type: Type.Literal('memory_prefix'), path: Type.String() });
export const DeletedMemory = Type.Object({ id: Type.String(), type: Type.Literal('memory_deleted') });
export const MemoryPage = Page(Type.Union([Memory, MemoryPrefix]));

export const ViewQuery = Type.Object({ view: Type.Optional(View) }, { additionalProperties: false });

export const CreateMemoryBody = Type.Object({ path: Path, content: Content }, { additionalProperties: false });

export const UpdateMemoryBody = Type.Object(
  {
    path: Type.Optional(Nullable(Path)),
    content: Type.Optional(Nullable(Content)),
    precondition: Type.Optional(
      Nullable(
        Type.Object(
          { type: Type.Literal('content_sha256'), content_sha256: Sha256 },
          {
            additionalProperties: false,
            description: 'Apply only if the stored text has this hash, or if nothing would change.',
          },
        ),
      ),
    ),
  },
  { additionalProperties: false },
);

export const DeleteMemoryQuery = Type.Object(
  { expected_content_sha256: Type.Optional(Sha256) },
  { additionalProperties: false },
);

export const ListMemoriesQuery = Type.Object(
  {
    ...PageParams,
    view: Type.Optional(View),
    depth: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1,
        description:
          '0, the default, lists everything below the prefix; 1 only its children, deeper memories as `memory_prefix`.',
      }),
    ),
    path_prefix: Type.Optional(
      Type.String({ description: 'Starts and ends with "/" and matches whole segments. Appears in URLs: no secrets.' }),
    ),
  },
  { additionalProperties: false },
);
