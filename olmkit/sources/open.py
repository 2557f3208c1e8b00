"""Opens a source of any type: resolves its current content, fetches it, and unpacks what was fetched.

    async with open_source(source, access) as opened:
        if opened.digest != known:
            fetched = await opened.fetch(directory, only, limits, progress)

    root = unpack(fetched, directory, limits, progress)

`open_source` runs in the process that has a network and credentials, `unpack` in one that has neither; only JSON and file
descriptors pass between the two.

Raises Blocked and Waiting with messages for users, and BadContent, whose `ref` names the content, when the bytes cannot be used.
"""

from __future__ import annotations

import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, TypeAlias

from olmkit.errors import Blocked
from olmkit.jobs import codec
from olmkit.sources import charts, http
from olmkit.sources.access import Access
from olmkit.sources.content_limits import CATALOG_LIMITS, ContentLimits
from olmkit.sources.errors import BadContent, SourceReason
from olmkit.sources.oci import image
from olmkit.sources.oci.image import AnyChart, FromLabel
from olmkit.sources.oci.layers import member_path
from olmkit.sources.oci.registries_conf import Registries
from olmkit.sources.resolved_source import (
    content_digest,
    content_name,
    resolved_archive,
    resolved_chart,
    resolved_files,
    resolved_git,
    resolved_image,
    resolved_upload,
)
from olmkit.sources.signatures.policy import SignedBy
from olmkit.sources.source import (
    CONTENT_NOUNS,
    UPLOAD_FILE,
    ChartSource,
    ConfigMapsSource,
    GitSource,
    HttpSource,
    ImageSource,
    Source,
    UploadSource,
)
from olmkit.sources.tree import Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage
from olmkit.store.disk_errors import UNPACKED_CONTENT, disk_errors_as_waiting

PathSelection: TypeAlias = str | Sequence[str] | FromLabel | AnyChart | None
Progress: TypeAlias = Callable[[str], None]


def _no_progress(line: str) -> None:
    """Ignores progress."""


@dataclass(frozen=True)
class Fetched:
    """`facts` are JSON without credentials; the caller closes `files`."""

    facts: Mapping[str, Any]
    files: tuple[IO[bytes], ...] = ()


class OpenedSource(ABC):
    """The current content of a source."""

    digest: str
    """The content_digest of `resolved`; "" if unchanged."""
    ref: str
    """The content_name of `resolved`, for messages; "" if unchanged."""
    resolved: dict[str, Any]
    """The value of status.resolvedSource; empty when unchanged."""
    validator = ""
    """The known_validator for the next time the same source is opened; "" for none."""
    signed_by: SignedBy = MappingProxyType({})
    """The value of status.signedBy, if signatures were verified now; otherwise empty."""
    unchanged = False
    """The server confirmed that the content of known_validator is still current."""

    async def verify_access(self, limits: ContentLimits = CATALOG_LIMITS, progress: Progress = _no_progress) -> None:
        """Verify that our credentials may read this content from the source, before content in the cache is used for it.

        Raises Blocked, Waiting.
        """
        await self._verify_access(limits, progress)

    async def fetch(
        self,
        directory: Path,
        only: PathSelection = None,
        limits: ContentLimits = CATALOG_LIMITS,
        progress: Progress = _no_progress,
    ) -> Fetched:
        """Fetch the content into files without names in `directory`. `only` selects paths: a label those of an image, a sequence
        also those of a commit, an archive or ConfigMaps.

        The files stay open until the source is closed. Raises Blocked, BadContent, Waiting.
        """
        return await self._fetch(directory, only, limits, progress)

    @abstractmethod
    async def _verify_access(self, limits: ContentLimits, progress: Progress) -> None: ...

    @abstractmethod
    async def _fetch(
        self, directory: Path, only: PathSelection, limits: ContentLimits, progress: Progress
    ) -> Fetched: ...


@asynccontextmanager
async def open_source(
    source: Source,
    access: Access,
    known_validator: str = "",
    *,
    scratch: Path | None = None,
    limits: ContentLimits = CATALOG_LIMITS,
    progress: Progress = _no_progress,
) -> AsyncIterator[OpenedSource]:
    """Resolve the source. This fetches an archive without checksum, into a file without a name in `scratch`, and nothing else.

    If the access has a policy, the signatures of an image are verified, unless its digest is the `verified_digest` of the policy.

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
            case ChartSource() if charts.is_oci(source):
                yield await _open_pushed_chart(source, access, stack)
            case ChartSource():
                yield await _open_packed_chart(source, access, stack, scratch)
            case ConfigMapsSource():
                yield _ConfigMaps(source)
            case UploadSource():
                yield _Upload(source, scratch, stack)


async def _open_image(source: ImageSource, access: Access, stack: ExitStack) -> OpenedSource:
    registries, policy = access.registries(), access.policy
    found = await image.resolve(source.ref, registries)
    opened = _Image(found, registries, stack)
    if policy is not None and found.digest != policy.verified_digest:
        # Imported here, because cryptography takes memory that only signatures need.
        from olmkit.sources.signatures.verify import verify

        opened.signed_by = await verify(source.ref, found.digest, registries, policy)
    return opened


class _Image(OpenedSource):
    """An image, by digest."""

    def __init__(self, found: image.ResolvedImage, registries: Registries, stack: ExitStack) -> None:
        self._registries = registries
        self._stack = stack
        self._image = found.ref_by_digest
        self.digest = found.digest
        self.ref = found.ref_by_digest
        self.resolved = resolved_image(self.ref)

    async def _verify_access(self, limits: ContentLimits, progress: Progress) -> None:
        await image.verify_access(self._image, self._registries)

    async def _fetch(self, directory: Path, only: PathSelection, limits: ContentLimits, progress: Progress) -> Fetched:
        found = await image.fetch(self._image, directory, self._registries, only=only, limits=limits, progress=progress)
        self._stack.enter_context(found.blob)
        return Fetched({"type": "image", "image": found.facts()}, (found.blob,))


async def _open_pushed_chart(source: ChartSource, access: Access, stack: ExitStack) -> OpenedSource:
    """A chart of a registry, in the version that was chosen, or in the newest that matches."""
    version, ref = source.version, f"{charts.image_name(source)}@{source.digest}"
    if not source.digest:
        if not charts.is_version(version):
            tags = await image.tags(charts.image_name(source), access.registries())
            where = f"the registry of {source.repository}"
            version = charts.newest(source, [tag.replace("_", "+") for tag in tags], where)
        ref = charts.image_source(source, version).ref
    opened = await _open_image(ImageSource(ref), access, stack)
    return _as_chart(opened, source, version, f"{charts.OCI}{charts.image_name(source)}", opened.digest)


async def _open_packed_chart(
    source: ChartSource, access: Access, stack: ExitStack, scratch: Path | None
) -> OpenedSource:
    """A chart of an http(s) repository, whose version has been chosen from its index."""
    archive = charts.archive_source(source)
    opened = _Http(archive, access, http.Download(None, source.digest, ""), stack, scratch)
    return _as_chart(opened, source, source.version, source.url, source.digest)


def _as_chart(opened: OpenedSource, source: ChartSource, version: str, url: str, digest: str) -> OpenedSource:
    opened.resolved = resolved_chart(source, version, url, digest)
    opened.digest, opened.ref = content_digest(opened.resolved), content_name(opened.resolved)
    return opened


async def _open_git(source: GitSource, access: Access, stack: ExitStack) -> OpenedSource:
    # Imported here, because dulwich takes memory that only git sources need.
    from olmkit.sources.git import repository

    return _Git(source, access, await repository.resolve(source, access), stack)


class _Git(OpenedSource):
    """A git repository, by commit."""

    def __init__(self, source: GitSource, access: Access, commit: str, stack: ExitStack) -> None:
        self._source = source
        self._access = access
        self._commit = commit
        self._stack = stack
        self.resolved = resolved_git(source, commit)
        self.digest = content_digest(self.resolved)
        self.ref = content_name(self.resolved)

    async def _verify_access(self, limits: ContentLimits, progress: Progress) -> None:
        from olmkit.sources.git import repository

        await repository.verify_access(self._source, self._access)

    async def _fetch(self, directory: Path, only: PathSelection, limits: ContentLimits, progress: Progress) -> Fetched:
        from olmkit.sources.git import repository

        with disk_errors_as_waiting(UNPACKED_CONTENT):
            pack = await repository.fetch(self._source, self._commit, self._access, directory, limits, progress)
        self._stack.enter_context(pack)
        facts = {"type": "git", "source": codec.encode(self._source), "commit": self._commit, "only": _paths(only)}
        return Fetched(facts, (pack,))


async def _download(
    source: HttpSource, access: Access, known: str, scratch: Path | None, limits: ContentLimits, progress: Progress
) -> http.Download:
    http.check(source)
    if source.checksum:
        return http.Download(None, source.checksum, "")
    with disk_errors_as_waiting(UNPACKED_CONTENT):
        return await http.download(source, access, scratch, limits.bytes, known, progress)


class _Http(OpenedSource):
    """An archive, by digest. It has been downloaded already, unless the spec has a checksum."""

    def __init__(
        self, source: HttpSource, access: Access, found: http.Download, stack: ExitStack, scratch: Path | None
    ) -> None:
        self._source = source
        self._access = access
        self._file = stack.enter_context(found.file) if found.file else None
        self._stack = stack
        self._scratch = scratch
        self.validator = found.validator
        self.unchanged = not found.digest
        self.resolved = resolved_archive(source, found.digest) if found.digest else {}
        self.digest = content_digest(self.resolved)
        self.ref = content_name(self.resolved)

    async def _verify_access(self, limits: ContentLimits, progress: Progress) -> None:
        await self._download(self._scratch, limits, progress)

    async def _fetch(self, directory: Path, only: PathSelection, limits: ContentLimits, progress: Progress) -> Fetched:
        facts = {"type": "http", "ref": self.ref, "only": _paths(only)}
        return Fetched(facts, (await self._download(directory, limits, progress),))

    async def _download(self, directory: Path | None, limits: ContentLimits, progress: Progress) -> IO[bytes]:
        """The archive, which is downloaded if that has not been done; its checksum is verified."""
        if self._file is None:
            with disk_errors_as_waiting(UNPACKED_CONTENT):
                found = await http.download(self._source, self._access, directory, limits.bytes, "", progress)
            assert found.file is not None, "without a known validator, the server always sends an archive"
            self._file = self._stack.enter_context(found.file)
        return self._file


class _ConfigMaps(OpenedSource):
    """The files of ConfigMaps, which are part of the job's request."""

    def __init__(self, source: ConfigMapsSource) -> None:
        self._source = source
        self.resolved = resolved_files(source)
        self.digest = content_digest(self.resolved)
        self.ref = content_name(self.resolved)

    async def _verify_access(self, limits: ContentLimits, progress: Progress) -> None:
        """Nothing to verify: the controller read the ConfigMaps."""

    async def _fetch(self, directory: Path, only: PathSelection, limits: ContentLimits, progress: Progress) -> Fetched:
        source = codec.encode(self._source)
        return Fetched({"type": "configMaps", "source": source, "ref": self.ref, "only": _paths(only)})


class _Upload(OpenedSource):
    """An archive that was uploaded, which the controller has put into the directory of the job."""

    def __init__(self, source: UploadSource, scratch: Path | None, stack: ExitStack) -> None:
        self._expected = source.digest
        self._scratch = scratch
        self._stack = stack
        self.resolved = resolved_upload(source.digest)
        self.digest = content_digest(self.resolved)
        self.ref = content_name(self.resolved)

    async def _verify_access(self, limits: ContentLimits, progress: Progress) -> None:
        """Nothing to verify: the Bundle has an upload of its own."""

    async def _fetch(self, directory: Path, only: PathSelection, limits: ContentLimits, progress: Progress) -> Fetched:
        assert self._scratch is not None, "an upload is read in a job with a directory"
        path = self._scratch / UPLOAD_FILE
        with disk_errors_as_waiting(UNPACKED_CONTENT):
            archive = self._stack.enter_context(path.open("rb"))
            path.unlink()
            found = f"sha256:{hashlib.file_digest(archive, 'sha256').hexdigest()}"
        if found != self._expected:
            words = f"the stored parts of {self.ref} are damaged: upload it again"
            raise Blocked(SourceReason.CONTENT_CHANGED, words)
        return Fetched({"type": "upload", "ref": self.ref, "only": _paths(only)}, (archive,))


# --- in the process without a network


def unpack(fetched: Fetched, into: Path | TreeStorage, limits: ContentLimits, progress: Progress) -> Path:
    """Write the files below `into`, an empty directory, or to a storage; returns the root of the content. Needs no network.

    Raises BadContent, Waiting. After an error `into` is incomplete.
    """
    facts = fetched.facts
    match facts["type"]:
        case "image":
            found = image.FetchedImage.from_facts(facts["image"], fetched.files[0])
            return _root(into) / image.unpack(found, into, limits, progress).root
        case "git":
            return _root(into) / _unpack_git(facts, fetched.files[0], into, limits, progress)
        case "http" | "upload" as kind:
            progress("unpacking the archive")
            advice = "check what the URL returns" if kind == "http" else "upload an archive"
            with disk_errors_as_waiting(UNPACKED_CONTENT):
                root = http.unpack(facts["ref"], fetched.files[0], into, facts["only"], limits, advice)
            return _root(into) / root
        case "configMaps":
            _unpack_files(facts, into, limits)
            return _root(into)
        case other:
            raise ValueError(f"sources have no type {other!r}")


def _unpack_git(
    facts: Mapping[str, Any], pack: IO[bytes], into: Path | TreeStorage, limits: ContentLimits, progress: Progress
) -> str:
    # Imported here, because dulwich takes memory that only git sources need.
    from olmkit.sources.git import repository

    source = codec.decode(GitSource, facts["source"])
    with disk_errors_as_waiting(UNPACKED_CONTENT):
        return repository.unpack(source, facts["commit"], pack, into, facts["only"], limits, progress)


def _unpack_files(facts: Mapping[str, Any], into: Path | TreeStorage, limits: ContentLimits) -> None:
    source, ref = codec.decode(ConfigMapsSource, facts["source"]), facts["ref"]
    tree = Tree(into, tuple(facts["only"]) or ("",), limits, layer=1, noun=CONTENT_NOUNS["configMaps"])
    try:
        with disk_errors_as_waiting(UNPACKED_CONTENT):
            for path, data in source.files:
                tree.file(member_path(path, tree), io.BytesIO(data))
    except TreeError as error:
        raise BadContent(error.reason, f"{ref} {error.detail}", ref) from error
    if words := tree.missing_content():
        hint = "the path of each ConfigMap is the directory of its files"
        raise BadContent(SourceReason.MISSING_CONTENT, f"{ref} {words}: {hint}", ref)


def _paths(only: PathSelection) -> list[str]:
    """The selected paths of content that has no labels; empty for all."""
    return [] if only is None or isinstance(only, str | FromLabel | AnyChart) else list(only)


def _root(into: Path | TreeStorage) -> Path:
    return into if isinstance(into, Path) else into.directory
