"""Images: a reference becomes a digest (`resolve`), a digest becomes files on disk (`fetch`, then `unpack`; `pull` is both).

Called inside job children (olmkit.jobs) of catalogd and rukpak; blocks on disk and on decompression, so it does not belong into a
controller's loop. Never runs anything of an image and never trusts a byte before its digest is verified. Only `unpack` reads what
is in layers, and it needs no network: jobs call it in a process that has none.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from olmkit.errors import Waiting
from olmkit.sources.credential_rules import split_port
from olmkit.sources.errors import BadContent, SourceReason, disk_full_as_waiting, quoted
from olmkit.sources.oci import layers, manifests
from olmkit.sources.oci.manifests import Descriptor, InvalidManifest, Manifest
from olmkit.sources.oci.reference import Reference, parse
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.oci.registry_client import MAX_MANIFEST_BYTES, RegistryClient
from olmkit.sources.oci.section_reader import sections
from olmkit.sources.transport import Transport
from olmkit.sources.tree import CATALOG_LIMITS, ContentLimits, Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage

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
    """`ref_by_digest` is the name as the user wrote it, plus @digest; `digest` is the one of the manifest or index."""

    ref_by_digest: str
    digest: str


@dataclass(frozen=True)
class PulledImage:
    """What was pulled. `root` is the first wanted path, relative to the folder it was pulled into; "" for everything."""

    ref_by_digest: str
    digest: str
    labels: Mapping[str, str]
    root: str
    files: int
    bytes: int


@dataclass(frozen=True)
class _Found:
    """An image at hand: where it came from and what it says."""

    ref: str
    digest: str
    manifest: Manifest
    labels: Mapping[str, str]


@dataclass(frozen=True)
class FetchedImage:
    """An image whose layers are here, verified and not read yet: one after the other in `blob`, a file without a name."""

    ref: str
    digest: str
    labels: Mapping[str, str]
    selection: tuple[str, ...]
    """The paths to take; "" for everything."""
    sizes: tuple[int, ...]
    """Of the layers, in bytes as they were sent."""
    blob: IO[bytes]

    def facts(self) -> dict[str, Any]:
        """All but the file, as JSON."""
        return {
            "ref": self.ref,
            "digest": self.digest,
            "labels": dict(self.labels),
            "wanted": list(self.selection),
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], blob: IO[bytes]) -> FetchedImage:
        """The other way."""
        wanted, sizes = tuple(facts["wanted"]), tuple(facts["sizes"])
        return cls(facts["ref"], facts["digest"], facts["labels"], wanted, sizes, blob)


@dataclass(frozen=True)
class FromLabel:
    """The path that a label of the image names, as catalogs do."""

    name: str


async def resolve(ref: str, registries: Registries) -> ResolvedImage:
    """Ask which digest a tag has. A reference by digest is answered without asking anybody.

    Raises BadReference, Waiting (ImageNotFound among them).
    """
    reference = parse(ref)
    if reference.digest is not None:
        return ResolvedImage(reference.by_digest(reference.digest), reference.digest)
    async with Transport(registries) as transport:
        source = _Source(transport, registries, reference)
        digest = await source.ask(lambda registry: registry.digest(reference.version))
    return ResolvedImage(reference.by_digest(digest), digest)


async def verify_access(ref: str, registries: Registries) -> None:
    """Have a registry give out the manifest that `ref` names by digest, to whoever the credentials say we are.

    A digest that a registry states is a claim; the bytes that hash to it are not. Raises BadReference, Waiting.
    """
    reference = parse(ref)
    async with Transport(registries) as transport:
        await _Source(transport, registries, reference).ask(lambda registry: registry.manifest(reference.version))


async def labels(ref: str, registries: Registries) -> Mapping[str, str]:
    """What the image is labelled with, without a look at its layers. Raises BadReference, BadContent, Waiting."""
    async with Transport(registries) as transport:
        return (await _Source(transport, registries, parse(ref)).find()).labels


async def pull(
    ref: str,
    into: Path | TreeStorage,
    registries: Registries,
    *,
    only: str | Sequence[str] | FromLabel | None = None,
    limits: ContentLimits = CATALOG_LIMITS,
    progress: Callable[[str], None] = lambda line: None,
) -> PulledImage:
    """Unpack an image below `into`, an empty folder or a storage; files keep their paths within the image.

    `only` says which paths to take (the others are skipped, but counted). Symbolic links become second names of the files they
    mean. Raises BadReference, BadContent (its `ref` says by digest which), Waiting. After an error `into` is unfinished.
    """
    folder = into if isinstance(into, Path) else into.folder
    fetched = await fetch(ref, folder, registries, only=only, limits=limits, progress=progress)
    with fetched.blob:
        return unpack(fetched, into, limits, progress)


async def fetch(
    ref: str,
    folder: Path,
    registries: Registries,
    *,
    only: str | Sequence[str] | FromLabel | None = None,
    limits: ContentLimits = CATALOG_LIMITS,
    progress: Callable[[str], None] = lambda line: None,
) -> FetchedImage:
    """The layers of an image in a file without a name in `folder`, which is the caller's to close; `only` as in pull().

    Raises BadReference, BadContent, Waiting.
    """
    reference = parse(ref)
    async with Transport(registries) as transport:
        source = _Source(transport, registries, reference)
        progress("reading the manifest")
        found = await source.find()
        wanted, sizes = _wanted(found, only), tuple(layer.size for layer in found.manifest.layers)
        if sum(sizes) > limits.bytes:
            words = f"is {sum(sizes):,} bytes compressed; at most {limits.bytes:,} are read"
            raise _bad(found.ref, SourceReason.TOO_LARGE, words)
        with disk_full_as_waiting():
            blob = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller closes it
            try:
                await _fetch_layers(source, found, blob, progress)
            except BaseException:
                blob.close()
                raise
    return FetchedImage(found.ref, found.digest, found.labels, wanted, sizes, blob)


def unpack(
    fetched: FetchedImage, into: Path | TreeStorage, limits: ContentLimits, progress: Callable[[str], None]
) -> PulledImage:
    """The files of a fetched image below `into`, an empty folder, or in a storage. Raises BadContent, Waiting(DiskFull)."""
    tree = Tree(into, fetched.selection, limits)
    budget = layers.Budget(limits.bytes, limits.files)
    try:
        with disk_full_as_waiting():
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
            words = f"has nothing at {quoted('/' + top)}, where its content should be"
            raise _bad(fetched.ref, SourceReason.MISSING_CONTENT, words)
    return PulledImage(fetched.ref, fetched.digest, fetched.labels, fetched.selection[0], tree.files, tree.size)


class _Source:
    """The places an image may come from, mirrors first."""

    def __init__(self, transport: Transport, registries: Registries, reference: Reference) -> None:
        places = registries.endpoints(reference)
        judged = not (places[0].configured or registries.is_configured(places[0].host))
        if len(places) == 1 and judged:  # a mirror may answer later
            host, port = split_port(places[0].host)
            registries.addresses.check_literal(host, port or 443, places[0].display_name)
        self._registries = [RegistryClient(transport, registries, each, reference) for each in places]
        self._reference = reference

    async def ask(self, question: Callable[[RegistryClient], Awaitable[Value]]) -> Value:
        """The first answer. The error of the last place counts, and its sentence holds those of all."""
        failures: list[Waiting] = []
        for registry in list(self._registries):
            try:
                answer = await question(registry)
            except Waiting as error:
                failures.append(error)
                continue
            # What one place could answer it is asked for the rest too.
            self._registries.remove(registry)
            self._registries.insert(0, registry)
            return answer
        last = failures[-1]
        last.message = "; ".join(dict.fromkeys(error.message for error in failures))
        raise last

    async def find(self) -> _Found:
        """The manifest for this machine and its labels."""
        data, kind = await self.ask(lambda registry: registry.manifest(self._reference.version))
        digest = self._reference.digest or f"sha256:{hashlib.sha256(data).hexdigest()}"
        ref = self._reference.by_digest(digest)
        try:
            document = manifests.parse(data, kind)
            for _ in range(manifests.MAX_INDEX_DEPTH):
                if isinstance(document, Manifest):
                    break
                document = await self._chosen(document)
            if isinstance(document, manifests.Index):
                raise InvalidManifest(f"has more than {manifests.MAX_INDEX_DEPTH} indexes within each other")
            return _Found(ref, digest, document, manifests.labels(await self._config(document.config)))
        except InvalidManifest as error:
            raise BadContent(SourceReason.UNSUPPORTED, f"image {ref} {error}", ref) from error

    async def _chosen(self, index: manifests.Index) -> Manifest | manifests.Index:
        chosen = manifests.choose(index, os.uname().machine)
        return manifests.parse(*await self.ask(lambda registry: registry.manifest(chosen.digest)))

    async def _config(self, config: Descriptor) -> bytes:
        if config.size > MAX_MANIFEST_BYTES:
            raise InvalidManifest(f"has a config of {config.size:,} bytes")
        file = io.BytesIO()
        await self.fetch(config, file, lambda count: None)
        return file.getvalue()

    async def fetch(self, blob: Descriptor, file: IO[bytes], arrived: Callable[[int], None]) -> None:
        """A verified blob in the file, from where it stands."""
        start = file.tell()

        async def once(registry: RegistryClient) -> None:
            file.seek(start)
            file.truncate()
            await registry.blob(blob, file, arrived)

        await self.ask(once)
        file.flush()


async def _fetch_layers(source: _Source, found: _Found, blob: IO[bytes], progress: Callable[[str], None]) -> None:
    """One after the other, verified. Raises Waiting."""
    count, before = len(found.manifest.layers), 0
    total = sum(layer.size for layer in found.manifest.layers)

    def arrived(what: str, before: int, size: int) -> None:
        progress(f"{what}, {(before + size) // MEGABYTE} MB of {total // MEGABYTE} MB")

    for number, layer in enumerate(found.manifest.layers, start=1):
        await source.fetch(layer, blob, partial(arrived, f"pulling layer {number} of {count}", before))
        before += layer.size


def _bad(ref: str, reason: SourceReason, words: str) -> BadContent:
    return BadContent(reason, f"image {ref} {words}", ref)


def _wanted(found: _Found, only: str | Sequence[str] | FromLabel | None) -> tuple[str, ...]:
    """The paths to take, without slashes at their ends."""
    if isinstance(only, FromLabel):
        if not found.labels.get(only.name):
            text = f'catalog image "{found.ref}" is missing the required label "{only.name}"'
            raise BadContent(SourceReason.MISSING_LABEL, text, found.ref)
        only = found.labels[only.name]
    paths = (only,) if isinstance(only, str) else tuple(only or ("",))
    for path in paths:
        if ".." in path.split("/"):
            text = f"image {found.ref} says its content is at {quoted(path)}: a path outside the image"
            raise BadContent(SourceReason.UNSAFE, text, found.ref)
    return tuple("/".join(part for part in path.split("/") if part not in ("", ".")) for path in paths)
