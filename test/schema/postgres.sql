CREATE TABLE public.memory_stores (
    key bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    workspace_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    description text NOT NULL,
    metadata text NOT NULL,
    memory_count bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    archived_at bigint
)
WITH (fillfactor='50');
CREATE FUNCTION public.archive_store(p_workspace_id text, p_store_id text, p_now bigint) RETURNS SETOF public.memory_stores
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_store memory_stores;
BEGIN
  SELECT s.* INTO v_store FROM memory_stores s
  WHERE s.id = p_store_id AND s.workspace_id = p_workspace_id FOR UPDATE;
  IF v_store.archived_at IS NOT NULL THEN
    RETURN NEXT v_store;
  ELSIF v_store.key IS NOT NULL THEN
    RETURN QUERY UPDATE memory_stores s
      SET archived_at = greatest(p_now, s.updated_at), updated_at = greatest(p_now, s.updated_at)
      WHERE s.key = v_store.key RETURNING s.*;
  END IF;
END
$$;
CREATE TABLE public.workspaces (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    is_default integer NOT NULL,
    created_at bigint NOT NULL
);
CREATE FUNCTION public.bootstrap_keys(p_workspace jsonb, p_fixed jsonb, p_fresh jsonb, OUT fresh_used boolean, OUT workspace public.workspaces) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1299080557, 2);
  fresh_used := false;
  INSERT INTO workspaces (id, name, is_default, created_at)
  SELECT p_workspace ->> 'id', p_workspace ->> 'name', 1, (p_workspace ->> 'createdAt')::bigint
  WHERE NOT EXISTS (SELECT FROM workspaces w WHERE w.is_default = 1);
  SELECT w.* INTO workspace FROM workspaces w WHERE w.is_default = 1;
  IF p_fixed IS NOT NULL THEN
    UPDATE api_keys k SET revoked_at = (p_fixed ->> 'now')::bigint
    WHERE k.from_setting = 1 AND k.hash <> p_fixed ->> 'hash' AND k.revoked_at IS NULL;
    UPDATE api_keys k SET revoked_at = NULL, expires_at = NULL, role = 'admin', from_setting = 1
    WHERE k.hash = p_fixed ->> 'hash';
    IF NOT FOUND THEN
      PERFORM insert_key(p_fixed, workspace.id, 1);
    END IF;
  ELSIF NOT EXISTS (SELECT FROM api_keys k WHERE k.workspace_id = workspace.id AND k.role = 'admin') THEN
    PERFORM insert_key(p_fresh, workspace.id, 0);
    fresh_used := true;
  END IF;
END
$$;
CREATE FUNCTION public.create_key(p_key jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM workspaces w WHERE w.id = p_key ->> 'workspaceId') THEN
    RETURN false;
  END IF;
  PERFORM insert_key(p_key, p_key ->> 'workspaceId', 0);
  RETURN true;
END
$$;
CREATE FUNCTION public.create_memories(p_workspace_id text, p_store_id text, p_memory_ids text[], p_version_ids text[], p_paths text[], p_texts bytea[], p_sha256s text[], p_actor_types text[], p_actor_ids text[], p_session_event_ids text[], p_times bigint[], p_limits bigint[]) RETURNS TABLE(item bigint, outcome text, conflict_id text, conflict_path text)
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_store record;
  v_problem text;
  v_new record;
  v_seq bigint;
  v_created bigint := 0;
BEGIN
  SELECT s.key, s.archived_at, s.memory_count INTO v_store FROM memory_stores s
  WHERE s.id = p_store_id AND s.workspace_id = p_workspace_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    v_problem := 'store_missing';
  ELSIF v_store.archived_at IS NOT NULL THEN
    v_problem := 'store_archived';
  END IF;
  FOR v_new IN
    SELECT * FROM unnest(p_memory_ids, p_version_ids, p_paths, p_texts, p_sha256s, p_actor_types, p_actor_ids,
      p_session_event_ids, p_times, p_limits) WITH ORDINALITY
      AS t (memory_id, version_id, path, bytes, sha256, actor_type, actor_id, session_event_id, now, max, n)
    ORDER BY t.n
  LOOP
    item := v_new.n;
    outcome := v_problem;
    IF v_problem IS NULL THEN
      SELECT c.id, c.path INTO conflict_id, conflict_path
      FROM find_path_conflict(v_store.key, v_new.path, '') c LIMIT 1;
      IF FOUND THEN
        outcome := 'path_conflict';
      ELSIF v_store.memory_count + v_created >= v_new.max THEN
        outcome := 'store_full';
      ELSE
        v_seq := nextval('memory_versions_seq_seq');
        INSERT INTO memory_contents (key, bytes) VALUES (v_seq, v_new.bytes);
        INSERT INTO memory_versions (seq, id, store_key, memory_id, version_number, operation, path, content_key,
          content_sha256, content_bytes, actor_type, actor_id, session_event_id, created_at)
        VALUES (v_seq, v_new.version_id, v_store.key, v_new.memory_id, 1, 'created', v_new.path, v_seq,
          v_new.sha256, octet_length(v_new.bytes), v_new.actor_type, v_new.actor_id, v_new.session_event_id, v_new.now);
        INSERT INTO memories (store_key, path, id, version_id, version_number, content_key, content_sha256,
          content_bytes, created_at, updated_at)
        VALUES (v_store.key, v_new.path, v_new.memory_id, v_new.version_id, 1, v_seq, v_new.sha256,
          octet_length(v_new.bytes), v_new.now, v_new.now);
        v_created := v_created + 1;
        outcome := 'created';
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
  IF v_created > 0 THEN
    UPDATE memory_stores s SET memory_count = s.memory_count + v_created WHERE s.key = v_store.key;
  END IF;
END
$$;
CREATE FUNCTION public.delete_memory(p_workspace_id text, p_store_id text, p_memory_id text, p_version_id text, p_expected_sha256 text, p_actor_type text, p_actor_id text, p_session_event_id text, p_now bigint) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_key bigint;
  v_memory memories;
  v_deleted_at bigint;
BEGIN
  SELECT s.key INTO v_key FROM memory_stores s
  WHERE s.id = p_store_id AND s.workspace_id = p_workspace_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'store_missing';
  END IF;
  SELECT m.* INTO v_memory FROM memories m WHERE m.id = p_memory_id AND m.store_key = v_key FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'memory_missing';
  ELSIF p_expected_sha256 <> v_memory.content_sha256 THEN
    RETURN 'precondition_failed';
  END IF;
  v_deleted_at := greatest(p_now, v_memory.updated_at);
  INSERT INTO memory_versions (id, store_key, memory_id, version_number, operation, path, actor_type, actor_id,
    session_event_id, created_at)
  VALUES (p_version_id, v_key, v_memory.id, v_memory.version_number + 1, 'deleted', v_memory.path, p_actor_type,
    p_actor_id, p_session_event_id, v_deleted_at);
  DELETE FROM memories m WHERE m.id = v_memory.id;
  INSERT INTO deleted_memories (id, store_key, deleted_at) VALUES (v_memory.id, v_key, v_deleted_at);
  UPDATE memory_stores s SET memory_count = s.memory_count - 1 WHERE s.key = v_key;
  RETURN 'deleted';
END
$$;
CREATE FUNCTION public.delete_store(p_workspace_id text, p_store_id text, p_now bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_key bigint;
BEGIN
  -- DELETE takes the row FOR UPDATE itself.
  DELETE FROM memory_stores s WHERE s.id = p_store_id AND s.workspace_id = p_workspace_id RETURNING s.key INTO v_key;
  IF v_key IS NULL THEN
    RETURN false;
  END IF;
  INSERT INTO deleted_stores (store_key, deleted_at) VALUES (v_key, p_now);
  RETURN true;
END
$$;
CREATE FUNCTION public.drop_unused_contents(p_keys bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
BEGIN
  DELETE FROM memory_contents c WHERE c.key = ANY (p_keys)
    AND NOT EXISTS (SELECT FROM memory_versions v WHERE v.seq = c.key AND v.content_key = c.key)
    AND NOT EXISTS (SELECT FROM memory_versions v WHERE v.content_key = c.key AND v.content_key <> v.seq);
END
$$;
CREATE FUNCTION public.expire_versions(p_after_memory_id text, p_written_before bigint, p_keep_recent bigint, p_batch bigint, OUT next text, OUT removed bigint) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
  v_ids text[];
BEGIN
  v_ids := ARRAY(SELECT m.id FROM memories m WHERE m.id > p_after_memory_id ORDER BY m.id LIMIT p_batch);
  removed := remove_versions(ARRAY(
    SELECT v.seq FROM memories m JOIN memory_versions v ON v.memory_id = m.id
    WHERE m.id = ANY (v_ids) AND m.version_number > p_keep_recent
      AND v.version_number <= m.version_number - p_keep_recent AND v.created_at < p_written_before));
  IF cardinality(v_ids) = p_batch THEN
    next := v_ids[p_batch];
    RETURN;
  END IF;
  v_ids := ARRAY(SELECT d.id FROM deleted_memories d WHERE d.deleted_at < p_written_before
    ORDER BY d.deleted_at LIMIT p_batch FOR UPDATE SKIP LOCKED);
  removed := removed + remove_versions(ARRAY(SELECT v.seq FROM memory_versions v WHERE v.memory_id = ANY (v_ids)));
  DELETE FROM deleted_memories d WHERE d.id = ANY (v_ids);
  -- The largest possible id: the next call goes on with deleted memories only.
  IF cardinality(v_ids) = p_batch THEN
    next := '~';
  END IF;
END
$$;
CREATE FUNCTION public.find_path_conflict(p_store_key bigint, p_path text, p_except_id text) RETURNS TABLE(id text, path text)
    LANGUAGE sql STABLE
    AS $$
  (SELECT found.id, found.path FROM unnest(path_and_ancestors(p_path)) AS candidate (path) CROSS JOIN LATERAL (
     SELECT m.id, m.path FROM memories m WHERE m.store_key = p_store_key AND m.path = candidate.path LIMIT 1
   ) AS found WHERE found.id <> p_except_id LIMIT 1)
  UNION ALL
  (SELECT m.id, m.path FROM memories m
   WHERE m.store_key = p_store_key AND m.path >= p_path || '/' AND m.path < p_path || '0' AND m.id <> p_except_id
   ORDER BY m.path LIMIT 1)
$$;
CREATE FUNCTION public.insert_key(p_key jsonb, p_workspace_id text, p_from_setting integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF p_key -> 'user' ->> 'id' IS NOT NULL THEN
    INSERT INTO users (id, workspace_id, name, created_at)
    VALUES (p_key -> 'user' ->> 'id', p_workspace_id, p_key -> 'user' ->> 'name', (p_key ->> 'now')::bigint)
    ON CONFLICT (workspace_id, name) DO NOTHING;
  END IF;
  INSERT INTO api_keys (id, workspace_id, name, role, hash, hint, user_id, from_setting, created_at, created_by,
    expires_at)
  VALUES (p_key ->> 'id', p_workspace_id, p_key ->> 'name', p_key ->> 'role', p_key ->> 'hash', p_key ->> 'hint',
    (SELECT u.id FROM users u WHERE u.workspace_id = p_workspace_id AND u.name = p_key -> 'user' ->> 'name'),
    p_from_setting, (p_key ->> 'now')::bigint, p_key ->> 'createdBy', (p_key ->> 'expiresAt')::bigint);
END
$$;
CREATE FUNCTION public.path_and_ancestors(p_path text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT array_agg(array_to_string(parts[1:n], '/'))
  FROM (SELECT string_to_array(p_path, '/') AS parts) AS split, generate_series(2, cardinality(parts)) AS n
$$;
CREATE FUNCTION public.purge_stores(p_limit bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
  v_store deleted_stores;
  v_left bigint := p_limit;
  v_count bigint;
BEGIN
  SELECT d.* INTO v_store FROM deleted_stores d ORDER BY d.store_key LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM memories m WHERE m.id IN
    (SELECT o.id FROM memories o WHERE o.store_key = v_store.store_key LIMIT v_left);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  v_left := v_left - v_count;
  IF v_left > 0 THEN
    v_left := v_left - remove_versions(ARRAY(
      SELECT v.seq FROM memory_versions v WHERE v.store_key = v_store.store_key ORDER BY v.seq LIMIT v_left));
  END IF;
  IF v_left > 0 THEN
    -- The retention rule may hold some; they wait for the next step.
    DELETE FROM deleted_memories d WHERE d.id IN (SELECT o.id FROM deleted_memories o
      WHERE o.store_key = v_store.store_key LIMIT v_left FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_left := v_left - v_count;
  END IF;
  IF v_left <= 0 OR EXISTS (SELECT FROM memory_versions v WHERE v.store_key = v_store.store_key)
    OR EXISTS (SELECT FROM deleted_memories d WHERE d.store_key = v_store.store_key) THEN
    RETURN true;
  END IF;
  DELETE FROM deleted_stores d WHERE d.store_key = v_store.store_key;
  INSERT INTO pending_scrubs (requested_at) VALUES (v_store.deleted_at);
  RETURN EXISTS (SELECT FROM deleted_stores);
END
$$;
CREATE TABLE public.memory_versions (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    store_key bigint NOT NULL,
    memory_id text NOT NULL COLLATE pg_catalog."C",
    version_number bigint NOT NULL,
    operation text NOT NULL,
    path text COLLATE pg_catalog."C",
    content_key bigint,
    content_sha256 text COLLATE pg_catalog."C",
    content_bytes bigint,
    actor_type text,
    actor_id text COLLATE pg_catalog."C",
    session_event_id text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    redacted_at bigint,
    redacted_by_type text,
    redacted_by_id text COLLATE pg_catalog."C",
    CONSTRAINT memory_versions_operation_check CHECK ((operation = ANY (ARRAY['created'::text, 'modified'::text, 'deleted'::text])))
);
ALTER TABLE ONLY public.memory_versions ALTER COLUMN path SET STATISTICS 0;
ALTER TABLE ONLY public.memory_versions ALTER COLUMN content_sha256 SET STATISTICS 0;
CREATE FUNCTION public.redact_version(p_workspace_id text, p_store_id text, p_version_id text, p_by_type text, p_by_id text, p_now bigint, OUT outcome text, OUT identical_ids text[], OUT version public.memory_versions) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
  v_key bigint;
  v_content_key bigint;
BEGIN
  outcome := 'version_missing';
  identical_ids := '{}';
  SELECT s.key INTO v_key FROM memory_stores s
  WHERE s.id = p_store_id AND s.workspace_id = p_workspace_id FOR NO KEY UPDATE;
  SELECT v.* INTO version FROM memory_versions v WHERE v.id = p_version_id AND v.store_key = v_key;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- A change of the text holds only this row; with it locked the head stays the head.
  PERFORM FROM memories m WHERE m.id = version.memory_id FOR UPDATE;
  IF EXISTS (SELECT FROM memories m WHERE m.id = version.memory_id AND m.version_id = version.id) THEN
    outcome := 'head_of_live_memory';
    RETURN;
  END IF;
  PERFORM FROM memory_contents c WHERE c.key = version.content_key FOR UPDATE;
  -- Again, now locked: the retention rule may have removed it while this waited.
  SELECT v.* INTO version FROM memory_versions v WHERE v.id = p_version_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  ELSIF version.redacted_at IS NOT NULL THEN
    outcome := 'already_redacted';
    RETURN;
  END IF;
  v_content_key := version.content_key;
  identical_ids := ARRAY(
    SELECT v.id FROM memory_versions v
    WHERE v.store_key = v_key AND v.content_sha256 = version.content_sha256 AND v.seq <> version.seq
    ORDER BY v.seq DESC);
  UPDATE memory_versions v SET path = NULL, content_key = NULL, content_sha256 = NULL, content_bytes = NULL,
    redacted_at = greatest(p_now, v.created_at), redacted_by_type = p_by_type, redacted_by_id = p_by_id
  WHERE v.seq = version.seq RETURNING v.* INTO version;
  PERFORM drop_unused_contents(ARRAY[v_content_key]);
  INSERT INTO pending_scrubs (requested_at) VALUES (p_now);
  outcome := 'redacted';
END
$$;
CREATE FUNCTION public.remove_versions(p_seqs bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
  v_keys bigint[];
  v_removed bigint;
BEGIN
  v_keys := ARRAY(SELECT v.content_key FROM memory_versions v WHERE v.seq = ANY (p_seqs) AND v.content_key IS NOT NULL);
  PERFORM FROM memory_contents c WHERE c.key = ANY (v_keys) ORDER BY c.key FOR UPDATE;
  PERFORM FROM memory_versions v WHERE v.seq = ANY (p_seqs) ORDER BY v.seq FOR UPDATE;
  DELETE FROM memory_versions v WHERE v.seq = ANY (p_seqs);
  GET DIAGNOSTICS v_removed = ROW_COUNT;
  PERFORM drop_unused_contents(v_keys);
  RETURN v_removed;
END
$$;
CREATE FUNCTION public.revoke_key(p_workspace_id text, p_key_id text, p_now bigint) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_key api_keys;
BEGIN
  PERFORM pg_advisory_xact_lock(1299080557, 2);
  SELECT k.* INTO v_key FROM api_keys k WHERE k.id = p_key_id AND k.workspace_id = p_workspace_id;
  IF NOT FOUND THEN
    RETURN 'key_missing';
  ELSIF v_key.revoked_at IS NOT NULL THEN
    RETURN 'revoked';
  END IF;
  IF v_key.role = 'admin' AND EXISTS (SELECT FROM workspaces w WHERE w.id = p_workspace_id AND w.is_default = 1)
    AND NOT EXISTS (SELECT FROM api_keys k WHERE k.workspace_id = p_workspace_id AND k.role = 'admin'
      AND k.id <> p_key_id AND k.revoked_at IS NULL AND k.expires_at IS NULL) THEN
    RETURN 'last_admin';
  END IF;
  UPDATE api_keys k SET revoked_at = p_now WHERE k.id = p_key_id;
  RETURN 'revoked';
END
$$;
CREATE TABLE public.memories (
    store_key bigint NOT NULL,
    path text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    version_id text NOT NULL COLLATE pg_catalog."C",
    version_number bigint NOT NULL,
    content_key bigint NOT NULL,
    content_sha256 text NOT NULL COLLATE pg_catalog."C",
    content_bytes bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
)
WITH (fillfactor='85');
ALTER TABLE ONLY public.memories ALTER COLUMN path SET STATISTICS 0;
ALTER TABLE ONLY public.memories ALTER COLUMN content_sha256 SET STATISTICS 0;
CREATE FUNCTION public.update_memory(p_workspace_id text, p_store_id text, p_memory_id text, p_version_id text, p_path text, p_text bytea, p_sha256 text, p_expected_sha256 text, p_actor_type text, p_actor_id text, p_session_event_id text, p_now bigint, OUT outcome text, OUT conflict_id text, OUT conflict_path text, OUT memory public.memories) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
  v_key bigint;
  v_archived_at bigint;
  v_path text;
  v_seq bigint;
BEGIN
  IF p_path IS NULL THEN
    SELECT s.key, s.archived_at INTO v_key, v_archived_at FROM memory_stores s
    WHERE s.id = p_store_id AND s.workspace_id = p_workspace_id FOR KEY SHARE;
  ELSE
    SELECT s.key, s.archived_at INTO v_key, v_archived_at FROM memory_stores s
    WHERE s.id = p_store_id AND s.workspace_id = p_workspace_id FOR NO KEY UPDATE;
  END IF;
  IF v_key IS NULL THEN
    outcome := 'store_missing';
    RETURN;
  ELSIF v_archived_at IS NOT NULL THEN
    outcome := 'store_archived';
    RETURN;
  END IF;
  SELECT m.* INTO memory FROM memories m WHERE m.id = p_memory_id AND m.store_key = v_key FOR UPDATE;
  IF NOT FOUND THEN
    outcome := 'memory_missing';
    RETURN;
  END IF;
  v_path := coalesce(p_path, memory.path);
  IF v_path = memory.path AND coalesce(p_sha256, memory.content_sha256) = memory.content_sha256 THEN
    outcome := 'unchanged';
    RETURN;
  END IF;
  IF p_expected_sha256 <> memory.content_sha256 THEN
    outcome := 'precondition_failed';
    RETURN;
  END IF;
  IF v_path <> memory.path THEN
    SELECT c.id, c.path INTO conflict_id, conflict_path FROM find_path_conflict(v_key, v_path, memory.id) c LIMIT 1;
    IF FOUND THEN
      outcome := 'path_conflict';
      RETURN;
    END IF;
  END IF;
  v_seq := nextval('memory_versions_seq_seq');
  -- The memory's own times never run backwards, even when the clock does.
  memory.updated_at := greatest(p_now, memory.updated_at);
  memory.path := v_path;
  memory.version_id := p_version_id;
  memory.version_number := memory.version_number + 1;
  IF p_sha256 <> memory.content_sha256 THEN
    INSERT INTO memory_contents (key, bytes) VALUES (v_seq, p_text);
    memory.content_key := v_seq;
    memory.content_sha256 := p_sha256;
    memory.content_bytes := octet_length(p_text);
  END IF;
  INSERT INTO memory_versions (seq, id, store_key, memory_id, version_number, operation, path, content_key,
    content_sha256, content_bytes, actor_type, actor_id, session_event_id, created_at)
  VALUES (v_seq, p_version_id, v_key, memory.id, memory.version_number, 'modified', memory.path, memory.content_key,
    memory.content_sha256, memory.content_bytes, p_actor_type, p_actor_id, p_session_event_id, memory.updated_at);
  -- Naming `path` only when it changes lets other updates stay on their page, without new index entries.
  IF p_path IS NULL THEN
    UPDATE memories m SET version_id = memory.version_id, version_number = memory.version_number,
      content_key = memory.content_key, content_sha256 = memory.content_sha256, content_bytes = memory.content_bytes,
      updated_at = memory.updated_at
    WHERE m.id = memory.id;
  ELSE
    UPDATE memories m SET path = memory.path, version_id = memory.version_id,
      version_number = memory.version_number, content_key = memory.content_key,
      content_sha256 = memory.content_sha256, content_bytes = memory.content_bytes, updated_at = memory.updated_at
    WHERE m.id = memory.id;
  END IF;
  outcome := 'updated';
END
$$;
CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    workspace_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    role text NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    hint text NOT NULL,
    user_id text COLLATE pg_catalog."C",
    from_setting integer NOT NULL,
    created_at bigint NOT NULL,
    created_by text,
    expires_at bigint,
    revoked_at bigint,
    CONSTRAINT api_keys_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'developer'::text, 'read_only'::text])))
);
CREATE TABLE public.deleted_memories (
    id text NOT NULL COLLATE pg_catalog."C",
    store_key bigint NOT NULL,
    deleted_at bigint NOT NULL
);
CREATE TABLE public.deleted_stores (
    store_key bigint NOT NULL,
    deleted_at bigint NOT NULL
);
CREATE TABLE public.memory_contents (
    key bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY public.memory_contents ALTER COLUMN bytes SET STATISTICS 0;
ALTER TABLE public.memory_stores ALTER COLUMN key ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_stores_key_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.memory_versions ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.memory_versions_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.pending_scrubs (
    seq bigint NOT NULL,
    requested_at bigint NOT NULL
);
ALTER TABLE public.pending_scrubs ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.pending_scrubs_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.schema_migrations (
    number integer NOT NULL,
    applied_at bigint NOT NULL
);
CREATE TABLE public.users (
    id text NOT NULL COLLATE pg_catalog."C",
    workspace_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    created_at bigint NOT NULL
);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deleted_memories
    ADD CONSTRAINT deleted_memories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.deleted_stores
    ADD CONSTRAINT deleted_stores_pkey PRIMARY KEY (store_key);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.memories
    ADD CONSTRAINT memories_store_key_path_key UNIQUE (store_key, path);
ALTER TABLE ONLY public.memory_contents
    ADD CONSTRAINT memory_contents_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.memory_stores
    ADD CONSTRAINT memory_stores_id_key UNIQUE (id);
ALTER TABLE ONLY public.memory_stores
    ADD CONSTRAINT memory_stores_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.memory_versions
    ADD CONSTRAINT memory_versions_id_key UNIQUE (id);
ALTER TABLE ONLY public.memory_versions
    ADD CONSTRAINT memory_versions_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.pending_scrubs
    ADD CONSTRAINT pending_scrubs_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_workspace_id_name_key UNIQUE (workspace_id, name);
ALTER TABLE ONLY public.workspaces
    ADD CONSTRAINT workspaces_name_key UNIQUE (name);
ALTER TABLE ONLY public.workspaces
    ADD CONSTRAINT workspaces_pkey PRIMARY KEY (id);
CREATE INDEX api_keys_workspace ON public.api_keys USING btree (workspace_id);
CREATE INDEX deleted_memories_store ON public.deleted_memories USING btree (store_key);
CREATE INDEX deleted_memories_time ON public.deleted_memories USING btree (deleted_at);
CREATE INDEX memory_stores_workspace ON public.memory_stores USING btree (workspace_id, key);
CREATE INDEX memory_versions_actor ON public.memory_versions USING btree (store_key, actor_id, seq);
CREATE INDEX memory_versions_memory ON public.memory_versions USING btree (memory_id, seq);
CREATE INDEX memory_versions_shared ON public.memory_versions USING btree (content_key) WHERE (content_key <> seq);
CREATE INDEX memory_versions_store ON public.memory_versions USING btree (store_key, seq);
CREATE UNIQUE INDEX workspaces_default ON public.workspaces USING btree (is_default) WHERE (is_default = 1);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id);
ALTER TABLE ONLY public.memory_stores
    ADD CONSTRAINT memory_stores_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES public.workspaces(id);
