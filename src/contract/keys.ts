import Type from 'typebox';
import { Nullable, Timestamp } from './wire.ts';

export const RoleName = Type.Union([Type.Literal('admin'), Type.Literal('developer'), Type.Literal('read_only')], {
  description: '`read_only` reads memory, `developer` also changes it, `admin` also manages keys.',
});

const Name = Type.String({ minLength: 1, maxLength: 255 });

export const Workspace = Type.Object({
  id: Type.String(),
  type: Type.Literal('workspace'),
  name: Type.String(),
  created_at: Timestamp,
});
export const WorkspaceList = Type.Object({ data: Type.Array(Workspace), next_page: Type.Null() });
export const CreateWorkspaceBody = Type.Object({ name: Name }, { additionalProperties: false });

const keyFields = {
  id: Type.String(),
  type: Type.Literal('api_key'),
  workspace_id: Type.String(),
  name: Type.String(),
  role: RoleName,
  hint: Type.String({ description: 'The last characters of the key, to tell keys apart.' }),
  user: Nullable(Type.Object({ id: Type.String(), name: Type.String() })),
  created_at: Timestamp,
  created_by: Nullable(Type.String({ description: 'The id of the key that made this one.' })),
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
};
export const ApiKey = Type.Object(keyFields);
export const CreatedApiKey = Type.Object({
  ...keyFields,
  key: Type.String({ description: 'The key itself. It is stored hashed and shown only here.' }),
});
export const ApiKeyList = Type.Object({ data: Type.Array(ApiKey), next_page: Type.Null() });

const WorkspaceId = Type.String({
  description: "The workspace, when it is not the caller's own: an admin key of the default workspace may name any.",
});
export const CreateKeyBody = Type.Object(
  {
    name: Name,
    role: Type.Optional(RoleName),
    workspace_id: Type.Optional(WorkspaceId),
    user: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'The person whose key this is: versions then name them, not the key.',
      }),
    ),
    expires_at: Type.Optional(Type.String({ format: 'date-time', description: 'When the key stops working.' })),
  },
  { additionalProperties: false },
);
export const ListKeysQuery = Type.Object({ workspace_id: Type.Optional(WorkspaceId) }, { additionalProperties: false });
