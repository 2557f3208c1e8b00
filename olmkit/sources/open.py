"""One door to all sources: which content is meant now, and what it is made of.

    async with open_source(source, access) as opened:
        if opened.digest != known:
            fetched = await opened.fetch(folder, only, limits, progress)

Nothing of the content is read here: that is for olmkit.sources.unpack, in a process without a network.

Called by the jobs of catalogd and rukpak, in child processes. All that is raised is a Blocked or a Waiting with a sentence for
people, BadContent (with the content's name in `ref`) when the bytes themselves are wrong.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

from olmkit.jobs import codec
from olmkit.sources import http
from olmkit.sources.access import Access
from olmkit.sources.errors import disk_full_as_waiting
from olmkit.sources.oci import image
from olmkit.sources.oci.image import FromLabel
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.source import (
    ConfigMapsSource,
    GitSource,
    HttpSource,
    ImageSource,
    Source,
    digest_of_files,
    without_query,
)
from olmkit.sources.tree import CATALOG_LIMITS, ContentLimits
from olmkit.sources.unpack import Fetched

PathSelection: TypeAlias = str | Sequence[str] | FromLabel | None
Progress: TypeAlias = Callable[[str], None]


def _silent(line: str) -> None:
    """Nobody listens."""


class OpenedSource(Protocol):
    """What a source means now."""

    digest: str
    """ "sha256:…": of the manifest, of repository, directory and commit, of the archive's digest, of the files. "" is unchanged.

    Sources of different kinds never have the same: what is hashed tells the kind.
    """
    ref: str
    """The same for people: image by digest, repository@commit[:directory], url@sha256:…, configMaps@sha256:…"""
    resolved: dict[str, Any]
    """For status.resolvedSource; empty when unchanged."""
    validator: str
    """To be given as known_validator the next time the same source is opened; "" for none."""
    unchanged: bool
    """The server says that what known_validator stands for is still so."""

    async def verify_access(self, limits: ContentLimits = CATALOG_LIMITS, progress: Progress = _silent) -> None:
        """Have the source show, to our own login, that it has this content; for who takes the content from elsewhere.

        Raises Blocked, Waiting.
        """
        ...

    async def fetch(
        self,
        folder: Path,
        only: PathSelection = None,
        limits: ContentLimits = CATALOG_LIMITS,
        progress: Progress = _silent,
    ) -> Fetched:
        """What the content is made of, in files without names in `folder`. `only` is for images: which paths to take.

        The files can be used until the source is closed. Raises Blocked, BadContent, Waiting.
        """
        ...


@asynccontextmanager
async def open_source(
    source: Source,
    access: Access,
    known_validator: str = "",
    *,
    scratch: Path | None = None,
    limits: ContentLimits = CATALOG_LIMITS,
    progress: Progress = _silent,
) -> AsyncIterator[OpenedSource]:
    """Find out what the source means. Only an archive without checksum is fetched for it, to a file without name in `scratch`.

    Raises BadReference, Blocked, Waiting.
    """
    with ExitStack() as stack:
        match source:
            case ImageSource():
                yield await _open_image(source, access, stack)
            case GitSource():
                yield await _open_git(source, access, stack)
            case HttpSource():
                found = await _download(source, access, known_validator, scratch, limits, progress)
                yield _Http(source, access, found, stack, scratch)
            case ConfigMapsSource():
                yield _Files(source)


async def _open_image(source: ImageSource, access: Access, stack: ExitStack) -> OpenedSource:
    registries = access.registries()
    return _Image(await image.resolve(source.ref, registries), registries, stack)


class _Image:
    """By digest from here on."""

    validator = ""
    unchanged = False

    def __init__(self, found: image.ResolvedImage, registries: Registries, stack: ExitStack) -> None:
        self._registries = registries
        self._stack = stack
        self.digest = found.digest
        self.ref = found.ref_by_digest
        self.resolved = {"type": "image", "image": {"ref": self.ref}}

    async def verify_access(self, limits: ContentLimits = CATALOG_LIMITS, progress: Progress = _silent) -> None:
        """See Opened, as all below."""
        await image.verify_access(self.ref, self._registries)

    async def fetch(
        self,
        folder: Path,
        only: PathSelection = None,
        limits: ContentLimits = CATALOG_LIMITS,
        progress: Progress = _silent,
    ) -> Fetched:
        found = await image.fetch(self.ref, folder, self._registries, only=only, limits=limits, progress=progress)
        self._stack.enter_context(found.blob)
        return Fetched({"type": "image", "image": found.facts()}, (found.blob,))


async def _open_git(source: GitSource, access: Access, stack: ExitStack) -> OpenedSource:
    # Here, because dulwich costs memory that only git needs.
    from olmkit.sources.git import repository

    return _Git(source, access, await repository.resolve(source, access), stack)


class _Git:
    """By commit from here on."""

    validator = ""
    unchanged = False

    def __init__(self, source: GitSource, access: Access, commit: str, stack: ExitStack) -> None:
        from olmkit.sources.git import repository

        self._source = source
        self._access = access
        self._commit = commit
        self._stack = stack
        self.digest = repository.digest(source, commit)
        self.ref = repository.ref(source, commit)
        named = {"repository": source.repository, "commit": commit}
        if source.directory:
            named["directory"] = source.directory
        self.resolved = {"type": "git", "git": named}

    async def verify_access(self, limits: ContentLimits = CATALOG_LIMITS, progress: Progress = _silent) -> None:
        from olmkit.sources.git import repository

        await repository.verify_access(self._source, self._access)

    async def fetch(
        self,
        folder: Path,
        only: PathSelection = None,
        limits: ContentLimits = CATALOG_LIMITS,
        progress: Progress = _silent,
    ) -> Fetched:
        from olmkit.sources.git import repository

        with disk_full_as_waiting():
            pack = await repository.fetch(self._source, self._commit, self._access, folder, limits, progress)
        self._stack.enter_context(pack)
        return Fetched({"type": "git", "source": codec.encode(self._source), "commit": self._commit}, (pack,))


async def _download(
    source: HttpSource, access: Access, known: str, scratch: Path | None, limits: ContentLimits, progress: Progress
) -> http.Download:
    http.check(source)
    if source.checksum:
        return http.Download(None, source.checksum, "")
    with disk_full_as_waiting():
        return await http.download(source, access, scratch, limits.bytes, known, progress)


class _Http:
    """By checksum from here on; the archive is here already, unless the spec told its checksum."""

    def __init__(
        self, source: HttpSource, access: Access, found: http.Download, stack: ExitStack, scratch: Path | None
    ) -> None:
        self._source = source
        self._access = access
        self._file = stack.enter_context(found.file) if found.file else None
        self._stack = stack
        self._scratch = scratch
        self.digest = http.content_digest(found.digest) if found.digest else ""
        self.validator = found.validator
        self.unchanged = not found.digest
        self.ref = http.ref(source, found.digest) if found.digest else ""
        named = {"url": without_query(source.url), "digest": found.digest}
        self.resolved = {"type": "http", "http": named} if found.digest else {}

    async def verify_access(self, limits: ContentLimits = CATALOG_LIMITS, progress: Progress = _silent) -> None:
        await self._download(self._scratch, limits, progress)

    async def fetch(
        self,
        folder: Path,
        only: PathSelection = None,
        limits: ContentLimits = CATALOG_LIMITS,
        progress: Progress = _silent,
    ) -> Fetched:
        return Fetched({"type": "http", "ref": self.ref}, (await self._download(folder, limits, progress),))

    async def _download(self, folder: Path | None, limits: ContentLimits, progress: Progress) -> IO[bytes]:
        """The archive, unless it is here already; its checksum is verified."""
        if self._file is None:
            with disk_full_as_waiting():
                found = await http.download(self._source, self._access, folder, limits.bytes, "", progress)
            assert found.file is not None, "without a known validator an archive is always sent"
            self._file = self._stack.enter_context(found.file)
        return self._file


class _Files:
    """Files that came with the job."""

    validator = ""
    unchanged = False

    def __init__(self, source: ConfigMapsSource) -> None:
        self._source = source
        self.digest = digest_of_files(source.files)
        self.ref = f"configMaps@{self.digest}"
        self.resolved = {"type": "configMaps", "configMaps": {"digest": self.digest}}

    async def verify_access(self, limits: ContentLimits = CATALOG_LIMITS, progress: Progress = _silent) -> None:
        """The files are here."""

    async def fetch(
        self,
        folder: Path,
        only: PathSelection = None,
        limits: ContentLimits = CATALOG_LIMITS,
        progress: Progress = _silent,
    ) -> Fetched:
        return Fetched({"type": "configMaps", "source": codec.encode(self._source), "ref": self.ref})
