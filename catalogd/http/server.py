"""Serves catalogs over HTTP: the handlers of catalogd.http.routes. Documented in docs/catalogd-http.md.

Runs on every replica, also while the API server is unavailable. Reads only the store of catalogs and the files of
catalogd.http.compression; the path of a request never becomes a path on disk. Errors are JSON: {"error": "..."}.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import Gauge, Histogram

from catalogd.http import openapi
from catalogd.http.bundle_summary_route import SummaryRoute
from catalogd.http.compression import CompressedFile, CompressedFiles
from catalogd.http.conditional_requests import Representation
from catalogd.http.limited_responses import (
    check_selected,
    digest_header,
    entity_tag,
    modified,
    packages_body,
    resolution_body,
    with_selection,
)
from catalogd.http.responses import (
    IDENTITY,
    OpenFiles,
    ResponseBody,
    TruncatedFile,
    accepts_media_type,
    respond,
    safe_icon_headers,
    select_encoding,
)
from catalogd.http.routes import ALL_PATTERN, NO_ICON, PROVIDES_PATTERN, ROUTES, Route
from catalogd.storage.catalog_store import CatalogStore, ServedCatalog, owned
from olmkit.api.names import dns1123_subdomain_errors, is_digest
from olmkit.runtime.listener.application_server import ApplicationServer
from olmkit.runtime.listener.http_errors import RETRY_AFTER_HEADER, HTTPError, json_errors_middleware
from olmkit.runtime.listener.listener import (
    ConnectionLimits,
    connection_limit_middleware,
    connection_tracking_middleware,
    default_max_connections,
)
from olmkit.sources.errors import quoted

REQUEST_DURATION = Histogram(
    "catalogd_http_request_duration_seconds",
    "Duration of requests for catalogs until their last byte.",
    ["code"],
    buckets=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 10.0),
)
REQUESTS_IN_FLIGHT = Gauge("catalogd_http_requests_in_flight", "Requests for catalogs that are being answered.")

errors_middleware = json_errors_middleware(
    "catalogd",
    {
        "Not Found": "no such path; /openapi.json lists the paths",
        "Method Not Allowed": "only GET and HEAD are supported",
    },
)
"""With messages instead of the bare reason phrases of aiohttp's router."""


SHUTDOWN_GRACE_SECONDS = 3.0
"""The time for which requests in progress may continue when the server ends."""

OPEN_CONNECTIONS = Gauge("catalogd_http_connections", "Open connections of clients of catalogs.")

SelectBody = Callable[[ServedCatalog], ResponseBody]


@dataclass(frozen=True)
class _Document:
    """A JSON document that is held in memory."""

    text: bytes
    representation: Representation

    @classmethod
    def of(cls, text: bytes) -> _Document:
        """A document that was modified now."""
        tag = hashlib.sha256(text).hexdigest()[:32]
        return cls(text, Representation(len(text), tag, datetime.now(UTC).replace(microsecond=0)))


class CatalogServer:
    """Serves the catalogs of one store.

    `uid` returns the uid of the Catalog of a name: "" when there is none, None while that is unknown; then everything in the
    store is served. Content of a deleted Catalog is never served under a new one of the same name. `is_leading`: this replica
    fills the store itself; a follower may be asked for a digest that it has not copied yet. `mount` adds more routes
    (replication, PackageManifests). `summaries`: those of bundles; None if there are none.
    """

    def __init__(  # noqa: PLR0913 options of all routes
        self,
        catalog_store: CatalogStore,
        uid: Callable[[str], str | None],
        encodings: CompressedFiles | None = None,
        *,
        is_leading: Callable[[], bool] = lambda: True,
        mount: Callable[[web.Application], None] | None = None,
        limits: ConnectionLimits | None = None,
        summaries: SummaryRoute | None = None,
    ) -> None:
        self._catalog_store = catalog_store
        self._uid = uid
        self._encodings = encodings
        self._is_leading = is_leading
        self._mount = mount
        self._summaries = summaries or SummaryRoute(None)
        self._limits = limits or ConnectionLimits(default_max_connections())
        self._files = OpenFiles()
        self._server: ApplicationServer | None = None
        self._openapi_document = _Document.of(orjson.dumps(openapi.document()))
        self._index_document = _Document.of(orjson.dumps({"paths": [each.path for each in ROUTES]}))
        self._catalogs_document: _Document | None = None

    def application(self, authorize: Middleware | None = None) -> web.Application:
        """The application with all routes; the middleware `authorize` runs before each handler."""
        authorization = () if authorize is None else (authorize,)
        application = web.Application(
            middlewares=[
                connection_tracking_middleware,
                metrics_middleware,
                errors_middleware,
                *authorization,
                connection_limit_middleware,
            ]
        )
        application.on_response_prepare.append(_set_server_header)
        handlers = {
            "getIndex": self._index,
            "getCatalogs": self._catalogs,
            "getCatalogFile": self._all,
            "getAll": self._all,
            "getMetas": self._metas,
            "getPackages": self._packages,
            "getIcon": self._icon,
            "getBundleSummary": self._bundle_summary,
            "getResolution": self._resolution,
            "getOpenAPI": self._openapi,
        }
        for route in ROUTES:
            handler = _bind(route, handlers[route.operation])
            application.router.add_get(route.path, handler, expect_handler=_ignore_expect)
        if self._mount is not None:
            self._mount(application)
        return application

    async def start(
        self, address: str, ssl_context: ssl.SSLContext | None = None, authorize: Middleware | None = None
    ) -> int:
        """Listen on `host:port`, with TLS if there is a context; returns the port. Raises OlmError when it cannot listen."""
        self._server = ApplicationServer(
            "catalogs",
            self.application(authorize),
            self._limits,
            shutdown_grace_seconds=SHUTDOWN_GRACE_SECONDS,
            ssl_context=ssl_context,
            on_connection_count=OPEN_CONNECTIONS.set,
        )
        return await self._server.start(address)

    async def close(self) -> None:
        """Accept no more requests, and wait up to SHUTDOWN_GRACE_SECONDS for those in progress."""
        if self._server is not None:
            await self._server.close()

    # --- handlers

    async def _all(self, request: web.Request, route: Route) -> web.StreamResponse:
        _parameters(request, route)
        return await self._send(request, route, lambda served: _whole(served, route))

    async def _metas(self, request: web.Request, route: Route) -> web.StreamResponse:
        parameters = _parameters(request, route)
        filters = {name: value for name, value in parameters.items() if name != "digest" and value}

        def body(served: ServedCatalog) -> ResponseBody:
            if not filters:
                return _whole(served, route)
            index = served.content.index
            return ResponseBody(
                served.content, served.content.blobs_path, index.byte_ranges(index.find(**filters)), route.media_type
            )

        return await self._send(request, route, body)

    async def _packages(self, request: web.Request, route: Route) -> web.StreamResponse:
        _parameters(request, route)
        return await self._send(request, route, lambda served: packages_body(served, route))

    async def _icon(self, request: web.Request, route: Route) -> web.StreamResponse:
        _parameters(request, route)
        package = request.match_info["package"]

        def body(served: ServedCatalog) -> ResponseBody:
            check_selected(served, package)
            found = served.content.icon_range(package)
            if found is None:
                raise HTTPError(404, NO_ICON, digest_header(served))
            byte_range, media_type = found
            media_type, headers = safe_icon_headers(media_type)
            return ResponseBody(served.content, served.content.icons_path, [byte_range], media_type, headers=headers)

        return await self._send(request, route, body)

    async def _resolution(self, request: web.Request, route: Route) -> web.StreamResponse:
        """Sends one document if only `package` is given, otherwise one document per line."""
        parameters = _parameters(request, route)
        return await self._send(request, route, lambda served: resolution_body(served, route, parameters))

    async def _bundle_summary(self, request: web.Request, route: Route) -> web.StreamResponse:
        package = _parameters(request, route).get("package", "")
        _check_acceptable(request, route.media_type)
        served, is_leading = self._served(request), self._is_leading()
        return await self._of_content(served, self._summaries.respond(request, served, package, is_leading=is_leading))

    async def bundle_summary_for_replica(self, request: web.Request) -> web.StreamResponse:
        """Answer another replica, which does not lead."""
        if not self._is_leading():
            raise HTTPError(503, "this replica does not lead", RETRY_AFTER_HEADER)
        served = self._served(request)
        return await self._of_content(served, self._summaries.respond_to_replica(request, served))

    async def _of_content(self, served: ServedCatalog, response: Awaitable[web.StreamResponse]) -> web.StreamResponse:
        """The response, or 503 if the content is gone."""
        try:
            return await response
        except FileNotFoundError:
            await self._catalog_store.report_damage(served.record.digest)
            raise _unavailable() from None

    async def _openapi(self, request: web.Request, route: Route) -> web.StreamResponse:
        return await self._send_document(request, route, self._openapi_document)

    async def _index(self, request: web.Request, route: Route) -> web.StreamResponse:
        return await self._send_document(request, route, self._index_document)

    async def _catalogs(self, request: web.Request, route: Route) -> web.StreamResponse:
        """The list counts as modified when a request first finds it changed."""
        text = orjson.dumps(self._list_catalogs())
        if self._catalogs_document is None or self._catalogs_document.text != text:
            self._catalogs_document = _Document.of(text)
        return await self._send_document(request, route, self._catalogs_document)

    def _list_catalogs(self) -> object:
        served = self._catalog_store.owned(self._uid)
        return {"catalogs": [{"name": name, "digest": each.record.digest} for name, each in served.items()]}

    async def _send_document(self, request: web.Request, route: Route, document: _Document) -> web.StreamResponse:
        _parameters(request, route)
        _check_acceptable(request, route.media_type)
        body = ResponseBody(self, None, [(0, len(document.text))], route.media_type)
        return await respond(request, document.representation, body, document.text)

    # --- from the store to a response

    async def _send(self, request: web.Request, route: Route, select_body: SelectBody) -> web.StreamResponse:
        """Send a response; if the content is replaced and removed before its file is opened, try again with the new content."""
        served = self._served(request)
        try:
            return await self._respond(request, route, served, select_body(served))
        except FileNotFoundError:
            await self._catalog_store.report_damage(served.record.digest)
        served = self._served(request)
        try:
            # Uncompressed: the missing file may be the compressed one.
            return await self._respond(request, route, served, replace(select_body(served), is_whole=False))
        except FileNotFoundError:
            raise _unavailable() from None

    async def _respond(
        self, request: web.Request, route: Route, served: ServedCatalog, body: ResponseBody
    ) -> web.StreamResponse:
        _check_acceptable(request, body.media_type)
        digest = served.record.digest
        headers = {**body.headers, **digest_header(served)}
        if route.is_encoded:
            headers["Vary"] = "Accept-Encoding"
        body = replace(self._encode(request, digest, body), headers=headers)
        representation = Representation(body.size, entity_tag(digest, body.tag), modified(served.record, route))
        with self._files.open(body) as file:
            try:
                return await respond(request, representation, body, file)
            except TruncatedFile as error:
                await self._catalog_store.report_damage(digest)
                if error.headers_sent:  # the client must not take the truncated body for the whole one
                    raise ConnectionResetError("the content on disk is truncated") from None
                raise _unavailable() from None

    def _encode(self, request: web.Request, digest: str, body: ResponseBody) -> ResponseBody:
        """The body in the best encoding that the client accepts. Raises HTTPError(406)."""
        compressed: Mapping[str, CompressedFile] = {}
        if self._encodings is not None and body.path is not None and body.is_whole:
            compressed = self._encodings.find(digest, body.path.name)
        accepted = request.headers.getall("Accept-Encoding", [])
        encoding = select_encoding(",".join(accepted) if accepted else None, tuple(compressed))
        if encoding is None:
            offered = ", ".join((*compressed, IDENTITY))
            raise HTTPError(
                406, f"Accept-Encoding excludes all available encodings: {offered}", {"Vary": "Accept-Encoding"}
            )
        if encoding == IDENTITY:
            return body
        file = compressed[encoding]
        return ResponseBody(file, file.path, [(0, file.size)], body.media_type, encoding, f"-{encoding}-{file.tag}")

    def _served(self, request: web.Request) -> ServedCatalog:
        name = request.match_info["catalog"]
        served = self._catalog_store.get(name)
        if served is None and (errors := dns1123_subdomain_errors(name)):
            raise HTTPError(400, f"invalid catalog name: {'; '.join(errors)}")
        uid = self._uid(name)
        is_expected = name in self._catalog_store.pending_names
        if uid == "" or (uid is None and served is None and not is_expected):
            raise HTTPError(404, "no such catalog")
        served = owned(served, uid)
        if served is None:
            raise _unavailable()
        digest = request.query.get("digest")
        if digest is None or digest == served.record.digest:
            return served
        found = owned(self._catalog_store.find(name, digest), uid)
        if found is not None:
            return with_selection(found, served.record)
        if not self._is_leading():
            raise HTTPError(503, "this replica does not have this content of the catalog (yet)", RETRY_AFTER_HEADER)
        message = "the catalog does not have this content; replaced content is available for 10 minutes"
        raise HTTPError(404, message)


def _unavailable() -> HTTPError:
    message = "the catalog is not served: it was not loaded yet, cannot be loaded, or its availability is Unavailable"
    return HTTPError(503, message, RETRY_AFTER_HEADER)


def _whole(served: ServedCatalog, route: Route) -> ResponseBody:
    everything = [(0, served.content.index.size)]
    return ResponseBody(served.content, served.content.blobs_path, everything, route.media_type, is_whole=True)


def _parameters(request: web.Request, route: Route) -> dict[str, str]:
    """Query parameters, each at most once. Raises HTTPError(400)."""
    known = route.query
    found: dict[str, str] = {}
    for name, value in request.query.items():
        if name not in known:
            hint = f"known are {', '.join(known)}" if known else "there are none"
            raise HTTPError(400, f"unknown query parameter {quoted(name)}; {hint}")
        if name in found:
            raise HTTPError(400, f"{name} is given more than once")
        found[name] = value
    for parameter in route.parameters:
        if parameter.is_required and not found.get(parameter.name):
            raise HTTPError(400, f"the parameter {parameter.name} is required: ?{parameter.name}=<name>")
    if not re.search(ALL_PATTERN, found.get("all", "")):
        raise HTTPError(400, "all must be true or false")
    if not re.search(PROVIDES_PATTERN, found.get("provides", "")):
        raise HTTPError(400, "provides must be <group>/<kind>, such as cert-manager.io/Certificate")
    if "digest" in found and not is_digest(found["digest"]):
        raise HTTPError(400, "digest must be sha256:<64 hex digits>")
    return found


def _check_acceptable(request: web.Request, media_type: str) -> None:
    accepted = request.headers.getall("Accept", [])
    if not accepts_media_type(",".join(accepted) if accepted else None, media_type):
        raise HTTPError(406, f"Accept excludes the media type of this response: {media_type}")


def _bind(route: Route, handler: Callable[[web.Request, Route], Awaitable[web.StreamResponse]]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return await handler(request, route)

    return handle


async def _set_server_header(_: web.Request, response: web.StreamResponse) -> None:
    """Hide the versions of Python and aiohttp."""
    response.headers["Server"] = "catalogd"


async def _ignore_expect(request: web.Request) -> web.StreamResponse | None:
    """Answer a request with `Expect: 100-continue` at once: its body is not read anyway."""
    return None


@web.middleware
async def metrics_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count requests and measure their duration."""
    started = time.monotonic()
    code = "500"
    REQUESTS_IN_FLIGHT.inc()
    try:
        response = await handler(request)
        code = str(response.status)
    except (asyncio.CancelledError, ConnectionError):
        code = "499"  # the client disconnected
        raise
    finally:
        REQUESTS_IN_FLIGHT.dec()
        REQUEST_DURATION.labels(code).observe(time.monotonic() - started)
    return response
