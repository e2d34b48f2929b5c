CREATE TABLE api_keys (
  id TEXT NOT NULL PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('admin', 'developer', 'read_only')),
  -- SHA-256 of the whole key, which has 256 bits of entropy: no salt or slow hash is needed.
  hash TEXT NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  user_id TEXT REFERENCES users (id),
  -- 1 for the key that a setting gave.
  from_setting INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE TABLE deleted_memories (
  id TEXT NOT NULL PRIMARY KEY,
  store_key INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE deleted_stores (
  store_key INTEGER NOT NULL PRIMARY KEY,
  deleted_at INTEGER NOT NULL
) STRICT;
CREATE TABLE memories (
  store_key INTEGER NOT NULL,
  path TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  version_id TEXT NOT NULL,
  version_number INTEGER NOT NULL,
  content_key INTEGER NOT NULL,
  content_sha256 TEXT NOT NULL,
  content_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (store_key, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE memory_contents (
  key INTEGER NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
CREATE TABLE memory_stores (
  key INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  metadata TEXT NOT NULL,
  -- Live memories, kept with each write so that the limit holds without counting.
  memory_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER
) STRICT;
CREATE TABLE memory_versions (
  -- The order of history. Ascends with each commit and does not depend on the clock.
  seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  store_key INTEGER NOT NULL,
  memory_id TEXT NOT NULL,
  -- 1 for the first version of a memory, then one more each.
  version_number INTEGER NOT NULL,
  operation TEXT NOT NULL CHECK (operation IN ('created', 'modified', 'deleted')),
  path TEXT,
  -- The text's row: that of this version's own seq, or of an older version with the same bytes.
  content_key INTEGER,
  content_sha256 TEXT,
  content_bytes INTEGER,
  actor_type TEXT,
  actor_id TEXT,
  session_event_id TEXT,
  created_at INTEGER NOT NULL,
  redacted_at INTEGER,
  redacted_by_type TEXT,
  redacted_by_id TEXT
) STRICT;
CREATE TABLE pending_scrubs (
  seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  requested_at INTEGER NOT NULL
) STRICT;
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (workspace_id, name)
) STRICT;
CREATE TABLE workspaces (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  is_default INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX api_keys_workspace ON api_keys (workspace_id);
CREATE INDEX deleted_memories_store ON deleted_memories (store_key);
CREATE INDEX deleted_memories_time ON deleted_memories (deleted_at);
CREATE INDEX memory_stores_workspace ON memory_stores (workspace_id, key);
CREATE INDEX memory_versions_actor ON memory_versions (store_key, actor_id, seq);
CREATE INDEX memory_versions_memory ON memory_versions (memory_id, seq);
CREATE INDEX memory_versions_shared ON memory_versions (content_key) WHERE content_key <> seq;
CREATE INDEX memory_versions_store ON memory_versions (store_key, seq);
CREATE UNIQUE INDEX workspaces_default ON workspaces (is_default) WHERE is_default = 1;
