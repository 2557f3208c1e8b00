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
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from olmkit.errors import Waiting
from olmkit.sources.credentials import split_port
from olmkit.sources.errors import BadContent, SourceReason, quoted
from olmkit.sources.oci import layers, manifests
from olmkit.sources.oci.manifests import Descriptor, InvalidManifest, Manifest
from olmkit.sources.oci.reference import Reference, parse
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.oci.registry_client import MAX_MANIFEST_BYTES, RegistryClient
from olmkit.sources.transport import Transport
from olmkit.sources.tree import CATALOG_LIMITS, ContentLimits, Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage
from olmkit.store.disk_errors import UNPACKED_CONTENT, disk_errors_as_waiting

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES = 256 * 1024


__all__ = [
    "FetchedImage",
    "FromLabel",
    "PulledImage",
    "ResolvedImage",
    "fetch",
    "labels",
    "pull",
    "resolve",
    "unpack",
]

Value = TypeVar("Value")
MEGABYTE = 1_000_000


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


async def resolve(ref: str, registries: Registries) -> ResolvedImage:
    """Resolve a tag to a digest at the registry. A reference by digest needs no request.

    Raises BadReference, Waiting (ImageNotFound among them).
    """
    reference = parse(ref)
    digest = reference.digest or await request_digest(ref, registries)
    return ResolvedImage(reference.by_digest(digest), digest)


async def request_digest(ref: str, registries: Registries) -> str:
    """The digest that the registry has for a reference, also for one by digest. Raises BadReference, Waiting."""
    reference = parse(ref)
    async with Transport(registries) as transport:
        source = _Endpoints(transport, registries, reference)
        return await source.first(lambda registry: registry.digest(reference.version))


async def verify_access(ref: str, registries: Registries) -> None:
    """Verify that these credentials may read the image: the registry has to return the manifest of `ref`, a reference by digest.

    The bytes of the manifest are hashed, because a digest in a header proves nothing. Raises BadReference, Waiting.
    """
    reference = parse(ref)
    async with Transport(registries) as transport:
        await _Endpoints(transport, registries, reference).first(lambda registry: registry.manifest(reference.version))


async def labels(ref: str, registries: Registries) -> Mapping[str, str]:
    """The labels of the image. No layer is fetched. Raises BadReference, BadContent, Waiting."""
    async with Transport(registries) as transport:
        return (await _Endpoints(transport, registries, parse(ref)).find()).labels


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
    only: str | Sequence[str] | FromLabel | None = None,
    limits: ContentLimits = CATALOG_LIMITS,
    progress: Callable[[str], None] = lambda line: None,
) -> FetchedImage:
    """The layers of an image in a file without a name in `directory`, which the caller closes; `only` as in pull().

    Raises BadReference, BadContent, Waiting.
    """
    reference = parse(ref)
    async with Transport(registries) as transport:
        source = _Endpoints(transport, registries, reference)
        progress("reading the manifest")
        found = await source.find()
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
    for top in tree.selection:
        if top and not tree.has(top):
            words = f"has no content at {quoted('/' + top)}, where its content should be"
            raise _content_error(fetched.ref, SourceReason.MISSING_CONTENT, words)
    return PulledImage(fetched.ref, fetched.digest, fetched.labels, fetched.selection[0], tree.files, tree.size)


class _Endpoints:
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
        last.message = "; ".join(dict.fromkeys(error.message for error in failures))
        raise last

    async def find(self) -> _FoundImage:
        """The manifest for this machine's platform, and its labels."""
        data, kind = await self.first(lambda registry: registry.manifest(self._reference.version))
        digest = self._reference.digest or f"sha256:{hashlib.sha256(data).hexdigest()}"
        ref = self._reference.by_digest(digest)
        try:
            document = manifests.parse(data, kind)
            for _ in range(manifests.MAX_INDEX_DEPTH):
                if isinstance(document, Manifest):
                    break
                document = await self._for_platform(document)
            if isinstance(document, manifests.Index):
                raise InvalidManifest(f"has more than {manifests.MAX_INDEX_DEPTH} nested indexes")
            return _FoundImage(ref, digest, document, manifests.labels(await self._config(document.config)))
        except InvalidManifest as error:
            raise BadContent(SourceReason.UNSUPPORTED, f"image {ref} {error}", ref) from error

    async def _for_platform(self, index: manifests.Index) -> Manifest | manifests.Index:
        chosen = manifests.choose(index, os.uname().machine)
        return manifests.parse(*await self.first(lambda registry: registry.manifest(chosen.digest)))

    async def _config(self, config: Descriptor) -> bytes:
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


async def _fetch_layers(
    source: _Endpoints, found: _FoundImage, blob: IO[bytes], progress: Callable[[str], None]
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


def _selected_paths(found: _FoundImage, only: str | Sequence[str] | FromLabel | None) -> tuple[str, ...]:
    """The selected paths, without leading and trailing slashes."""
    if isinstance(only, FromLabel):
        if not found.labels.get(only.name):
            text = f'catalog image "{found.ref}" is missing the required label "{only.name}"'
            raise BadContent(SourceReason.MISSING_LABEL, text, found.ref)
        only = found.labels[only.name]
    paths = (only,) if isinstance(only, str) else tuple(only or ("",))
    for path in paths:
        if ".." in path.split("/"):
            text = f"image {found.ref} selects {quoted(path)}: a path outside the image"
            raise BadContent(SourceReason.UNSAFE, text, found.ref)
    return tuple("/".join(part for part in path.split("/") if part not in ("", ".")) for path in paths)


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
