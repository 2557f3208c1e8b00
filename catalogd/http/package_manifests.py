"""Serves the catalogs as PackageManifests, as OLM v0's packageserver does: for consoles that know these paths, and for
`kubectl get packagemanifests`, as an aggregated API of the API server (config/packagemanifests).

A response is made of a few names and of ranges of the file that catalogd.ingest.package_manifests writes: nothing is parsed, and
memory does not grow with the catalog. A namespace is only echoed, because Catalogs are cluster-scoped. Errors are Status objects
of the Kubernetes API. Writes nothing; there is no watch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from catalogd.http.conditional_requests import Representation, evaluate_preconditions
from catalogd.http.limited_responses import entity_tag
from catalogd.http.responses import (
    OpenFiles,
    ResponseBody,
    TruncatedFile,
    conditional_headers,
    read_ranges,
    respond,
    safe_icon_headers,
)
from catalogd.ingest.content import ByteRange
from catalogd.storage.catalog_store import CatalogStore, ServedCatalog
from olmkit.api.package_manifests import GROUP, KIND, PLURAL, VERSION
from olmkit.gocompat.label_selectors import BadSelector, Selector
from olmkit.runtime.listener.http_errors import RETRY_AFTER_HEADER

API_VERSION = f"{GROUP}/{VERSION}"
WRITE_BYTES = 128 * 1024
"""Bytes that are read and written at a time."""
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_BASE = f"/apis/{GROUP}/{VERSION}"
_JSON = "application/json"
_COLUMNS = (
    ("Name", "string", "name", "Name of the package."),
    ("Catalog", "string", "", "Catalog that offers it."),
    ("Age", "date", "", "Since when this content is served."),
)


@dataclass(frozen=True)
class CatalogFacts:
    """The facts about a Catalog that are not part of its content."""

    priority: int = 0
    display_name: str = ""
    publisher: str = ""


@dataclass(frozen=True)
class _Item:
    """A package of a catalog, in a namespace."""

    catalog: str
    package: str
    namespace: str
    facts: CatalogFacts
    served: ServedCatalog
    status: ByteRange

    @property
    def labels(self) -> dict[str, str]:
        """The labels that consoles and people select by."""
        return {"catalog": self.catalog, "catalog-namespace": self.namespace}

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the object."""
        created = datetime.fromisoformat(self.served.record.unpacked).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "name": self.package,
            "namespace": self.namespace,
            "labels": self.labels,
            "creationTimestamp": created,
        }

    def start(self) -> bytes:
        """The object up to its status from the content, which follows without its first brace."""
        source = {
            "catalogSource": self.catalog,
            "catalogSourceDisplayName": self.facts.display_name or self.catalog,
            "catalogSourcePublisher": self.facts.publisher,
            "catalogSourceNamespace": self.namespace,
        }
        whole = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": self.metadata,
            "spec": {},
            "status": source,
        }
        return orjson.dumps(whole)[:-2] + b","

    def table_row(self) -> bytes:
        """The row of a Table."""
        metadata = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": self.metadata}
        cells = [self.package, self.catalog, self.metadata["creationTimestamp"]]
        return orjson.dumps({"cells": cells, "object": metadata})


_Part = bytes | tuple[ServedCatalog, ByteRange]
"""Bytes, or a range of the manifests of a catalog."""


class PackageManifestRoutes:
    """`uid` returns the uid of a Catalog, as for CatalogServer; `facts` its facts. `namespace` is that of the objects in the list
    of all namespaces."""

    def __init__(
        self,
        catalog_store: CatalogStore,
        uid: Callable[[str], str | None],
        facts: Callable[[str], CatalogFacts],
        namespace: str,
    ) -> None:
        self._catalog_store, self._uid, self._facts, self._namespace = catalog_store, uid, facts, namespace
        self._files = OpenFiles()

    def add_routes(self, application: web.Application) -> None:
        """Add the paths: for GET and HEAD."""
        resources = f"{_BASE}/{PLURAL}"
        of_namespace = f"{_BASE}/namespaces/{{namespace}}/{PLURAL}"
        for path, handler in (
            ("/apis", self._document(_group_list())),
            (f"/apis/{GROUP}", self._document(_group())),
            (_BASE, self._document(_resource_list())),
            (resources, self._list),
            (of_namespace, self._list),
            (f"{of_namespace}/{{package}}", self._get),
            (f"{of_namespace}/{{package}}/icon", self._icon),
        ):
            application.router.add_get(path, handler)

    def _document(self, value: Mapping[str, Any]) -> Handler:
        text = orjson.dumps(value)

        async def handle(request: web.Request) -> web.StreamResponse:
            return web.Response(body=text, content_type=_JSON)

        return handle

    async def _list(self, request: web.Request) -> web.StreamResponse:
        namespace = request.match_info.get("namespace", self._namespace)
        if refusal := _refusal(request, namespace):
            return refusal
        try:
            selector = Selector.parse(request.query.get("labelSelector", ""))
            fields = _field_selector(request.query.get("fieldSelector", ""))
        except BadSelector as error:
            return status(400, "BadRequest", str(error))
        items = [
            each
            for each in self._items(namespace)
            if selector.matches(each.labels)
            and fields.get("metadata.name", each.package) == each.package
            and fields.get("metadata.namespace", namespace) == namespace
        ]
        is_table = _wants_table(request)
        return await self._send(request, items, _table(items) if is_table else _object_list(items), is_table=is_table)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        item = self._find(request)
        if isinstance(item, web.Response):
            return item
        is_table = _wants_table(request)
        parts = _table([item]) if is_table else _object(item)
        return await self._send(request, [item], parts, is_table=is_table)

    async def _icon(self, request: web.Request) -> web.StreamResponse:
        """The icon. Query parameters such as resourceVersion, which some clients send, count for nothing."""
        item = self._find(request)
        if isinstance(item, web.Response):
            return item
        content, record = item.served.content, item.served.record
        found = content.icon_range(item.package)
        if found is None:
            return status(404, "NotFound", f'{PLURAL}.{GROUP} "{item.package}" has no icon')
        media_type, headers = safe_icon_headers(found[1])
        body = ResponseBody(content, content.icons_path, [found[0]], media_type, headers=headers)
        tag = f".{found[0][0]}"
        representation = Representation(body.size, entity_tag(record.digest, tag), _modified([item]))
        try:
            with self._files.open(body) as file:
                return await respond(request, representation, body, file)
        except (FileNotFoundError, TruncatedFile) as error:
            return await self._damaged(item.served, error)

    def _find(self, request: web.Request) -> _Item | web.Response:
        """The package of the path: of the catalog with the highest priority that offers it; or the response that refuses it."""
        namespace, package = request.match_info["namespace"], request.match_info["package"]
        if refusal := _refusal(request, namespace):
            return refusal
        found = [each for each in self._items(namespace, package)]
        if not found:
            return status(404, "NotFound", f'{PLURAL}.{GROUP} "{package}" not found')
        return min(found, key=lambda each: (-each.facts.priority, each.catalog))

    def _items(self, namespace: str, package: str | None = None) -> Iterator[_Item]:
        """The packages that the Catalogs offer, or the one of this name, sorted by name, then by catalog."""
        found = []
        for catalog, served in self._catalog_store.owned(self._uid).items():
            ranges, facts = served.content.manifest_ranges, self._facts(catalog)
            names: Iterable[str] = ranges if package is None else {package} & ranges.keys()
            found += [
                _Item(catalog, name, namespace, facts, served, ranges[name])
                for name in names
                if served.record.offers(name)
            ]
        return iter(sorted(found, key=lambda each: (each.package, each.catalog)))

    async def _send(
        self, request: web.Request, items: Sequence[_Item], parts: Iterable[_Part], *, is_table: bool
    ) -> web.StreamResponse:
        """Send the parts, unless the client has them: the entity tag names all that they are made of."""
        pieces = list(parts)
        size = sum(len(each) if isinstance(each, bytes) else each[1][1] for each in pieces)
        tag = hashlib.sha256(b"table" if is_table else b"objects")
        for each in pieces:
            tag.update(each if isinstance(each, bytes) else f"\0{each[0].record.digest} {each[1]}\0".encode())
        representation = Representation(size, tag.hexdigest()[:32], _modified(items))
        headers = {"ETag": f'"{representation.etag}"', "Cache-Control": "no-cache", "Vary": "Accept"}
        conditions = {name: text for name, text in conditional_headers(request).items() if name != "Range"}
        result = evaluate_preconditions(request.method, conditions, representation)
        if result.status != 200:
            if result.status == 304:
                return web.Response(status=304, headers=headers)
            return status(412, "PreconditionFailed", "a precondition of the request is not satisfied")
        response = web.StreamResponse(headers=headers)
        response.content_type, response.content_length = _JSON, size
        if request.method != "GET":
            await response.prepare(request)
            return response
        return await self._stream(request, response, pieces)

    async def _stream(
        self, request: web.Request, response: web.StreamResponse, pieces: Sequence[_Part]
    ) -> web.StreamResponse:
        """Write the pieces. All files are opened before, so that content that is missing is an error and no cut response."""
        catalogs = {id(each[0]): each[0] for each in pieces if not isinstance(each, bytes)}
        with ExitStack() as stack:
            files: dict[int, int] = {}
            for key, served in catalogs.items():
                body = ResponseBody(served.content, served.content.manifests_path, [], _JSON)
                try:
                    files[key] = stack.enter_context(self._files.open(body))
                except FileNotFoundError as error:
                    return await self._damaged(served, error)
            await response.prepare(request)
            held: list[bytes | bytearray] = []
            for each in pieces:
                if isinstance(each, bytes):
                    held.append(each)
                else:
                    try:
                        held += [await read_ranges(files[id(each[0])], [part]) for part in _split(each[1])]
                    except TruncatedFile:
                        await self._catalog_store.report_damage(each[0].record.digest)
                        raise ConnectionResetError("the content on disk is truncated") from None
                if sum(map(len, held)) >= WRITE_BYTES:
                    await response.write(b"".join(held))
                    held.clear()
            await response.write(b"".join(held))
            await response.write_eof()
        return response

    async def _damaged(self, served: ServedCatalog, error: Exception) -> web.Response:
        await self._catalog_store.report_damage(served.record.digest)
        if isinstance(error, TruncatedFile) and error.headers_sent:
            raise ConnectionResetError("the content on disk is truncated") from None
        return status(503, "ServiceUnavailable", "the content is being read again", RETRY_AFTER_HEADER)


def status(code: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error as the Kubernetes API has it."""
    value = {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return web.Response(body=orjson.dumps(value), status=code, headers=headers, content_type=_JSON)


def _refusal(request: web.Request, namespace: str) -> web.Response | None:
    """The response to a request that no content could satisfy."""
    if not _NAMESPACE.fullmatch(namespace):
        return status(400, "BadRequest", "the namespace in the path is no name of a namespace")
    if request.query.get("watch", "false") not in ("false", "0", ""):
        return status(405, "MethodNotAllowed", f"{PLURAL} cannot be watched: get or list them")
    return None


def _field_selector(text: str) -> dict[str, str]:
    """The values by field. Raises BadSelector for anything but equality of the name or the namespace."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        field, _, value = part.replace("==", "=", 1).partition("=")
        if field not in ("metadata.name", "metadata.namespace") or not value:
            raise BadSelector("fields can be selected by metadata.name=<name> and metadata.namespace=<name> only")
        found[field] = value
    return found


def _wants_table(request: web.Request) -> bool:
    """Report whether the first member of Accept that can be satisfied is a Table."""
    for member in ",".join(request.headers.getall("Accept", [])).lower().split(","):
        media_type, *parameters = (part.strip() for part in member.split(";"))
        if "as=table" in parameters and "g=meta.k8s.io" in parameters and "v=v1" in parameters:
            return True
        if media_type in (_JSON, "*/*", "application/*") and not any(part.startswith("as=") for part in parameters):
            return False
    return False


def _object(item: _Item) -> list[_Part]:
    start, length = item.status
    return [item.start(), (item.served, (start + 1, length - 1)), b"}"]


def _object_list(items: Sequence[_Item]) -> Iterator[_Part]:
    head = {"apiVersion": API_VERSION, "kind": f"{KIND}List", "metadata": {}, "items": []}
    yield orjson.dumps(head)[:-2]
    for number, item in enumerate(items):
        first, *rest = _object(item)
        assert isinstance(first, bytes)
        yield b"," + first if number else first
        yield from rest
    yield b"]}"


def _table(items: Sequence[_Item]) -> Iterator[bytes]:
    columns = [
        {"name": name, "type": kind, "format": form, "description": text, "priority": 0}
        for name, kind, form, text in _COLUMNS
    ]
    head = {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "Table",
        "metadata": {},
        "columnDefinitions": columns,
        "rows": [],
    }
    yield orjson.dumps(head)[:-2]
    yield b",".join(each.table_row() for each in items)
    yield b"]}"


def _split(whole: ByteRange) -> Iterator[ByteRange]:
    start, length = whole
    for at in range(0, length, WRITE_BYTES):
        yield start + at, min(WRITE_BYTES, length - at)


def _modified(items: Iterable[_Item]) -> datetime:
    """The time at which the newest content of these was unpacked."""
    times = (datetime.fromisoformat(each.served.record.unpacked).astimezone(UTC) for each in items)
    return max(times, default=datetime.fromtimestamp(0, UTC)).replace(microsecond=0)


def _group() -> dict[str, Any]:
    version = {"groupVersion": API_VERSION, "version": VERSION}
    return {"apiVersion": "v1", "kind": "APIGroup", "name": GROUP, "versions": [version], "preferredVersion": version}


def _group_list() -> dict[str, Any]:
    group = {name: value for name, value in _group().items() if name not in ("apiVersion", "kind")}
    return {"apiVersion": "v1", "kind": "APIGroupList", "groups": [group]}


def _resource_list() -> dict[str, Any]:
    common = {"namespaced": True, "kind": KIND}
    return {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": API_VERSION,
        "resources": [
            {
                "name": PLURAL,
                "singularName": "packagemanifest",
                **common,
                "verbs": ["get", "list"],
                "categories": ["olm"],
            },
            {"name": f"{PLURAL}/icon", "singularName": "", "namespaced": True, "kind": "Icon", "verbs": ["get"]},
        ],
    }
