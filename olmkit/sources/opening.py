"""One door to all sources: which content is meant now, and its files on disk.

    async with open_source(source, access) as opened:
        if opened.digest != known:
            root = await opened.unpack(into, only, limits, progress)

Called by the jobs of catalogd and rukpak, in child processes. All that is raised is a Blocked or a Waiting with a sentence for
people, BadContent (with the content's name in `ref`) when the bytes themselves are wrong.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from olmkit.sources import http, image
from olmkit.sources.access import Access
from olmkit.sources.errors import BadContent, disk_full_said
from olmkit.sources.image import FromLabel
from olmkit.sources.registries import Registries
from olmkit.sources.source import (
    ConfigMapsSource,
    GitSource,
    HttpSource,
    ImageSource,
    Source,
    digest_of_files,
    without_query,
)
from olmkit.sources.storage import Storage
from olmkit.sources.tree import CATALOG, ContentLimits, LayerError, Tree

Only: TypeAlias = str | Sequence[str] | FromLabel | None
Progress: TypeAlias = Callable[[str], None]


def _silent(line: str) -> None:
    """Nobody listens."""


class Opened(Protocol):
    """What a source means now."""

    digest: str
    """ "sha256:…": of the manifest, of repository, directory and commit, of the archive, of the files. "" when unchanged."""
    ref: str
    """The same for people: image by digest, repository@commit[:directory], url@sha256:…, configMaps@sha256:…"""
    resolved: dict[str, Any]
    """For status.resolvedSource; empty when unchanged."""
    validator: str
    """To be given as known_validator the next time the same source is opened; "" for none."""
    unchanged: bool
    """The server says that what known_validator stands for is still so."""

    async def unpack(
        self, into: Path | Storage, only: Only = None, limits: ContentLimits = CATALOG, progress: Progress = _silent
    ) -> Path:
        """The files below `into`, an empty folder; returns the root of the content. `only` is for images: which paths to take.

        Those given to a storage are told as if they were below its folder.
        Raises Blocked, BadContent, Waiting. After an error `into` is unfinished.
        """
        ...


@asynccontextmanager
async def open_source(
    source: Source,
    access: Access,
    known_validator: str = "",
    *,
    scratch: Path | None = None,
    limits: ContentLimits = CATALOG,
    progress: Progress = _silent,
) -> AsyncIterator[Opened]:
    """Find out what the source means. Only an archive without checksum is fetched for it, to a file without name in `scratch`.

    Raises BadReference, Blocked, Waiting.
    """
    match source:
        case ImageSource():
            yield await _open_image(source, access)
        case GitSource():
            yield await _open_git(source, access)
        case HttpSource():
            opened = await _open_http(source, access, known_validator, scratch, limits, progress)
            try:
                yield opened
            finally:
                opened.close()
        case ConfigMapsSource():
            yield _Files(source)


async def _open_image(source: ImageSource, access: Access) -> Opened:
    registries = access.registries()
    return _Image(await image.resolve(source.ref, registries), registries)


class _Image:
    """By digest from here on."""

    validator = ""
    unchanged = False

    def __init__(self, found: image.ResolvedRef, registries: Registries) -> None:
        self._registries = registries
        self.digest = found.digest
        self.ref = found.ref_by_digest
        self.resolved = {"type": "image", "image": {"ref": self.ref}}

    async def unpack(
        self, into: Path | Storage, only: Only = None, limits: ContentLimits = CATALOG, progress: Progress = _silent
    ) -> Path:
        pulled = await image.pull(self.ref, into, self._registries, only=only, limits=limits, progress=progress)
        return _root(into) / pulled.root


async def _open_git(source: GitSource, access: Access) -> Opened:
    # Here, because dulwich costs memory that only git needs.
    from olmkit.sources import git

    return _Git(source, access, await git.resolve(source, access))


class _Git:
    """By commit from here on."""

    validator = ""
    unchanged = False

    def __init__(self, source: GitSource, access: Access, commit: str) -> None:
        from olmkit.sources import git

        self._source = source
        self._access = access
        self._commit = commit
        self.digest = git.digest(source, commit)
        self.ref = git.ref(source, commit)
        named = {"repository": source.repository, "commit": commit}
        if source.directory:
            named["directory"] = source.directory
        self.resolved = {"type": "git", "git": named}

    async def unpack(
        self, into: Path | Storage, only: Only = None, limits: ContentLimits = CATALOG, progress: Progress = _silent
    ) -> Path:
        from olmkit.sources import git

        with disk_full_said():
            fetched = await git.fetch(self._source, self._commit, self._access, into, limits, progress)
        return _root(into) / fetched.root


async def _open_http(
    source: HttpSource, access: Access, known: str, scratch: Path | None, limits: ContentLimits, progress: Progress
) -> _Http:
    http.check(source)
    if source.checksum:
        return _Http(source, access, http.Download(None, source.checksum, ""), scratch)
    with disk_full_said():
        found = await http.download(source, access, scratch, limits.bytes, known, progress)
    return _Http(source, access, found, scratch)


class _Http:
    """By checksum from here on; the archive is here already, unless the spec told its checksum."""

    def __init__(self, source: HttpSource, access: Access, found: http.Download, scratch: Path | None) -> None:
        self._source = source
        self._access = access
        self._found = found
        self._scratch = scratch
        self.digest = found.digest
        self.validator = found.validator
        self.unchanged = not found.digest
        self.ref = http.ref(source, self.digest) if self.digest else ""
        named = {"url": without_query(source.url), "digest": self.digest}
        self.resolved = {"type": "http", "http": named} if self.digest else {}

    async def unpack(
        self, into: Path | Storage, only: Only = None, limits: ContentLimits = CATALOG, progress: Progress = _silent
    ) -> Path:
        with disk_full_said():
            if self._found.file is None:
                where = self._scratch or _root(into)
                self._found = await http.download(self._source, self._access, where, limits.bytes, "", progress)
            assert self._found.file is not None, "without a known validator an archive is always sent"
            progress("unpacking the archive")
            tree = Tree(into, ("",), limits, noun="archive")
            http.unpack(self._source, self._found.file, self.digest, tree)
        return _root(into)

    def close(self) -> None:
        """Let go of the archive."""
        if self._found.file is not None:
            self._found.file.close()


class _Files:
    """Files that came with the job."""

    validator = ""
    unchanged = False

    def __init__(self, source: ConfigMapsSource) -> None:
        self._source = source
        self.digest = digest_of_files(source.files)
        self.ref = f"configMaps@{self.digest}"
        self.resolved = {"type": "configMaps", "configMaps": {"digest": self.digest}}

    async def unpack(
        self, into: Path | Storage, only: Only = None, limits: ContentLimits = CATALOG, progress: Progress = _silent
    ) -> Path:
        tree = Tree(into, ("",), limits, layer=1)
        try:
            with disk_full_said():
                for path, data in self._source.files:
                    tree.file(path, io.BytesIO(data))
        except LayerError as error:
            raise BadContent(error.reason, f"{self.ref} {error.words}", self.ref) from error
        return _root(into)


def _root(into: Path | Storage) -> Path:
    return into if isinstance(into, Path) else into.folder
