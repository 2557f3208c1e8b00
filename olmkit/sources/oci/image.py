"""Images: `resolve` turns a reference into a digest, `fetch` downloads the layers, `unpack` writes their files; `pull` does both.

Called in job children (olmkit.jobs) of catalogd and rukpak, and by `olm`. It blocks on disk and on decompression, so a controller
must not call it in its event loop. Nothing of an image is executed, and no byte is used before its digest is verified. Only
`unpack` parses layers. It needs no network: jobs call it in a process that has none.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from yarl import URL

from olmkit.api.names import is_digest
from olmkit.errors import Waiting
from olmkit.sources.content_limits import CATALOG_LIMITS, ContentLimits
from olmkit.sources.credentials import split_port
from olmkit.sources.errors import RETRY_DELAY, BadContent, ImageNotFound, SourceReason, quoted, unavailable
from olmkit.sources.network import Endpoint
from olmkit.sources.oci import layers, manifests
from olmkit.sources.oci.authorization import DENIED_STATUSES, Authorization
from olmkit.sources.oci.manifests import ACCEPT_HEADER, Descriptor, InvalidManifest, Manifest
from olmkit.sources.oci.reference import Reference, parse
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.source import without_dots
from olmkit.sources.transport import Body, HttpResponse, NoResponse, Transport
from olmkit.sources.tree import Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage
from olmkit.store.disk_errors import UNPACKED_CONTENT, disk_errors_as_waiting

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES = 256 * 1024


__all__ = [
    "Endpoints",
    "FetchedImage",
    "FromLabel",
    "PulledImage",
    "ResolvedImage",
    "endpoints_of",
    "fetch",
    "labels",
    "pull",
    "resolve",
    "unpack",
]

Value = TypeVar("Value")
MEGABYTE = 1_000_000
MAX_MANIFEST_BYTES = 4 * 1024**2
MAX_TAG_PAGES, TAGS_PER_PAGE = 50, 1000


_NOT_FOUND_ADVICE = ": correct the reference, or push the image"
WITHOUT_REFERRERS = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_ACCEPTABLE}
)
"""The statuses of registries without the API of referrers."""


@dataclass(frozen=True)
class ResolvedImage:
    """`ref_by_digest` is the name as in the spec, plus @digest; `digest` is that of the manifest or index."""

    ref_by_digest: str
    digest: str


@dataclass(frozen=True)
class PulledImage:
    """A pulled image. `root` is the first selected path, relative to the destination; "" for the whole image."""

    ref_by_digest: str
    digest: str
    labels: Mapping[str, str]
    root: str
    files: int
    bytes: int


@dataclass(frozen=True)
class _FoundImage:
    """An image: its reference by digest, and its manifest and labels."""

    ref: str
    digest: str
    manifest: Manifest
    labels: Mapping[str, str]


@dataclass(frozen=True)
class FetchedImage:
    """An image whose layers are downloaded, verified and not parsed yet: one after the other in `blob`, a file without a name."""

    ref: str
    digest: str
    labels: Mapping[str, str]
    selection: tuple[str, ...]
    """The paths to unpack; "" for the whole image."""
    sizes: tuple[int, ...]
    """The compressed sizes of the layers, in bytes."""
    blob: IO[bytes]

    def facts(self) -> dict[str, Any]:
        """All fields but the file, as JSON."""
        return {
            "ref": self.ref,
            "digest": self.digest,
            "labels": dict(self.labels),
            "selection": list(self.selection),
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], blob: IO[bytes]) -> FetchedImage:
        """The inverse of facts()."""
        selection, sizes = tuple(facts["selection"]), tuple(facts["sizes"])
        return cls(facts["ref"], facts["digest"], facts["labels"], selection, sizes, blob)


@dataclass(frozen=True)
class FromLabel:
    """Selects the path that a label of the image names, as catalog images have one."""

    name: str
    advice: Mapping[str, str] = field(default_factory=dict)
    """The end of the error about an image without the label, by another label that it has; "" for every other image."""

    def missing(self, ref: str, labels: Mapping[str, str]) -> str:
        """The error about an image without the label."""
        advice = next((text for label, text in self.advice.items() if not label or label in labels), "")
        return f'catalog image "{ref}" is missing the required label "{self.name}"{advice and f": {advice}"}'


@dataclass(frozen=True)
class AnyChart:
    """Selects everything of an image that contains a Helm chart, or of a chart that is an artifact."""


async def resolve(ref: str, registries: Registries) -> ResolvedImage:
    """Resolve a tag to a digest at the registry. A reference by digest needs no request.

    Raises BadReference, Waiting (ImageNotFound among them).
    """
    reference = parse(ref)
    digest = reference.digest or await request_digest(ref, registries)
    return ResolvedImage(reference.by_digest(digest), digest)


@asynccontextmanager
async def endpoints_of(reference: Reference, registries: Registries) -> AsyncIterator[Endpoints]:
    """The registries of an image, with the connections that they share. Raises Blocked."""
    async with Transport(registries) as transport:
        yield Endpoints(transport, registries, reference)


async def request_digest(ref: str, registries: Registries) -> str:
    """The digest that the registry has for a reference, also for one by digest. Raises BadReference, Waiting."""
    reference = parse(ref)
    async with Transport(registries) as transport:
        source = Endpoints(transport, registries, reference)
        return await source.first(lambda registry: registry.digest(reference.version))


async def tags(name: str, registries: Registries) -> list[str]:
    """The tags of a repository. Raises BadReference, Waiting."""
    async with Transport(registries) as transport:
        return await Endpoints(transport, registries, parse(name)).first(lambda registry: registry.tags())


async def verify_access(ref: str, registries: Registries) -> None:
    """Verify that these credentials may read the image: the registry has to return the manifest of `ref`, a reference by digest.

    The bytes of the manifest are hashed, because a digest in a header proves nothing. Raises BadReference, Waiting.
    """
    reference = parse(ref)
    async with Transport(registries) as transport:
        await Endpoints(transport, registries, reference).first(lambda registry: registry.manifest(reference.version))


async def labels(ref: str, registries: Registries) -> Mapping[str, str]:
    """The labels of the image. No layer is fetched. Raises BadReference, BadContent, Waiting."""
    async with Transport(registries) as transport:
        return (await Endpoints(transport, registries, parse(ref)).find()).labels


async def pull(
    ref: str,
    into: Path | TreeStorage,
    registries: Registries,
    *,
    only: str | Sequence[str] | FromLabel | None = None,
    limits: ContentLimits = CATALOG_LIMITS,
    progress: Callable[[str], None] = lambda line: None,
) -> PulledImage:
    """Unpack an image below `into`, an empty directory or a storage; files keep their paths within the image.

    `only` selects paths; the others are skipped, but count for the limits. Symbolic links become hard links to their targets.
    Raises BadReference, BadContent (`ref` names the image by digest), Waiting. After an error `into` is incomplete.
    """
    directory = into if isinstance(into, Path) else into.directory
    fetched = await fetch(ref, directory, registries, only=only, limits=limits, progress=progress)
    with fetched.blob:
        return unpack(fetched, into, limits, progress)


async def fetch(
    ref: str,
    directory: Path,
    registries: Registries,
    *,
    only: str | Sequence[str] | FromLabel | AnyChart | None = None,
    limits: ContentLimits = CATALOG_LIMITS,
    progress: Callable[[str], None] = lambda line: None,
) -> FetchedImage:
    """The layers of an image in a file without a name in `directory`, which the caller closes; `only` as in pull().

    Raises BadReference, BadContent, Waiting.
    """
    reference = parse(ref)
    async with Transport(registries) as transport:
        source = Endpoints(transport, registries, reference)
        progress("reading the manifest")
        found = await source.find(is_chart_wanted=isinstance(only, AnyChart))
        selection, sizes = _selected_paths(found, only), tuple(layer.size for layer in found.manifest.layers)
        if sum(sizes) > limits.bytes:
            words = f"is {sum(sizes):,} bytes compressed; at most {limits.bytes:,} are read"
            raise _content_error(found.ref, SourceReason.TOO_LARGE, words)
        with disk_errors_as_waiting(UNPACKED_CONTENT):
            blob = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  the caller closes it
            try:
                await _fetch_layers(source, found, blob, progress)
            except BaseException:
                blob.close()
                raise
    return FetchedImage(found.ref, found.digest, found.labels, selection, sizes, blob)


def unpack(
    fetched: FetchedImage, into: Path | TreeStorage, limits: ContentLimits, progress: Callable[[str], None]
) -> PulledImage:
    """The files of a fetched image below `into`, an empty directory, or in a storage. Raises BadContent, Waiting(DiskFull)."""
    tree = Tree(into, fetched.selection, limits)
    budget = layers.Budget(limits.bytes, limits.files)
    try:
        with disk_errors_as_waiting(UNPACKED_CONTENT):
            for number, layer in enumerate(sections(fetched.blob, fetched.sizes), start=1):
                tree.layer = number
                progress(f"unpacking layer {number} of {len(fetched.sizes)}")
                layers.unpack(layer, tree, budget)
            tree.finish()
    except TreeError as error:
        where = f"layer {error.layer or tree.layer} of image {fetched.ref}"
        raise BadContent(error.reason, f"{where} {error.detail}", fetched.ref) from error
    if words := tree.missing_content():
        raise _content_error(fetched.ref, SourceReason.MISSING_CONTENT, words)
    return PulledImage(fetched.ref, fetched.digest, fetched.labels, fetched.selection[0], tree.files, tree.size)


class Endpoints:
    """The registries that an image may come from, mirrors first."""

    def __init__(self, transport: Transport, registries: Registries, reference: Reference) -> None:
        endpoints = registries.endpoints(reference)
        checked = not (endpoints[0].configured or registries.is_configured(endpoints[0].host))
        if len(endpoints) == 1 and checked:  # another mirror may succeed later
            host, port = split_port(endpoints[0].host)
            registries.addresses.check_literal(host, port or 443, endpoints[0].display_name)
        self._registries = [RegistryClient(transport, registries, each, reference) for each in endpoints]
        self._reference = reference

    async def first(self, request: Callable[[RegistryClient], Awaitable[Value]]) -> Value:
        """The first result. When all fail, the error of the last registry is raised, with the messages of all."""
        failures: list[Waiting] = []
        for registry in list(self._registries):
            try:
                answer = await request(registry)
            except Waiting as error:
                failures.append(error)
                continue
            # Later requests are sent to this registry first.
            self._registries.remove(registry)
            self._registries.insert(0, registry)
            return answer
        last = failures[-1]
        advice = _NOT_FOUND_ADVICE if isinstance(last, ImageNotFound) else ""
        last.message = "; ".join(dict.fromkeys(error.message for error in failures)) + advice
        raise last

    async def _if_found(self, request: Callable[[RegistryClient], Awaitable[Value]]) -> Value | None:
        """The first result; None if every registry answers that there is none (404). Raises the error of one that cannot say."""
        failures: list[Waiting] = []
        for registry in self._registries:
            try:
                return await request(registry)
            except ImageNotFound:
                continue
            except Waiting as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return None

    async def manifest(self, version: str) -> bytes | None:
        """The bytes of another manifest of the repository, by tag or digest; None if there is none. Raises Waiting."""
        found = await self._if_found(lambda registry: registry.manifest(version))
        return None if found is None else found[0]

    async def referrers(self, digest: str, artifact_type: str) -> bytes | None:
        """The index of the artifacts that refer to this digest; None if no registry has the API. Raises Waiting."""
        return await self._if_found(lambda registry: registry.referrers(digest, artifact_type))

    async def find(self, *, is_chart_wanted: bool = False) -> _FoundImage:
        """The manifest for this machine's platform, and its labels; with `is_chart_wanted`, also that of a Helm chart."""
        data, kind = await self.first(lambda registry: registry.manifest(self._reference.version))
        digest = self._reference.digest or f"sha256:{hashlib.sha256(data).hexdigest()}"
        ref = self._reference.by_digest(digest)
        try:
            document = manifests.parse(data, kind, is_chart_wanted=is_chart_wanted)
            for _ in range(manifests.MAX_INDEX_DEPTH):
                if isinstance(document, Manifest):
                    break
                document = await self._for_platform(document)
            if isinstance(document, manifests.Index):
                raise InvalidManifest(f"has more than {manifests.MAX_INDEX_DEPTH} nested indexes")
            return _FoundImage(ref, digest, document, manifests.labels(await self.config(document.config)))
        except InvalidManifest as error:
            raise BadContent(SourceReason.UNSUPPORTED, f"image {ref} {error}", ref) from error

    async def _for_platform(self, index: manifests.Index) -> Manifest | manifests.Index:
        chosen = manifests.choose(index, os.uname().machine)
        return manifests.parse(*await self.first(lambda registry: registry.manifest(chosen.digest)))

    async def config(self, config: Descriptor) -> bytes:
        """The bytes of an image's config. Raises InvalidManifest, Waiting."""
        if config.size > MAX_MANIFEST_BYTES:
            raise InvalidManifest(f"has a config of {config.size:,} bytes")
        file = io.BytesIO()
        await self.fetch(config, file, lambda count: None)
        return file.getvalue()

    async def fetch(self, blob: Descriptor, file: IO[bytes], arrived: Callable[[int], None]) -> None:
        """Download a blob and verify it, into the file at its current position."""
        start = file.tell()

        async def once(registry: RegistryClient) -> None:
            file.seek(start)
            file.truncate()
            await registry.blob(blob, file, arrived)

        await self.first(once)
        file.flush()


class RegistryClient:
    """One endpoint of one image, by the OCI distribution API: digests of tags, manifests by tag or digest, blobs onto disk.

    Content with a digest is verified as it arrives. authorization.py authenticates. `reference` is what messages name. Raises
    Waiting.
    """

    def __init__(self, transport: Transport, registries: Registries, endpoint: Endpoint, reference: Reference) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._reference = reference
        # As containers-registries.conf(5): insecure means TLS unverified, then no TLS.
        self._schemes = ["https", "http"] if endpoint.insecure else ["https"]
        self._authorization = Authorization(transport, registries, endpoint, str(reference))
        self.host = endpoint.host

    async def digest(self, tag: str) -> str:
        """The current digest of a tag: one HEAD request, or the hash of the manifest when the response has no digest."""
        async with self.request(f"manifests/{tag}", {"Accept": ACCEPT_HEADER}, method="HEAD") as response:
            header_digest = response.header("Docker-Content-Digest")
            if response.status == 200 and is_digest(header_digest):
                return header_digest
            if response.status not in (200, 405):
                raise self._status_error(response, manifest=True)
        data, _ = await self.manifest(tag)
        return f"sha256:{hashlib.sha256(data).hexdigest()}"

    async def manifest(self, version: str) -> tuple[bytes, str]:
        """The bytes and media type of a manifest, by tag or digest; a digest is verified."""
        async with self.request(f"manifests/{version}", {"Accept": ACCEPT_HEADER}) as response:
            if response.status != 200:
                raise self._status_error(response, manifest=True)
            data = await response.read(MAX_MANIFEST_BYTES)
            kind = response.header("Content-Type").partition(";")[0].strip()
        if data is None:
            raise unavailable(f"registry {self.host} answers with a manifest of more than {MAX_MANIFEST_BYTES:,} bytes")
        if is_digest(version) and _digest_of(version, data) != version:
            raise self._digest_mismatch(version)
        return data, kind

    async def tags(self) -> list[str]:
        """The tags of the repository, page after page."""
        found: list[str] = []
        for _ in range(MAX_TAG_PAGES):
            last = f"&last={quote(found[-1], safe='')}" if found else ""
            async with self.request(f"tags/list?n={TAGS_PER_PAGE}{last}", {}) as response:
                if response.status != HTTPStatus.OK:
                    raise self._status_error(response, manifest=True)
                data, has_more = await response.read(MAX_MANIFEST_BYTES), bool(response.header("Link"))
            page = manifests.tags(data) if data is not None else None
            if page is None:
                raise unavailable(f"registry {self.host} answers with a list of tags that cannot be read")
            found += page
            if not has_more or not page:
                break
        return found

    async def referrers(self, digest: str, artifact_type: str) -> bytes:
        """The index of the artifacts that refer to this digest, with others if the registry does not filter. Raises ImageNotFound
        if the registry lacks the API."""
        path = f"referrers/{digest}?artifactType={quote(artifact_type, safe='')}"
        async with self.request(path, {"Accept": manifests.OCI_INDEX}) as response:
            if response.status in WITHOUT_REFERRERS:
                raise ImageNotFound(SourceReason.NOT_FOUND, f"registry {self.host} lists no referrers", RETRY_DELAY)
            if response.status != HTTPStatus.OK:
                raise self._status_error(response, manifest=True)
            data = await response.read(MAX_MANIFEST_BYTES)
        if data is None:
            raise unavailable(f"registry {self.host} answers with more than {MAX_MANIFEST_BYTES:,} bytes of referrers")
        return data

    async def blob(self, blob: Descriptor, into: IO[bytes], arrived: Callable[[int], None]) -> None:
        """Write a blob into the file and verify its size and digest; `arrived` is called with the number of bytes so far."""
        checksum = hashlib.new(blob.digest.partition(":")[0])
        count = 0
        async with self.request(f"blobs/{blob.digest}", {}) as response:
            if response.status != 200:
                raise self._status_error(response, manifest=False)
            async for chunk in response.chunks():
                count += len(chunk)
                if count > blob.size:
                    break
                checksum.update(chunk)
                into.write(chunk)
                arrived(count)
        if count != blob.size or f"{checksum.name}:{checksum.hexdigest()}" != blob.digest:
            raise self._digest_mismatch(blob.digest)

    @asynccontextmanager
    async def request(
        self, path: str | URL, headers: dict[str, str], method: str = "GET", body: Body = None
    ) -> AsyncIterator[HttpResponse]:
        """Send a request with the known authorization. After a 401 with a challenge, authenticate and send it once more.

        `path` is below the repository, or a URL that the registry named: another origin is sent no authorization.
        """
        own = await self.url("")
        url = path if isinstance(path, URL) else await self.url(path)
        if url.origin() != own.origin():
            async with self._transport.open(method, url, self._endpoint, headers, body) as response:
                yield response
            return
        sent = {**headers, **self._authorization.headers}
        async with self._transport.open(method, url, self._endpoint, sent, body) as response:
            if response.status != HTTPStatus.UNAUTHORIZED or not await self._authorization.answer_challenge(
                url, response
            ):
                yield response
                return
        sent = {**headers, **self._authorization.headers}
        async with self._transport.open(method, url, self._endpoint, sent, body) as response:
            yield response

    async def url(self, path: str) -> URL:
        """The URL of a path below the repository, with a scheme that the registry speaks. The scheme is detected once."""
        while len(self._schemes) > 1:
            ping = URL(f"{self._schemes[0]}://{self.host}/v2/")
            try:
                async with self._transport.open("GET", ping, self._endpoint, {}):
                    del self._schemes[1:]
            except NoResponse as error:
                if not error.spoke_otherwise:
                    raise
                del self._schemes[0]
        return URL(f"{self._schemes[0]}://{self.host}/v2/{self._endpoint.repository}/{path}", encoded=True)

    def _status_error(self, response: HttpResponse, *, manifest: bool) -> Waiting:
        if response.status == HTTPStatus.NOT_FOUND and manifest:
            text = f'image "{self._reference}" not found: registry {self.host} has no such tag or repository (404)'
            return ImageNotFound(SourceReason.NOT_FOUND, text, RETRY_DELAY)
        if response.status in DENIED_STATUSES:
            return self._authorization.refusal(response)
        return response.unexpected()

    def _digest_mismatch(self, digest: str) -> Waiting:
        text = f'registry {self.host} sent bytes for "{self._reference}" that do not match {digest}'
        return Waiting(SourceReason.CONTENT_CHANGED, text, RETRY_DELAY)


def _digest_of(digest: str, data: bytes) -> str:
    algorithm = digest.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


async def _fetch_layers(
    source: Endpoints, found: _FoundImage, blob: IO[bytes], progress: Callable[[str], None]
) -> None:
    """Download all layers into `blob`, one after the other, and verify them. Raises Waiting."""
    count, before = len(found.manifest.layers), 0
    total = sum(layer.size for layer in found.manifest.layers)

    def arrived(what: str, before: int, size: int) -> None:
        progress(f"{what}, {(before + size) // MEGABYTE} MB of {total // MEGABYTE} MB")

    for number, layer in enumerate(found.manifest.layers, start=1):
        await source.fetch(layer, blob, partial(arrived, f"pulling layer {number} of {count}", before))
        before += layer.size


def _content_error(ref: str, reason: SourceReason, words: str) -> BadContent:
    return BadContent(reason, f"image {ref} {words}", ref)


def _selected_paths(found: _FoundImage, only: str | Sequence[str] | FromLabel | AnyChart | None) -> tuple[str, ...]:
    """The selected paths, without leading and trailing slashes."""
    if isinstance(only, AnyChart):
        return ("",)
    if isinstance(only, FromLabel):
        if not found.labels.get(only.name):
            raise BadContent(SourceReason.MISSING_LABEL, only.missing(found.ref, found.labels), found.ref)
        only = found.labels[only.name]
    paths = (only,) if isinstance(only, str) else tuple(only or ("",))
    for path in paths:
        if ".." in path.split("/"):
            text = f"image {found.ref} selects {quoted(path)}: a path outside the image"
            raise BadContent(SourceReason.UNSAFE, text, found.ref)
    return tuple(without_dots(path) for path in paths)


class _Section(io.RawIOBase):
    def __init__(self, descriptor: int, start: int, size: int) -> None:
        self._descriptor = descriptor
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)[: max(0, self._size - self._position)]
        count = os.preadv(self._descriptor, [view], self._start + self._position)
        self._position += count
        return count


def sections(file: IO[bytes], sizes: Iterable[int]) -> Iterator[IO[bytes]]:
    """The consecutive sections of `file` with these sizes, each as a file. `file` has to stay open."""
    start = 0
    for size in sizes:
        with io.BufferedReader(_Section(file.fileno(), start, size), BUFFER_BYTES) as section:
            yield cast("IO[bytes]", section)
        start += size
