"""The Kubernetes API as raw JSON: get, list, watch, create, apply, patch, delete, discover; and its wire format.

Raises subclasses of ApiError only: whatever cannot be parsed becomes one. Never retries (the queue and the informer do), except
once after a 401, with credentials that were read again. Configuration and credentials are those of olmkit.runtime.kubeconfig.
"""

from __future__ import annotations

import asyncio
import builtins
import copy
import io
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import urlencode, urlsplit
from weakref import WeakSet

import aiohttp
import orjson

from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError, FieldCause, Unavailable, api_error
from olmkit.gocompat import json_depth
from olmkit.gocompat.text import truncate
from olmkit.runtime import metrics
from olmkit.runtime.discovery import Discovery, DiscoveryCache, parse_discovery
from olmkit.runtime.kubeconfig import (
    ApiCredentials,
    choose_proxy,
    load,
    load_address,
    load_kubernetes_asyncio,
    own_session,
)

__all__ = ["Client", "Discovery", "DiscoveryCache"]

Query = Mapping[str, str | int | Sequence[str] | None]

MAX_CONNECTIONS = 1000
"""Concurrent connections to the API server: each watch holds one."""
CONNECT_TIMEOUT_SECONDS = 5.0
REQUEST_TIMEOUT_SECONDS = 30.0
WHOLE_BODY_BYTES = 512 * 1024
"""Bytes of a body that is sent at once: a longer one is sent in parts, so that other tasks run in between."""
WATCH_IDLE_TIMEOUT_SECONDS = 90.0
"""A watch that receives nothing for this long is closed: bookmarks arrive every minute."""
NO_ANSWER = "NoAnswer"
"""The reason of Unavailable if the API server does not answer."""
HANDSHAKE_FAILED = "HandshakeFailed"
"""The reason of an error that the API server answers to the request for a websocket."""
PAGE_SIZE = 500

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_DISCOVERY = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)
_APPLY, _MERGE_PATCH = "application/apply-patch+yaml", "application/merge-patch+json"
_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MAX_QUOTED_CHARACTERS = 200
_MAX_WORDS_BYTES = 2000
_UNDECLARED = "failed to create typed patch object"
"""The words about an apply with a field that its schema lacks: code 500 and no reason, so that only they identify it."""


class _Connection:
    """The connection pool and the credentials, which all views of a Client share. Empty until it is opened."""

    def __init__(self) -> None:
        self.opening = asyncio.Lock()
        self.api: Any = None
        self.transports: WeakSet[asyncio.BaseTransport] = WeakSet()
        """Of the connections that have been opened."""
        self.session: aiohttp.ClientSession
        self.credentials: ApiCredentials
        self.base = ""


class Client:
    """A connection pool to the API server of a context of `kubeconfig`; None: $KUBECONFIG, else the ServiceAccount of the pod,
    else ~/.kube/config. Opened by connect(), open() or the first request; the caller closes it.

    `context` is the current one if None. Requests are made as the user `impersonate`, if one is named. With `is_anonymous` only
    the address and the CA are read: requests have no identity, except those of the views that with_token() returns.
    """

    def __init__(
        self,
        kubeconfig: str | None = None,
        *,
        context: str | None = None,
        impersonate: str | None = None,
        is_anonymous: bool = False,
    ) -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._impersonation: Mapping[str, str] = {"Impersonate-User": impersonate} if impersonate else {}
        self._is_anonymous = is_anonymous
        self._token: str | None = None
        self._shared = _Connection()

    @classmethod
    async def connect(
        cls, kubeconfig: str | None = None, *, context: str | None = None, impersonate: str | None = None
    ) -> Self:
        """An open client, without a connection yet. Raises OlmError if there is no usable configuration."""
        client = cls(kubeconfig, context=context, impersonate=impersonate)
        await client.open()
        return client

    def acting_as(self, impersonation: Mapping[str, str]) -> Self:
        """A view of the client that sends these headers, which name another identity, with each request. It has the connections
        of this client, which stays as it is and is the one to close."""
        view = copy.copy(self)
        view._impersonation = impersonation
        return view

    def with_token(self, token: str) -> Self:
        """A view of an anonymous client that sends this bearer token, and nothing else that identifies, with each request. It has
        the connections of this client, which is the one to close. Raises RuntimeError for a client with an identity of its own:
        the API server would prefer its certificate to the token."""
        if not self._is_anonymous:
            raise RuntimeError("the client has an identity of its own")
        view = copy.copy(self)
        view._token = token
        return view

    async def open(self) -> None:
        """Read the configuration, once. Raises OlmError if there is no usable one."""
        async with self._shared.opening:
            if self._shared.api is not None:
                return
            parts = await asyncio.to_thread(load_kubernetes_asyncio)
            configuration: Any = parts.configuration()
            read = load_address if self._is_anonymous else load
            reload = await read(configuration, self._kubeconfig, self._context)
            configuration.connection_pool_maxsize = MAX_CONNECTIONS
            # The CA certificates of many clusters lack the key identifiers that strict verification requires.
            configuration.disable_strict_ssl_verification = True
            choose_proxy(configuration, os.environ)
            self._shared.api = parts.transport(configuration)
            self._shared.session = own_session(self._shared.api, self._shared.transports)
            self._shared.credentials = ApiCredentials(configuration, reload, time.monotonic())
            self._shared.base = configuration.host.rstrip("/")

    @property
    def host(self) -> str:
        """host:port of the API server. Raises RuntimeError before the client is open."""
        if not self._shared.base:
            raise RuntimeError("the client is not open yet")
        return urlsplit(self._shared.base).netloc

    async def close(self) -> None:
        """Close all connections."""
        if self._shared.api is None:
            return
        await self._shared.api.close()
        # One whose request was broken off waits for the TLS close_notify of its peer, and nobody else waits for it.
        for transport in (each for each in self._shared.transports if isinstance(each, asyncio.WriteTransport)):
            transport.abort()
        await asyncio.sleep(0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def bearer_token(self) -> str:
        """The current bearer token of this process, or of the view; "" if it authenticates by client certificate or password. A
        secret."""
        if self._token is not None:
            return self._token
        await self.open()
        kind, _, token = (await self._shared.credentials.headers()).get("Authorization", "").partition(" ")
        return token if kind == "Bearer" else ""

    # --- reading

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object. Raises NotFound."""
        return await self.request("GET", kind.path(namespace, name))

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str | None = None,
        *,
        field_selector: str | None = None,
        metadata_only: bool = False,
        limit: int = PAGE_SIZE,
    ) -> tuple[builtins.list[Object], str]:
        """All objects, read in pages of `limit`, and the resourceVersion of the list. Raises Gone (see pages)."""
        items: builtins.list[Object] = []
        version = ""
        selectors = {"label_selector": label_selector, "field_selector": field_selector}
        pages = self.pages(kind, namespace, metadata_only=metadata_only, limit=limit, **selectors)
        async for page, version in pages:  # noqa: B007 the last page's version counts
            items += page
        return items, version

    async def pages(
        self,
        kind: Kind,
        namespace: str | None = None,
        label_selector: str | None = None,
        *,
        field_selector: str | None = None,
        metadata_only: bool = False,
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[tuple[builtins.list[Object], str]]:
        """(objects, resourceVersion) per page; objects carry apiVersion and kind.

        Raises Gone if the list expired between two pages; limit=0 requests a single page.
        """
        token: str | None = None
        while token != "":
            selectors: Query = {"labelSelector": label_selector, "fieldSelector": field_selector}
            query: Query = {**selectors, "limit": limit or None, "continue": token}
            accept = _METADATA_LIST if metadata_only else None
            page = await self.request("GET", kind.path(namespace), query=query, accept=accept)
            items, version, token = parse_items(page)
            for item in items:
                item["apiVersion"], item["kind"] = kind.api_version, kind.kind
            yield items, version

    async def watch(  # noqa: PLR0913 selectors and options of one request
        self,
        kind: Kind,
        resource_version: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        *,
        field_selector: str | None = None,
        metadata_only: bool = False,
        timeout_seconds: int = 300,
    ) -> AsyncGenerator[Object, None]:
        """Events {"type": ADDED, MODIFIED, DELETED or BOOKMARK, "object": …} after `resource_version`, until the server ends it.

        The first is a bookmark of that version: the server has accepted the watch. Raises Gone if the version is too old,
        Unavailable if the connection is cut, idle for 90 s, or sends something that is not an event.
        """
        query: Query = {
            "watch": 1,
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "timeoutSeconds": timeout_seconds,
        }
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=WATCH_IDLE_TIMEOUT_SECONDS
        )
        accept = _METADATA if metadata_only else "application/json"
        url = self._url(kind.path(namespace), query)
        async with self._open_response("WATCH", url, limits, headers={"Accept": accept}) as response:
            if response.status >= 400:
                await read_body(response)
            names = {"apiVersion": kind.api_version, "kind": kind.kind}
            yield {"type": "BOOKMARK", "object": {**names, "metadata": {"resourceVersion": resource_version}}}
            async for line in lines(response.content.iter_any()):
                event = parse_event(line)
                event["object"].update(names)
                yield event

    async def discover(self) -> Discovery:
        """All kinds that are served; two requests."""
        core, groups = await asyncio.gather(
            self.request("GET", "/api", accept=_DISCOVERY), self.request("GET", "/apis", accept=_DISCOVERY)
        )
        return parse_discovery((core, groups))

    async def version(self) -> str:
        """The API server's gitVersion, such as v1.34.4."""
        return str((await self.request("GET", "/version")).get("gitVersion", ""))

    # --- writing

    async def create(self, kind: Kind, obj: Object, namespace: str | None = None) -> Object:
        """Create an object; `namespace` defaults to the object's. Raises Conflict if the name is taken."""
        namespace = namespace or obj.get("metadata", {}).get("namespace")
        return await self.request("POST", kind.path(namespace), body=obj)

    async def apply(
        self, kind: Kind, obj: Object, manager: str, *, force: bool = True, dry_run: bool = False
    ) -> Object:
        """Server-side apply of the fields in `obj` as `manager`; a resourceVersion in it is a precondition.

        Returns the object after it. Raises Conflict if the precondition fails or, without force, another manager owns a field.
        """
        forced, dry = "true" if force else None, "All" if dry_run else None
        query: Query = {"fieldManager": manager, "force": forced, "dryRun": dry}
        metadata = obj["metadata"]
        path = kind.path(metadata.get("namespace"), metadata["name"])
        return await self.request("PATCH", path, query=query, body=apply_body(obj), content_type=_APPLY)

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        """Server-side apply of `obj["status"]`, forced; metadata.resourceVersion, if present, is a precondition. Raises
        Conflict."""
        metadata = obj["metadata"]
        kept = {key: metadata[key] for key in ("name", "namespace", "resourceVersion", "uid") if metadata.get(key)}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": kept, "status": obj["status"]}
        path = kind.path(metadata.get("namespace"), metadata["name"]) + "/status"
        query: Query = {"fieldManager": manager, "force": "true"}
        return await self.request("PATCH", path, query=query, body=apply_body(body), content_type=_APPLY)

    async def patch(
        self,
        kind: Kind,
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        content_type: str = _MERGE_PATCH,
        subresource: str = "",
    ) -> Object:
        """A merge patch, or another kind of patch (application/json-patch+json), of an object or of its `subresource`."""
        path = kind.path(namespace, name) + (f"/{subresource}" if subresource else "")
        return await self.request("PATCH", path, body=body, content_type=content_type)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object | None:
        """Request the deletion of an object and, in the background, of its dependents. Returns None when it is deleted, else the
        object, which has a deletionTimestamp and waits for its finalizers.

        `uid` and `resource_version` are preconditions: raises Conflict if they differ. Raises NotFound.
        """
        conditions = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {key: value for key, value in conditions.items() if value}
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if preconditions:
            body["preconditions"] = preconditions
        answer = await self.request("DELETE", kind.path(namespace, name), body=body)
        return answer if answer.get("metadata", {}).get("deletionTimestamp") else None

    async def request(  # noqa: PLR0913 the parts of a request
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content_type: str | None = None,
        accept: str | None = None,
        seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> Object:
        """Any request; returns the JSON object of the response ({} if it is empty). `body` is bytes or a JSON value.

        Times out after 5 s without a connection and `seconds` in total. Raises ApiError by the status code.
        """
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_TIMEOUT_SECONDS)
        headers = {"Accept": accept or "application/json"}
        data: bytes | None = None
        if body is not None:
            data = body if isinstance(body, bytes) else orjson.dumps(body)
            headers["Content-Type"] = content_type or "application/json"
        url = self._url(path, query or {})
        async with self._open_response(method, url, limits, headers=headers, data=data) as response:
            raw = await read_body(response)
        return parse_object(raw)

    async def read_text(self, path: str, query: Query) -> str:
        """The text at a path, such as the log of a container. Raises ApiError by the status code."""
        limits = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS, sock_connect=CONNECT_TIMEOUT_SECONDS)
        url, headers = self._url(path, query), {"Accept": "*/*"}
        async with self._open_response("GET", url, limits, headers=headers, data=None) as response:
            return (await read_body(response)).decode(errors="replace")

    @asynccontextmanager
    async def websocket(self, path: str, protocol: str, query: Query) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """A websocket on a path, such as that of a port-forward. Raises ApiError by the status of the handshake."""
        await self.open()
        headers = await self._identity()
        target = {"proxy": self._shared.api.proxy, "proxy_headers": self._shared.api.proxy_headers}
        try:
            async with self._shared.session.ws_connect(
                self._shared.base + self._url(path, query),
                protocols=(protocol,),
                headers=headers,
                server_hostname=self._shared.api.server_hostname,
                **target,
            ) as socket:
                transport = socket._conn.transport if socket._conn is not None else None
                try:
                    yield socket
                finally:  # closing would wait for the TLS close_notify of the peer
                    if transport is not None:
                        transport.abort()
        except aiohttp.WSServerHandshakeError as error:
            raise api_error(error.status, HANDSHAKE_FAILED, f"the API server answered {error.status}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(0, NO_ANSWER, f"no answer from the API server ({type(error).__name__})") from error

    async def _identity(self) -> dict[str, str]:
        """The headers that say who sends a request."""
        if self._token is not None:
            return {"Authorization": f"Bearer {self._token}"}
        return {**self._impersonation, **await self._shared.credentials.headers()}

    def _url(self, path: str, query: Query) -> str:
        encoded = urlencode({key: value for key, value in query.items() if value is not None}, doseq=True)
        return f"{path}?{encoded}" if encoded else path

    @asynccontextmanager
    async def _open_response(
        self, verb: str, url: str, limits: aiohttp.ClientTimeout, *, headers: dict[str, str], data: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response, before its body is read. Errors of aiohttp become Unavailable, also while the body is read."""
        await self.open()
        try:
            response = await self._send(verb, url, limits, headers, data)
            if response.status == 401 and self._token is None:
                response.release()
                await self._shared.credentials.renew()
                response = await self._send(verb, url, limits, headers, data)
            async with response:
                try:
                    yield response
                except BaseException:
                    abort(response)
                    raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"no answer from the API server ({type(error).__name__})"
            raise Unavailable(0, NO_ANSWER, message) from error

    async def _send(
        self, verb: str, url: str, limits: aiohttp.ClientTimeout, headers: dict[str, str], data: bytes | None
    ) -> aiohttp.ClientResponse:
        method = "GET" if verb == "WATCH" else verb
        code = "<error>"
        started = time.monotonic()
        try:
            response = await self._shared.session.request(
                method,
                self._shared.base + url,
                data=io.BytesIO(data) if data is not None and len(data) > WHOLE_BODY_BYTES else data,
                headers={"Accept-Encoding": "identity", **headers, **await self._identity()},
                timeout=limits,
                allow_redirects=False,
                proxy=self._shared.api.proxy,
                proxy_headers=self._shared.api.proxy_headers,
                server_hostname=self._shared.api.server_hostname,
            )
            code = str(response.status)
            return response
        finally:
            metrics.REQUESTS.labels(code, method, self.host).inc()
            metrics.REQUEST_TIME.labels(verb, self.host).observe(time.monotonic() - started)


# --- the wire format


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
        answer = json_depth.loads(raw)
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


def _causes(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return [each if isinstance(each, dict) else {} for each in causes] if isinstance(causes, list) else []


def _field_causes(causes: Iterable[Mapping[str, Any]]) -> Iterator[FieldCause]:
    for each in causes:
        if isinstance(field := each.get("field"), str) and field:
            yield FieldCause(field, str(each.get("message") or ""))


def _parse_status(code: int, phrase: str, raw: bytes) -> ApiError:
    try:
        status = orjson.loads(raw)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        message = status.get("message") or ""
        error = api_error(422 if message.startswith(_UNDECLARED) else code, status.get("reason") or "", message)
        causes = _causes(status)
        error.is_about_fields = bool(causes) and all(each.get("field") for each in causes)
        error.causes = tuple(_field_causes(causes))
        return error
    if isinstance(status, dict) and isinstance(words := status.get("error"), str) and words:
        error = api_error(code, phrase, truncate(words, _MAX_WORDS_BYTES))
        error.is_of_service = True
        return error
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
        event = json_depth.loads(line)
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
