"""The wire format of the Kubernetes API: lines and events of a watch, lists, failures, and the body of an apply.

Pure but for what reads and closes a response. Whatever cannot be parsed becomes an ApiError, never another exception.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import aiohttp
import orjson

from olmkit.api.meta import Object
from olmkit.errors import ApiError, Unavailable, api_error

_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MAX_QUOTED_CHARACTERS = 200
_UNDECLARED = "failed to create typed patch object"
"""The words in which the API server reports that an apply has a field that its schema lacks: with code 500 and no reason, so
that only the text identifies it."""


def apply_body(obj: Object) -> bytes:
    """JSON that a YAML parser reads as the same value: characters that YAML forbids or treats as line breaks are escaped.

    The API server reads the body of a server-side apply as YAML, where U+2028 in a quoted string becomes a space.
    """
    body = orjson.dumps(obj)
    if body.isascii() and b"\x7f" not in body:
        return body
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", body.decode()).encode()


def parse_object(raw: bytes) -> Object:
    """The JSON object of a response body, {} for an empty one. Raises Unavailable if it is something else."""
    if not raw:
        return {}
    try:
        answer = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Unavailable(0, "BadAnswer", "the response of the API server is not JSON") from error
    if not isinstance(answer, dict):
        raise Unavailable(0, "BadAnswer", "the response of the API server is not a JSON object")
    return answer


def parse_failure(code: int, phrase: str, raw: bytes, retry_after: str = "") -> ApiError:
    """The error of a response with status 400 or above: that of its metav1.Status if it has one, else the start of its body.

    `retry_after` is its header Retry-After. A date, which the API server never sends, counts as a missing header.
    """
    error = _parse_status(code, phrase, raw)
    error.retry_after = int(retry_after) if re.fullmatch("[0-9]{1,9}", retry_after) else None
    return error


def _parse_status(code: int, phrase: str, raw: bytes) -> ApiError:
    try:
        status = orjson.loads(raw)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        message = status.get("message") or ""
        return api_error(422 if message.startswith(_UNDECLARED) else code, status.get("reason") or "", message)
    text = raw[:_MAX_QUOTED_CHARACTERS].decode(errors="replace").strip()
    return api_error(code, phrase, text or f"HTTP {code}")


def parse_items(page: Object) -> tuple[list[Object], str, str]:
    """(objects, resourceVersion, continue token) of a list. Raises Unavailable if an item has no name or version.

    The lists of the API server itself are well-formed; those of an aggregated API need not be.
    """
    items, metadata = page.get("items") or [], page.get("metadata") or {}
    if not isinstance(items, list) or not isinstance(metadata, dict) or not all(map(_is_identified, items)):
        raise Unavailable(0, "BadAnswer", "the list contains an item that is not an object")
    return items, str(metadata.get("resourceVersion") or ""), str(metadata.get("continue") or "")


def parse_event(line: bytes) -> Object:
    """A line of a watch as {"type", "object"}. Raises the ApiError of an ERROR event, and Unavailable if it is not an event."""
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Unavailable(0, "BadEvent", "the watch sent something that is not an event") from error
    kind, obj = (event.get("type"), event.get("object")) if isinstance(event, dict) else (None, None)
    if kind == "ERROR" and isinstance(obj, dict):
        code = obj.get("code")
        raise api_error(code if isinstance(code, int) else 500, obj.get("reason") or "", obj.get("message") or "")
    if kind not in _EVENTS or not (_is_versioned(obj) if kind == "BOOKMARK" else _is_identified(obj)):
        raise Unavailable(0, "BadEvent", "the watch sent something that is not an event")
    return {"type": kind, "object": obj}


def _is_versioned(obj: Any) -> bool:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return isinstance(metadata, dict) and isinstance(metadata.get("resourceVersion"), str)


def _is_identified(obj: Any) -> bool:
    return _is_versioned(obj) and isinstance(obj["metadata"].get("name"), str)


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The lines in `chunks`, of any length, without line ends. An incomplete last line is dropped."""
    rest: list[bytes] = []
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        for other in others:
            line = b"".join(rest)
            rest = [other]
            if line:
                yield line


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """The body of a response. Raises ApiError by its status code, from 400 on."""
    if response.status >= 400:
        retry_after = response.headers.get("Retry-After", "")
        raise parse_failure(response.status, response.reason or "", await response.read(), retry_after)
    return await response.read()


def abort(response: aiohttp.ClientResponse) -> None:
    """Close the connection of a response that is not read completely, without waiting for the TLS close_notify of the peer."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
