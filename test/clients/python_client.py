"""Drives a server with the official Python SDK. Reads one JSON object from standard input, runs the part of the test
that its `part` names, prints a JSON object, and ends with a traceback and code 1 at the first wrong answer."""

import asyncio
import hashlib
import json
import sys
import time
from datetime import datetime, timedelta, timezone

from anthropic import (
    Anthropic,
    AsyncAnthropic,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
)

GIVEN = json.load(sys.stdin)
MANAGED = "managed-agents-2026-04-01"


def same(actual, expected, what):
    assert actual == expected, f"{what}: expected {str(expected)[:300]!r}, got {str(actual)[:300]!r}"


def client(key=None, kind=Anthropic, **options):
    # Strict: an answer that the SDK's own types do not fit is an error, not a guess.
    return kind(
        base_url=GIVEN["url"], api_key=key or GIVEN["key"], max_retries=0, _strict_response_validation=True, **options
    )


ANTHROPIC = client()
STORES = ANTHROPIC.beta.memory_stores
MEMORIES = STORES.memories
VERSIONS = STORES.memory_versions


def fails(kind, error_type, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        return check_error(error, error_type)
    raise AssertionError(f"{args} {kwargs} succeeded instead of {error_type}")


def check_error(error, error_type):
    same(error.body["type"], "error", "the error's form")
    same(error.body["error"]["type"], error_type, "the error's type")
    same(error.type, error_type, "the type that the SDK read")
    same(error.body["request_id"], error.request_id, "the request id in body and header")
    same(error.status_code, error.response.status_code, "the status")
    assert error.request_id.startswith("req_01"), error.request_id
    return error


def expected(content):
    data = content.encode("utf-8")
    return content, len(data), hashlib.sha256(data).hexdigest()


def held(item):
    return item.content, item.content_size_bytes, item.content_sha256


def pause():
    """Timestamps have milliseconds; what follows gets another one."""
    time.sleep(0.005)


def stores():
    made = STORES.create(name="Né 😀", description="d", metadata={"a": "1", "b": "2"})
    assert made.id.startswith("memstore_01") and made._request_id.startswith("req_01")
    same((made.type, made.name, made.description), ("memory_store", "Né 😀", "d"), "the store")
    same((made.metadata, made.archived_at, made.updated_at), ({"a": "1", "b": "2"}, None, made.created_at), "the store")
    same(STORES.retrieve(made.id), made, "the store when retrieved")
    pause()
    changed = STORES.update(made.id, metadata={"a": None, "c": "3"}, description="", name="new")
    same((changed.metadata, changed.description, changed.name), ({"b": "2", "c": "3"}, "", "new"), "the changed store")
    assert changed.updated_at > made.updated_at and changed.created_at == made.created_at
    same(STORES.update(made.id, name=None, description=None, metadata=None), changed, "a change of nothing")
    archived = STORES.archive(made.id)
    assert archived.archived_at is not None
    same(STORES.archive(made.id), archived, "the second archiving")
    fails(BadRequestError, "invalid_request_error", STORES.update, made.id, name="x")
    raw = STORES.with_raw_response.retrieve(made.id)
    same(raw.parse(), archived, "the raw answer")
    same(raw.request_id, raw.headers["request-id"], "the raw request id")
    gone = STORES.delete(made.id)
    same((gone.id, gone.type), (made.id, "memory_store_deleted"), "the deleted store")
    fails(NotFoundError, "not_found_error", STORES.retrieve, made.id)


def store_lists():
    made = []
    for number in range(5):
        pause()
        made.insert(0, STORES.create(name=f"s{number}"))
    pause()
    ids = [store.id for store in made]
    since = made[-1].created_at

    def listed(**filters):
        return [store.id for store in STORES.list(**{"created_at_gte": since, **filters})]

    same(listed(), ids, "newest first")
    same(listed(limit=2), ids, "in pages of two")
    third = made[2].created_at
    same(listed(created_at_lte=third), ids[2:], "up to a time, inclusive")
    same(listed(created_at_gte=third, limit=1), ids[:3], "from a time, inclusive")
    same(listed(created_at_gte=third, created_at_lte=third.isoformat()), ids[2:3], "at a time")
    # The same moment on another clock.
    same(listed(created_at_gte=third.astimezone(timezone(timedelta(hours=-7)))), ids[:3], "in another zone")
    same(listed(created_at_gte=datetime(2999, 1, 1, tzinfo=timezone.utc)), [], "from a far time")
    first = STORES.list(limit=2, created_at_gte=since)
    assert first.next_page.startswith("page_")
    same([store.id for store in first.get_next_page().data], ids[2:4], "the second page")
    STORES.archive(ids[0])
    same(listed(), ids[1:], "without the archived one")
    same(listed(include_archived=True, limit=2), ids, "with the archived one")


def memories():
    store = STORES.create(name="s").id
    made = MEMORIES.create(store, path="/a/b.md", content="one")
    assert made.id.startswith("mem_01") and made._request_id.startswith("req_01")
    same((made.path, made.content, made.memory_store_id), ("/a/b.md", None, store), "the memory")
    same(held(made)[1:], expected("one")[1:], "size and hash")
    full = made.model_copy(update={"content": "one"})
    at = {"memory_store_id": store}
    same(MEMORIES.retrieve(made.id, **at), full, "the memory when retrieved")
    for view, as_seen in (("full", full), ("basic", made)):
        same(MEMORIES.retrieve(made.id, **at, view=view), as_seen, f"the {view} view")
    same(MEMORIES.create(store, path="/c", content="x", view="full").content, "x", "the view of a create")
    condition = {"type": "content_sha256", "content_sha256": made.content_sha256}
    renamed = MEMORIES.update(made.id, **at, path="/new", precondition=condition)
    same((renamed.id, renamed.path, renamed.content_sha256), (made.id, "/new", made.content_sha256), "the rename")
    edited = MEMORIES.update(made.id, **at, content="two", precondition=condition, view="full")
    same((held(edited), edited.path), (expected("two"), "/new"), "the edit")
    stale = {**at, "content": "three", "precondition": condition}
    fails(ConflictError, "memory_precondition_failed_error", MEMORIES.update, made.id, **stale)
    again = MEMORIES.update(made.id, **at, content="two", path="/new", precondition=condition, view="basic")
    same((again.memory_version_id, again.content), (edited.memory_version_id, None), "an edit of nothing")
    same(MEMORIES.update(made.id, **at, content=None, path=None), again, "no edit")
    error = fails(ConflictError, "memory_path_conflict_error", MEMORIES.create, store, path="/new/x", content="")
    same(error.body["error"]["conflicting_path"], "/new", "the conflicting path")
    same(error.body["error"]["conflicting_memory_id"], made.id, "the conflicting memory")
    wrong = {**at, "expected_content_sha256": made.content_sha256}
    fails(ConflictError, "memory_precondition_failed_error", MEMORIES.delete, made.id, **wrong)
    gone = MEMORIES.delete(made.id, **at, expected_content_sha256=edited.content_sha256)
    same((gone.id, gone.type), (made.id, "memory_deleted"), "the deleted memory")
    fails(NotFoundError, "not_found_error", MEMORIES.retrieve, made.id, **at)


def memory_lists():
    store = STORES.create(name="s").id
    paths = ["/a/1", "/a/2", "/a/b/3", "/b", "/c/4", "/c/5"]
    for path in reversed(paths):
        MEMORIES.create(store, path=path, content=path)

    def listed(**filters):
        return [(item.type, item.path) for item in MEMORIES.list(store, **filters)]

    def named(*found):
        return [("memory_prefix" if path.endswith("/") else "memory", path) for path in found]

    same(listed(), named(*paths), "all, by path")
    same(listed(limit=1, depth=0), named(*paths), "one by one")
    same(listed(depth=1, limit=2), named("/a/", "/b", "/c/"), "the first level")
    same(listed(path_prefix="/a/", depth=1), named("/a/1", "/a/2", "/a/b/"), "one folder")
    same(listed(path_prefix="/a/"), named("/a/1", "/a/2", "/a/b/3"), "below a folder")
    same([item.content for item in MEMORIES.list(store, view="full", limit=4)], paths, "with contents")
    same([item.content for item in MEMORIES.list(store)], [None] * 6, "without contents")


def versions():
    store = STORES.create(name="s").id
    at = {"memory_store_id": store}
    a = MEMORIES.create(store, path="/a", content="one")
    pause()
    client(GIVEN["developer"]["key"]).beta.memory_stores.memories.update(a.id, **at, content="two")
    pause()
    b = MEMORIES.create(store, path="/b", content="bee")
    MEMORIES.delete(b.id, **at)

    def listed(**filters):
        return [(version.operation, version.path) for version in VERSIONS.list(store, **filters)]

    every = [("deleted", "/b"), ("created", "/b"), ("modified", "/a"), ("created", "/a")]
    same(listed(), every, "newest first")
    same(listed(limit=1), every, "one by one")
    same(listed(memory_id=a.id), every[2:], "of a memory")
    same(listed(operation="created"), [every[1], every[3]], "of an operation")
    same(listed(api_key_id=GIVEN["developer"]["id"]), [every[2]], "of a key")
    same(listed(session_id="sesn_1"), [], "of a session that did not write")
    same(listed(service_account_id="svac_1"), [], "of a service account that did not write")
    second = next(version for version in VERSIONS.list(store, operation="modified"))
    same(second.created_by.type, "api_actor", "the author's kind")
    same(second.created_by.api_key_id, GIVEN["developer"]["id"], "the author")
    same(listed(created_at_gte=second.created_at, limit=2), every[:3], "from a time")
    same(listed(created_at_lte=second.created_at), every[2:], "up to a time")
    contents = [version.content for version in VERSIONS.list(store, view="full", limit=3)]
    same(contents, [None, "bee", "two", "one"], "the contents")
    old = VERSIONS.retrieve(a.memory_version_id, **at)
    same((held(old), old.operation, old.memory_id), (expected("one"), "created", a.id), "the old version")
    same(VERSIONS.retrieve(old.id, **at, view="full"), old, "the full view")
    same(VERSIONS.retrieve(old.id, **at, view="basic").content, None, "the basic view")
    restored = MEMORIES.update(a.id, **at, content=old.content, view="full")
    same(restored.content, "one", "the restored text")
    fails(BadRequestError, "invalid_request_error", VERSIONS.redact, restored.memory_version_id, **at)
    redacted = VERSIONS.redact(old.id, **at)
    same((held(redacted), redacted.path), ((None, None, None), None), "the redacted version")
    assert redacted.redacted_at and redacted.redacted_by.type == "api_actor"
    pause()
    same(VERSIONS.redact(old.id, **at).redacted_at, redacted.redacted_at, "the second redaction")
    same(MEMORIES.retrieve(a.id, **at).content, "one", "the live text after the redaction")


def errors():
    store = STORES.create(name="s").id
    same(STORES.retrieve(store, workspace_id=GIVEN["workspace"]).id, store, "the own workspace")
    fails(NotFoundError, "not_found_error", STORES.retrieve, store, workspace_id=GIVEN["foreign"]["workspace_id"])
    stranger = client(GIVEN["foreign"]["key"]).beta.memory_stores
    fails(NotFoundError, "not_found_error", stranger.retrieve, store)
    # The SDK adds its own beta to those given, and the two exclude each other.
    fails(BadRequestError, "invalid_request_error", STORES.create, name="x", betas=[MANAGED])
    same(STORES.retrieve(store, betas=["files-api-2025-04-14"]).id, store, "with another beta")
    same(STORES.retrieve(store, extra_headers={"anthropic-beta": MANAGED}).id, store, "with the other beta alone")
    fails(AuthenticationError, "authentication_error", client("sk-mneme-unknown").beta.memory_stores.list)
    reader = client(GIVEN["reader"]["key"]).beta.memory_stores
    same(reader.retrieve(store).id, store, "a reader reads")
    fails(PermissionDeniedError, "permission_error", reader.create, name="x")
    bearer = Anthropic(base_url=GIVEN["url"], api_key=None, auth_token=GIVEN["key"], max_retries=0)
    same(bearer.beta.memory_stores.retrieve(store).id, store, "a bearer token")


async def asynchronous():
    """Ten clients at once add a line each to one memory, with preconditions: all lines are there."""
    async with client(kind=AsyncAnthropic) as anthropic:
        api = anthropic.beta.memory_stores
        store = (await api.create(name="async")).id
        memory = (await api.memories.create(store, path="/lines", content="")).id

        async def append(line):
            while True:
                read = await api.memories.retrieve(memory, memory_store_id=store)
                condition = {"type": "content_sha256", "content_sha256": read.content_sha256}
                try:
                    content = f"{read.content}{line}\n"
                    await api.memories.update(memory, memory_store_id=store, content=content, precondition=condition)
                    return
                except ConflictError as error:
                    check_error(error, "memory_precondition_failed_error")

        lines = [f"line {number}" for number in range(10)]
        await asyncio.gather(*(append(line) for line in lines))
        kept = (await api.memories.retrieve(memory, memory_store_id=store)).content.splitlines()
        same(sorted(kept), lines, "the lines of ten writers")
        listed = [version.operation async for version in api.memory_versions.list(store, limit=3)]
        same(listed, ["modified"] * 10 + ["created"], "a version for each line")


def write():
    """Writes every text; answers the ids, for `read` to find them after a restart."""
    store = STORES.create(name="bytes").id
    ids = {}
    for number, (name, content) in enumerate(GIVEN["texts"].items()):
        made = MEMORIES.create(store, path=f"/{number}", content=content, view="full")
        same(held(made), expected(content), f"{name} when created")
        ids[name] = made.id
    for name, content in GIVEN["too_large"].items():
        same(len(content.encode()), 102_401, name)
        fails(BadRequestError, "invalid_request_error", MEMORIES.create, store, path="/large", content=content)
    return {"store": store, "ids": ids}


def read():
    store, ids = GIVEN["written"]["store"], GIVEN["written"]["ids"]
    same(len(ids), len(GIVEN["texts"]), "the number of texts")
    for name, content in GIVEN["texts"].items():
        memory = MEMORIES.retrieve(ids[name], memory_store_id=store)
        same(held(memory), expected(content), f"{name} after the restart")
        version = VERSIONS.retrieve(memory.memory_version_id, memory_store_id=store)
        same(held(version), expected(content), f"{name} in its version")
    listed = {item.id: held(item) for item in MEMORIES.list(store, view="full")}
    same(listed, {ids[name]: expected(content) for name, content in GIVEN["texts"].items()}, "the list")
    return {}


def endpoints():
    for part in (stores, store_lists, memories, memory_lists, versions, errors):
        part()
    asyncio.run(asynchronous())
    return {}


print(json.dumps({"endpoints": endpoints, "write": write, "read": read}[GIVEN["part"]]()))
