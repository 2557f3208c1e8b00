"""Images: a reference becomes a digest (`resolve`), a digest becomes files on disk (`pull`).

Called inside job children (olmkit.jobs) of catalogd and rukpak; blocks on disk and on decompression, so it does not belong into a
controller's loop. Never runs anything of an image and never trusts a byte before its digest is verified.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from olmkit.errors import Waiting
from olmkit.sources import layers, manifests
from olmkit.sources.errors import BadContent, Reason, disk_full_said, quoted
from olmkit.sources.grants import split_port
from olmkit.sources.manifests import Descriptor, Manifest, ManifestError
from olmkit.sources.reference import Reference, parse
from olmkit.sources.registries import Registries
from olmkit.sources.registry import MANIFEST_LIMIT, Registry
from olmkit.sources.storage import Storage
from olmkit.sources.transport import Transport
from olmkit.sources.tree import BUNDLE, CATALOG, ContentLimits, LayerError, Tree

__all__ = ["BUNDLE", "CATALOG", "ContentLimits", "FromLabel", "PulledImage", "ResolvedRef", "labels", "pull", "resolve"]

Value = TypeVar("Value")
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class ResolvedRef:
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
class FromLabel:
    """The path that a label of the image names, as catalogs do."""

    name: str


async def resolve(ref: str, registries: Registries) -> ResolvedRef:
    """Ask which digest a tag has. A reference by digest is answered without asking anybody.

    Raises BadReference, Waiting (ImageNotFound among them).
    """
    reference = parse(ref)
    if reference.digest is not None:
        return ResolvedRef(reference.by_digest(reference.digest), reference.digest)
    async with Transport(registries) as transport:
        source = _Source(transport, registries, reference)
        digest = await source.ask(lambda registry: registry.digest(reference.version))
    return ResolvedRef(reference.by_digest(digest), digest)


async def labels(ref: str, registries: Registries) -> Mapping[str, str]:
    """What the image is labelled with, without a look at its layers. Raises BadReference, BadContent, Waiting."""
    async with Transport(registries) as transport:
        return (await _Source(transport, registries, parse(ref)).find()).labels


async def pull(
    ref: str,
    into: Path | Storage,
    registries: Registries,
    *,
    only: str | Sequence[str] | FromLabel | None = None,
    limits: ContentLimits = CATALOG,
    progress: Callable[[str], None] = lambda line: None,
) -> PulledImage:
    """Unpack an image below `into`, an empty folder or a storage; files keep their paths within the image.

    `only` says which paths to take (the others are skipped, but counted). Symbolic links become second names of the files they
    mean. Raises BadReference, BadContent (its `ref` says by digest which), Waiting. After an error `into` is unfinished.
    """
    reference = parse(ref)
    async with Transport(registries) as transport:
        source = _Source(transport, registries, reference)
        progress("reading the manifest")
        found = await source.find()
        wanted = _wanted(found, only)
        tree = Tree(into, wanted, limits)
        with disk_full_said():
            await _Unpacking(source, found, tree, progress).run()
    return PulledImage(found.ref, found.digest, found.labels, wanted[0], tree.files, tree.size)


class _Source:
    """The places an image may come from, mirrors first."""

    def __init__(self, transport: Transport, registries: Registries, reference: Reference) -> None:
        places = registries.endpoints(reference)
        judged = not (places[0].configured or registries.is_configured(places[0].host))
        if len(places) == 1 and judged:  # a mirror may answer later
            host, port = split_port(places[0].host)
            registries.addresses.check_literal(host, port or 443, places[0].called)
        self._registries = [Registry(transport, registries, each, reference) for each in places]
        self._reference = reference

    async def ask(self, question: Callable[[Registry], Awaitable[Value]]) -> Value:
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
            for _ in range(manifests.INDEX_DEPTH_LIMIT):
                if isinstance(document, Manifest):
                    break
                document = await self._chosen(document)
            if isinstance(document, manifests.Index):
                raise ManifestError(f"has more than {manifests.INDEX_DEPTH_LIMIT} indexes within each other")
            return _Found(ref, digest, document, manifests.labels(await self._config(document.config)))
        except ManifestError as error:
            raise BadContent(Reason.UNSUPPORTED, f"image {ref} {error}", ref) from error

    async def _chosen(self, index: manifests.Index) -> Manifest | manifests.Index:
        chosen = manifests.choose(index, os.uname().machine)
        return manifests.parse(*await self.ask(lambda registry: registry.manifest(chosen.digest)))

    async def _config(self, config: Descriptor) -> bytes:
        if config.size > MANIFEST_LIMIT:
            raise ManifestError(f"has a config of {config.size:,} bytes")
        with tempfile.TemporaryFile() as file:
            await self.fetch(config, file, lambda count: None)
            file.seek(0)
            return file.read()

    async def fetch(self, blob: Descriptor, file: IO[bytes], arrived: Callable[[int], None]) -> None:
        """A verified blob in the file."""

        async def once(registry: Registry) -> None:
            file.seek(0)
            file.truncate()
            await registry.blob(blob, file, arrived)

        await self.ask(once)
        file.flush()


class _Unpacking:
    """The layers of one image, one after the other: pulled into a file without a name, verified, merged into the tree."""

    def __init__(self, source: _Source, found: _Found, tree: Tree, progress: Callable[[str], None]) -> None:
        self._source = source
        self._found = found
        self._tree = tree
        self._progress = progress
        self._total = sum(layer.size for layer in found.manifest.layers)

    async def run(self) -> None:
        """Raises BadContent and Waiting."""
        limits = self._tree.limits
        if self._total > limits.bytes:
            raise self._bad(Reason.TOO_LARGE, f"is {self._total:,} bytes compressed; at most {limits.bytes:,} are read")
        budget = layers.Budget(limits.bytes, limits.files)
        count = len(self._found.manifest.layers)
        before = 0
        try:
            for number, layer in enumerate(self._found.manifest.layers, start=1):
                self._tree.layer = number
                with tempfile.TemporaryFile(dir=self._tree.folder_for_work) as blob:
                    await self._source.fetch(
                        layer, blob, partial(self._arrived, f"pulling layer {number} of {count}", before)
                    )
                    before += layer.size
                    self._progress(f"unpacking layer {number} of {count}")
                    layers.unpack(blob, self._tree, budget)
            self._tree.finish()
        except LayerError as error:
            where = f"layer {error.layer or self._tree.layer} of image {self._found.ref}"
            raise BadContent(error.reason, f"{where} {error.words}", self._found.ref) from error
        for top in self._tree.wanted:
            if top and not self._tree.has(top):
                raise self._bad(
                    Reason.MISSING_CONTENT, f"has nothing at {quoted('/' + top)}, where its content should be"
                )

    def _arrived(self, what: str, before: int, count: int) -> None:
        self._progress(f"{what}, {(before + count) // MEGABYTE} MB of {self._total // MEGABYTE} MB")

    def _bad(self, reason: Reason, words: str) -> BadContent:
        return BadContent(reason, f"image {self._found.ref} {words}", self._found.ref)


def _wanted(found: _Found, only: str | Sequence[str] | FromLabel | None) -> tuple[str, ...]:
    """The paths to take, without slashes at their ends."""
    if isinstance(only, FromLabel):
        if not found.labels.get(only.name):
            text = f'catalog image "{found.ref}" is missing the required label "{only.name}"'
            raise BadContent(Reason.MISSING_LABEL, text, found.ref)
        only = found.labels[only.name]
    paths = (only,) if isinstance(only, str) else tuple(only or ("",))
    for path in paths:
        if ".." in path.split("/"):
            text = f"image {found.ref} says its content is at {quoted(path)}: a path outside the image"
            raise BadContent(Reason.UNSAFE, text, found.ref)
    return tuple("/".join(part for part in path.split("/") if part not in ("", ".")) for path in paths)
