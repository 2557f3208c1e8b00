"""The OpenAPI 3.1 document of catalogd's HTTP, made from the table of catalogd.http.routes.

Served by catalogd.http.server. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catalogd.http.routes import ANY_IMAGE, DIGEST_PATTERN, JSON, JSON_LINES, ROUTES, Parameter, Route
from olmkit.api.patterns import OBJECT_NAME

VERSION = "1"
"""Of the interface, not of the program."""
Json = dict[str, Any]

_HEADERS: dict[str, tuple[str, str]] = {
    "ETag": ("string", "Names these bytes: another content, and another encoding, has another."),
    "Last-Modified": ("string", "Since when this content is served."),
    "Accept-Ranges": ("string", "bytes"),
    "Olm-Catalog-Digest": ("string", "The content that the answer is made from."),
    "Content-Encoding": ("string", "gzip or zstd; absent when the answer is not compressed."),
    "Content-Range": ("string", "Which bytes of how many."),
    "Retry-After": ("string", "Seconds after which to ask again, this replica or another."),
    "Allow": ("string", "The methods that there are."),
}
_REQUEST_HEADERS = {
    "If-None-Match": "Entity tags of what the client has.",
    "Range": "One range of bytes, of the answer as it is encoded; several are answered by the whole.",
    "Accept-Encoding": "Which encodings the client takes, by weight; identity when absent.",
}
_CONDITIONS = ("If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Range", "If-Range")


def document(routes: Sequence[Route] = ROUTES) -> Json:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "catalogd",
            "version": VERSION,
            "description": "File-based catalogs of operators, whole, filtered and summarised. Read-only.",
        },
        "paths": {route.path: _item(route) for route in routes},
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Asked for with --authenticate-requests."}
            },
            "schemas": {
                "Catalogs": _CATALOGS,
                "Error": _ERROR,
                "Index": _INDEX,
                "Packages": _PACKAGES,
                "Resolution": _RESOLUTION,
            },
            "headers": {
                name: {"description": text, "schema": {"type": kind}} for name, (kind, text) in _HEADERS.items()
            },
        },
    }


def _item(route: Route) -> Json:
    operation = {"summary": route.summary, "parameters": _parameters(route)}
    answers = _answers(route)
    silent = {code: {key: part for key, part in each.items() if key != "content"} for code, each in answers.items()}
    # A HEAD has no part: Range is defined for GET alone.
    unranged = {code: each for code, each in silent.items() if code not in ("206", "416")}
    return {
        "get": {"operationId": route.operation, **operation, "responses": answers},
        "head": {"operationId": f"head{route.operation.removeprefix('get')}", **operation, "responses": unranged},
    }


def _parameters(route: Route) -> list[Json]:
    path: list[Json] = []
    for name in ("catalog", "package"):
        if f"{{{name}}}" in route.path:
            schema: Json = {"type": "string", "minLength": 1}
            if name == "catalog":
                schema |= {"pattern": OBJECT_NAME, "maxLength": 253}
            path.append({"name": name, "in": "path", "required": True, "schema": schema})
    asked = [name for name in _REQUEST_HEADERS if route.is_encoded or name != "Accept-Encoding"]
    headers = [_described(name, "header", _REQUEST_HEADERS[name], {"type": "string"}) for name in asked]
    return path + [_query(parameter) for parameter in route.parameters] + headers


def _query(parameter: Parameter) -> Json:
    schema: Json = {"type": "string"}
    if parameter.is_required:
        schema["minLength"] = 1
    if parameter.pattern:
        schema["pattern"] = parameter.pattern
    return {**_described(parameter.name, "query", parameter.description, schema), "required": parameter.is_required}


def _described(name: str, place: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": place, "description": description, "schema": schema}


def _answers(route: Route) -> Json:
    content = _content(route)
    answers: Json = {
        "200": {"description": route.summary, "headers": _headers(*_told(route)), "content": content},
        "206": {
            "description": "The part that Range asked for.",
            "headers": _headers(*_told(route), "Content-Range"),
            "content": {media_type: {} for media_type in content},
        },
        "304": {
            "description": f"What the client has is still so ({', '.join(_CONDITIONS[:2])}).",
            "headers": _headers(*_told(route)),
        },
        "400": _error("A parameter is not known, given twice or no text, or the catalog's name is none."),
        "401": _error("Only with --authenticate-requests: no token, or one that is not valid."),
        "403": _error("Only with --authenticate-requests: the account of the token may not get this path."),
        "405": _error("Another method than GET and HEAD.", "Allow"),
        "406": _error("Accept or Accept-Encoding allows nothing that there is."),
        "412": _error(f"A condition does not hold ({', '.join(_CONDITIONS[2:4])}).", *_told(route)),
        "416": _error("Range begins behind the end.", *_told(route), "Content-Range"),
        "429": _error("Only with --authenticate-requests: too many tokens or paths not seen before.", "Retry-After"),
        "503": _error("Too many connections.", "Retry-After"),
    }
    if route.of_catalog:
        also = f"; or {route.absent}" if route.absent else ""
        answers["404"] = _error(f"There is no such catalog, or no such content of it{also}.")
        waiting = "The content of the catalog is not on this replica (yet), or too many connections."
        answers["503"] = _error(waiting, "Retry-After")
    return dict(sorted(answers.items()))


def _told(route: Route) -> tuple[str, ...]:
    told: tuple[str, ...] = ("ETag", "Last-Modified", "Accept-Ranges")
    if route.of_catalog:
        told += ("Olm-Catalog-Digest",)
    return (*told, "Content-Encoding") if route.is_encoded else told


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _content(route: Route) -> Json:
    schemas = {
        "getIndex": "Index",
        "getCatalogs": "Catalogs",
        "getPackages": "Packages",
        "getResolution": "Resolution",
    }
    if route.media_type == ANY_IMAGE:
        return {ANY_IMAGE: {}, "application/octet-stream": {}}
    if route.operation in schemas:
        content: Json = {JSON: {"schema": {"$ref": f"#/components/schemas/{schemas[route.operation]}"}}}
        return content | ({route.also: {}} if route.also else {})
    if route.operation == "getOpenAPI":
        return {JSON: {"schema": {"type": "object", "required": ["openapi", "paths"]}}}
    # Lines of objects have no schema: neither type is one JSON value.
    return {route.media_type: {}} if route.media_type in (JSON, JSON_LINES) else {}


def _error(description: str, *headers: str) -> Json:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": description, "headers": _headers(*headers), "content": {JSON: {"schema": schema}}}


_TEXT: Json = {"type": "string"}
_DIGEST: Json = {"type": "string", "pattern": DIGEST_PATTERN}
_ERROR: Json = {
    "type": "object",
    "description": "What is wrong, in a sentence.",
    "required": ["error"],
    "properties": {"error": _TEXT},
    "additionalProperties": False,
}
_INDEX: Json = {
    "type": "object",
    "required": ["paths"],
    "properties": {"paths": {"type": "array", "items": _TEXT}},
}
_CATALOGS: Json = {
    "type": "object",
    "required": ["catalogs"],
    "properties": {
        "catalogs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "digest"],
                "properties": {"name": _TEXT, "digest": _DIGEST},
            },
        },
    },
}
_HEAD: Json = {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "version": _TEXT}}
_SUMMARY: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _TEXT,
        "displayName": _TEXT,
        "description": {"type": "string", "maxLength": 200},
        "provider": _TEXT,
        "categories": {"type": "array", "items": _TEXT},
        "keywords": {"type": "array", "items": _TEXT},
        "capability": _TEXT,
        "defaultChannel": _TEXT,
        "channels": {
            "type": "array",
            "items": {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "head": _HEAD}},
        },
        "deprecated": {"type": ["boolean", "string"], "description": "The message, or only that it is."},
        "icon": {"type": "string", "description": "Where its icon is, relative to the folder of this answer."},
    },
}
_PACKAGES: Json = {
    "type": "object",
    "required": ["packages"],
    "properties": {"packages": {"type": "array", "items": _SUMMARY}},
}
_RESOLUTION: Json = {
    "type": "object",
    "required": ["catalogDigest"],
    "properties": {"catalogDigest": _DIGEST},
}
