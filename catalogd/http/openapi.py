"""Generates the OpenAPI 3.1 document of catalogd's HTTP API from catalogd.http.routes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catalogd.http.routes import ANY_IMAGE, DIGEST_PATTERN, JSON, JSON_LINES, ROUTES, Parameter, Route
from olmkit.api.patterns import OBJECT_NAME

API_VERSION = "1"
"""The version of the API, not of the program."""
Json = dict[str, Any]

_HEADERS: dict[str, tuple[str, str]] = {
    "ETag": ("string", "Identifies these bytes; it differs for other content and for each encoding."),
    "Last-Modified": ("string", "When this content was first served, or when spec.packages changed that limits it."),
    "Accept-Ranges": ("string", "bytes"),
    "Olm-Catalog-Digest": ("string", "The content from which the response was made."),
    "Olm-Catalog-Packages": (
        "string",
        "selected: only the packages that spec.packages of the Catalog names; absent for all.",
    ),
    "Olm-Summary-State": (
        "string",
        "reading: the summary is what the catalog states, and its image is being read; absent for one of the image.",
    ),
    "Content-Encoding": ("string", "gzip or zstd; absent when the response is not compressed."),
    "Content-Range": ("string", "The range that is sent, and the size."),
    "Retry-After": ("string", "Seconds after which to retry, with this replica or another one."),
    "Allow": ("string", "The supported methods."),
}
_REQUEST_HEADERS = {
    "If-None-Match": "Entity tags of the representations that the client has.",
    "Range": "One range of bytes of the encoded response; a request for several ranges gets the whole response.",
    "Accept-Encoding": "The encodings that the client accepts, with weights; identity when absent.",
}
_CONDITIONS = ("If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Range", "If-Range")


def document(routes: Sequence[Route] = ROUTES) -> Json:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "catalogd",
            "version": API_VERSION,
            "description": "File-based catalogs of operators, whole, filtered and summarised. Read-only.",
        },
        "paths": {route.path: _item(route) for route in routes},
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Required with --authenticate-requests."}
            },
            "schemas": {
                "Catalogs": _CATALOGS,
                "BundleSummary": _BUNDLE_SUMMARY,
                "Error": _ERROR,
                "Index": _INDEX,
                "Packages": _PACKAGES,
                "Pending": _PENDING,
                "Resolution": _RESOLUTION,
            },
            "headers": {
                name: {"description": text, "schema": {"type": kind}} for name, (kind, text) in _HEADERS.items()
            },
        },
    }


def _item(route: Route) -> Json:
    operation = {"summary": route.summary, "parameters": _parameters(route)}
    responses = _responses(route)
    without_content = {
        code: {key: part for key, part in each.items() if key != "content"} for code, each in responses.items()
    }
    # Range is defined for GET only.
    without_ranges = {code: each for code, each in without_content.items() if code not in ("206", "416")}
    return {
        "get": {"operationId": route.operation, **operation, "responses": responses},
        "head": {"operationId": f"head{route.operation.removeprefix('get')}", **operation, "responses": without_ranges},
    }


def _parameters(route: Route) -> list[Json]:
    path: list[Json] = []
    for name in ("catalog", "package", "bundle"):
        if f"{{{name}}}" in route.path:
            schema: Json = {"type": "string", "minLength": 1}
            if name == "catalog":
                schema |= {"pattern": OBJECT_NAME, "maxLength": 253}
            path.append({"name": name, "in": "path", "required": True, "schema": schema})
    names = [name for name in _REQUEST_HEADERS if route.is_encoded or route.is_made or name != "Accept-Encoding"]
    headers = [_described(name, "header", _REQUEST_HEADERS[name], {"type": "string"}) for name in names]
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


def _responses(route: Route) -> Json:
    content = _content(route)
    responses: Json = {
        "200": {"description": route.summary, "headers": _headers(*_response_headers(route)), "content": content},
        "206": {
            "description": "The requested range.",
            "headers": _headers(*_response_headers(route), "Content-Range"),
            "content": {media_type: {} for media_type in content},
        },
        "304": {
            "description": f"The representation of the client is current ({', '.join(_CONDITIONS[:2])}).",
            "headers": _headers(*_response_headers(route)),
        },
        "400": _error("A parameter is unknown, repeated or invalid, or the name of the catalog is invalid."),
        "401": _error("Only with --authenticate-requests: no valid token."),
        "403": _error("Only with --authenticate-requests: the account of the token may not get this path."),
        "405": _error("The method is not supported.", "Allow"),
        "406": _error("Accept or Accept-Encoding excludes all available representations."),
        "412": _error(f"A precondition is not satisfied ({', '.join(_CONDITIONS[2:4])}).", *_response_headers(route)),
        "416": _error("The range starts after the end.", *_response_headers(route), "Content-Range"),
        "429": _error("Only with --authenticate-requests: too many unknown tokens or paths.", "Retry-After"),
        "503": _error("Too many connections.", "Retry-After"),
    }
    if route.of_catalog:
        also = f"; or {route.absent}" if route.absent else ""
        responses["404"] = _error(f"No such catalog, or no such content of it{also}.")
        unavailable = "This replica does not have the content of the catalog (yet), or has too many connections."
        responses["503"] = _error(unavailable, "Retry-After")
    if route.is_made:
        responses["202"] = _made("It is being made.", "Pending")
        responses["429"] = _error(
            "Too many are being made; or, with --authenticate-requests, unknown tokens.", "Retry-After"
        )
    return dict(sorted(responses.items()))


def _made(description: str, schema: str) -> Json:
    content = {JSON: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "headers": _headers("Retry-After", "Olm-Catalog-Digest"), "content": content}


def _response_headers(route: Route) -> tuple[str, ...]:
    names: tuple[str, ...] = ("ETag", "Last-Modified", "Accept-Ranges")
    if route.of_catalog:
        names += ("Olm-Catalog-Digest",)
    if route.is_made:
        return (*names, "Olm-Summary-State", "Content-Encoding")
    if route.is_selected and route.media_type != ANY_IMAGE:
        names += ("Olm-Catalog-Packages",)
    return (*names, "Content-Encoding") if route.is_encoded else names


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _content(route: Route) -> Json:
    schemas = {
        "getIndex": "Index",
        "getCatalogs": "Catalogs",
        "getBundleSummary": "BundleSummary",
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
    "description": "The error message.",
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
        "deprecated": {"type": ["boolean", "string"], "description": "The message, or true when there is none."},
        "icon": {"type": "string", "description": "The path of its icon, relative to the directory of this response."},
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
_PENDING: Json = {
    "type": "object",
    "required": ["pending"],
    "properties": {"pending": _TEXT},
}
_BUNDLE_SUMMARY: Json = {
    "type": "object",
    "required": ["format", "image", "statedBy", "leftOut", "files", "digests"],
    "properties": {
        "format": {"type": "integer"},
        "image": {"type": "string", "description": "The image, by digest if it was read."},
        "statedBy": {"enum": ["Image", "Catalog"], "description": "Catalog: of properties olm.bundle.object."},
        "leftOut": {"type": "array", "items": {"enum": ["schemas"]}},
        "files": {
            "type": "object",
            "description": "The reduced documents of each file of the bundle, by its path.",
            "additionalProperties": {"type": "array"},
        },
        "digests": {
            "type": "object",
            "description": "Digests of whole objects that are reduced, by apiVersion, kind and name.",
            "additionalProperties": _TEXT,
        },
    },
}
