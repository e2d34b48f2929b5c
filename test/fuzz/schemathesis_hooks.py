"""Leads schemathesis to real objects, and adds a check of what the schemas leave open.

Made-up ids and paths would end nearly every request at 404 or 400. Most of them are replaced by objects that exist.
Objects are made for the request that may destroy them, so that no request depends on an earlier one.
"""

import http.client
import json
import os
import re
import zlib
from urllib.parse import urlsplit

import schemathesis
from schemathesis.generation import GenerationMode

URL = urlsplit(os.environ["MNEME_FUZZ_URL"])
KEY = os.environ["MNEME_FUZZ_KEY"]
REAL = re.compile(r"^(memstore|mem|memver|apikey)_01[1-9A-HJ-NP-Za-km-z]{22}$")
# Requests on one set of objects that only read it.
REUSES = 20

_connection = http.client.HTTPConnection(URL.hostname, URL.port, timeout=30)


def call(method, path, body=None):
    headers = {"x-api-key": KEY, "anthropic-beta": "agent-memory-2026-07-22", "content-type": "application/json"}
    _connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = _connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, f"{method} {path} of the hooks was answered with {response.status}: {answer}"
    return answer


def admin_key_id():
    return next(key["id"] for key in call("GET", "/mneme/v1/keys")["data"] if key["name"] == "MNEME_API_KEY")


class Objects:
    """A store with a memory of two versions, and an API key."""

    def __init__(self):
        self.uses = 0
        store = call("POST", "/v1/memory_stores", {"name": "fuzzed"})["id"]
        memories = f"/v1/memory_stores/{store}/memories"
        first = call("POST", memories, {"path": "/folder/a.md", "content": "one"})
        second = call("POST", f"{memories}/{first['id']}", {"content": "two"})
        self.sha256 = second["content_sha256"]
        self.ids = {
            "memory_store_id": store,
            "memory_id": first["id"],
            "memory_version_id": first["memory_version_id"],
            "api_key_id": call("POST", "/mneme/v1/keys", {"name": "fuzzed"})["id"],
        }


_shared = None
_admin = None


def objects_for(method):
    global _shared
    if method != "GET":
        return Objects()
    if _shared is None or _shared.uses >= REUSES:
        _shared = Objects()
    _shared.uses += 1
    return _shared


@schemathesis.hook
def before_call(ctx, case, kwargs):
    global _admin
    _admin = _admin or admin_key_id()
    made_up = [name for name, value in case.path_parameters.items() if not REAL.match(str(value))]
    # One in eight keeps its made-up ids, by a choice that does not depend on what ran before.
    odd = zlib.crc32(repr((case.operation.label, case.path_parameters, case.query)).encode()) % 8 == 0
    objects = None
    if made_up and not odd:
        objects = objects_for(case.method)
        for name in made_up:
            case.path_parameters[name] = objects.ids[name]
    # With a second admin key the server would revoke the one that this run uses.
    if case.path_parameters.get("api_key_id") == _admin:
        case.path_parameters["api_key_id"] = objects_for(case.method).ids["api_key_id"]
    # What breaks the schema on purpose stays as it is.
    if case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE:
        make_acceptable(case, objects, odd)


def make_acceptable(case, objects, odd):
    query, body = case.query, case.body
    if isinstance(query, dict) and not odd:
        if not str(query.get("page", "")).startswith("page_"):
            query.pop("page", None)
        if "path_prefix" in query:
            query["path_prefix"] = "/folder/"
        if "memory_id" in query and objects:
            query["memory_id"] = objects.ids["memory_id"]
        for name in ("session_id", "api_key_id", "service_account_id"):
            if name in query:
                query[name] = f"{name}_1"
        if "expected_content_sha256" in query and objects:
            query["expected_content_sha256"] = objects.sha256
    if isinstance(body, dict) and not odd:
        if isinstance(body.get("path"), str) and not body["path"].startswith("/"):
            body["path"] = "/" + body["path"]
        if isinstance(body.get("precondition"), dict) and objects:
            body["precondition"]["content_sha256"] = objects.sha256
        if isinstance(body.get("metadata"), dict):
            body["metadata"].pop("", None)


@schemathesis.check
def wire_form(ctx, response, case):
    """Every answer has a request id, errors name a documented type, and nothing comes that the schema does not know."""
    request_id = response.headers.get("request-id", [None])[0]
    assert request_id and re.match(r"^req_01[1-9A-HJ-NP-Za-km-z]{22}$", request_id), f"request-id is {request_id}"
    answer = response.json()
    documented = case.operation.definition.raw["responses"].get(str(response.status_code))
    if response.status_code == 200:
        assert documented, "200 is not documented"
        refuse_unknown(answer, documented["content"]["application/json"]["schema"], "answer")
        return
    assert answer["type"] == "error", answer
    assert answer["request_id"] == request_id, f"{answer['request_id']} is not the header's {request_id}"
    assert answer["error"]["message"], answer
    if documented:
        types = documented["description"].split(", ")
        assert answer["error"]["type"] in types, f"{answer['error']['type']} is not one of {types}"


def members(schema):
    """The schemas that a union is made of, through unions of unions."""
    return [inner for one in schema["anyOf"] for inner in members(one)] if "anyOf" in schema else [schema]


def refuse_unknown(value, schema, where):
    """Raises for a field that the document does not name; its answers are open to additions, so no other check does."""
    if isinstance(value, list):
        for item in value:
            refuse_unknown(item, schema["items"], f"{where}[]")
    if not isinstance(value, dict) or "additionalProperties" in schema:
        return
    for one in members(schema):
        known = one.get("properties", {})
        kind = known.get("type", {}).get("enum", [value.get("type")])
        if set(value) <= set(known) and value.get("type") in kind:
            for name, inner in value.items():
                refuse_unknown(inner, known[name], f"{where}.{name}")
            return
    raise AssertionError(f"{where} has fields that the document does not know: {sorted(value)}")
