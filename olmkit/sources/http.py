"""Archives on web servers: downloaded with a conditional request, verified, unpacked under the same rules as an image layer.

Called by open.py in job children, because it blocks on disk and on decompression. The transport handles redirects,
addresses, authorities and proxies; a login is sent to the host of the URL only. Nothing is unpacked before the whole archive has
been hashed. Neither tarfile nor zipfile extracts anything, and the format is detected by the first bytes, not by the file name.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from yarl import URL

from olmkit.api.patterns import URL as PATTERN
from olmkit.errors import Waiting
from olmkit.sources import zip_archive
from olmkit.sources.access import Access
from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import CONTENT_RETRY_DELAY, RETRY_DELAY, BadContent, BadReference, SourceReason, quoted
from olmkit.sources.http_auth import endpoint, error_for_status, host_login, network, source_reasons
from olmkit.sources.oci import layers
from olmkit.sources.source import HttpSource, identity, without_query
from olmkit.sources.transport import HttpResponse, Transport
from olmkit.sources.tree import Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage

MEGABYTE = 1_000_000
MAX_VALIDATOR_LENGTH = 1000
ARCHIVE_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "zstd"})
"""Content encodings that are not decoded: some servers send them for .tar.gz, and the format is detected by the bytes."""
UNSUPPORTED_MAGICS = (
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ\x00", "packed with xz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a rar archive"),
)
TEXT_STARTS = (b"<", b"{", b"#", b"version https://git-lfs")
"""Starts of pages, JSON errors and Git LFS pointers, which servers send instead of an archive."""

RESOURCE_FORKS = "__MACOSX"
"""The directory that macOS adds to zip archives, with attributes of the other files."""


@dataclass
class Download:
    """An archive in a file; `file` is None when the known archive is still current."""

    file: IO[bytes] | None
    digest: str
    validator: str


def check(source: HttpSource) -> URL:
    """The parsed URL. Raises BadReference; its message does not contain what may be a password."""
    if not re.fullmatch(PATTERN, source.url):
        words = "write https://host/path, and put user and password into the Secret of auth"
        shown = quoted(without_query(source.url))
        raise BadReference(SourceReason.INVALID_REFERENCE, f"url {shown} cannot be read: {words}")
    try:
        return URL(source.url)
    except ValueError:
        shown = quoted(without_query(source.url))
        raise BadReference(SourceReason.INVALID_REFERENCE, f"url {shown} is not valid: it is not a URL") from None


async def download(
    source: HttpSource, access: Access, directory: Path | None, limit: int, known: str, progress: Callable[[str], None]
) -> Download:
    """Fetch the archive unless `known`, the validator of an earlier download of the same source, is still current.

    The caller closes the file. Raises BadReference, Waiting.
    """
    url = check(source)
    login = host_login(url, access, insecure=source.insecure_skip_verify)
    headers = {"Authorization": login.sent.basic} if login.sent is not None else {}
    headers |= _condition(source, known)
    server, net = endpoint(url, "web server", insecure=source.insecure_skip_verify), network(access)
    net.addresses.check_literal(url.host or "", url.port or 0, server.display_name)
    with source_reasons():
        async with Transport(net) as transport, transport.open("GET", url, server, headers) as response:
            if response.status == 304 and _condition(source, known):
                return Download(None, "", known)
            if response.status != 200:
                raise error_for_status(response, f"archive {quoted(url.path)}", login, access)
            return await _saved(source, response, directory, limit, progress)


def unpack(
    named: str,
    archive: IO[bytes],
    into: Path | TreeStorage,
    only: Sequence[str],
    limits: ContentLimits,
    advice: str = "check what the URL returns",
) -> str:
    """Write the files of an archive below `into`, an empty directory, or to a storage. `named` is its name, `advice` what to do
    if it is text.

    `only` selects paths, which have to be there; all of them if it is empty. They are at the root of the archive, or in the only
    directory there, because hosts of repositories pack `name-version/`. Returns that directory, "" for the root.
    Raises BadContent.
    """
    try:
        return _unpack(archive, into, only, limits, advice)
    except TreeError as error:
        raise _bad_content(named, error) from error


def unpack_whole(named: str, archive: IO[bytes], into: Path, limits: ContentLimits, advice: str) -> list[str]:
    """Write all files of an archive below `into`, as `unpack` does. Links that lead to none of them are left out.

    Returns what is said of these links, after the name of the archive. Raises BadContent.
    """
    left_out: list[str] = []
    tree = Tree(into, ("",), limits, layer=1, noun="archive", left_out=left_out)
    try:
        _fill(tree, archive, _members(archive, advice))
    except TreeError as error:
        raise _bad_content(named, error) from error
    return left_out


def _bad_content(named: str, error: TreeError) -> BadContent:
    reason = SourceReason.UNSUPPORTED_CONTENT if error.reason == SourceReason.UNSUPPORTED else error.reason
    return BadContent(reason, f"archive {named} {error.detail}", named)


async def _saved(
    source: HttpSource, response: HttpResponse, directory: Path | None, limit: int, progress: Callable[[str], None]
) -> Download:
    if response.header("Content-Encoding").strip().lower() not in ARCHIVE_ENCODINGS:
        words = f"{response.server} sent a response in an encoding that was not requested"
        raise Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY)
    file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  the caller closes it
    try:
        total, count = hashlib.sha256(), 0
        async for chunk in response.chunks():
            count += len(chunk)
            if count > limit:
                words = f"archive {without_query(source.url)} is larger than {limit:,} bytes, the most that is read"
                raise Waiting(SourceReason.TOO_LARGE, words, CONTENT_RETRY_DELAY)
            total.update(chunk)
            file.write(chunk)
            progress(f"downloading, {count // MEGABYTE} MB")
        file.flush()
        digest = f"sha256:{total.hexdigest()}"
        if source.checksum and digest != source.checksum:
            words = f"archive {without_query(source.url)} is {digest}, and {source.checksum} is expected"
            raise Waiting(SourceReason.CONTENT_CHANGED, words, CONTENT_RETRY_DELAY)
    except BaseException:
        file.close()
        raise
    return Download(file, digest, _validator(source, response))


def _validator(source: HttpSource, response: HttpResponse) -> str:
    """The validator for a conditional request. It includes a hash of the source, so that it is never sent for another one."""
    for name in ("ETag", "Last-Modified"):
        value = response.header(name)
        if value and len(value) <= MAX_VALIDATOR_LENGTH and value.isascii() and value.isprintable():
            return f"{_mark(source)} {name}: {value}"
    return ""


def _condition(source: HttpSource, known: str) -> dict[str, str]:
    """The header of a conditional request; empty when `known` is the validator of another source."""
    mark, _, rest = known.partition(" ")
    name, _, value = rest.partition(": ")
    header = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}.get(name)
    return {header: value} if header and value and mark == _mark(source) else {}


def _mark(source: HttpSource) -> str:
    return identity(source).rpartition(" ")[2]


def _unpack(
    archive: IO[bytes], into: Path | TreeStorage, only: Sequence[str], limits: ContentLimits, advice: str
) -> str:
    """Raises TreeError with a detail that follows "archive X "."""
    unpack_members = _members(archive, advice)
    root = _root(archive, unpack_members, into, only, limits) if only else ""
    selected = tuple(f"{root}/{path}" if root else path for path in only) or ("",)
    tree = Tree(into, selected, limits, layer=1, noun="archive")
    _fill(tree, archive, unpack_members)
    if words := tree.missing_content():
        raise TreeError(SourceReason.MISSING_CONTENT, words)
    return root


_Members = Callable[[IO[bytes], Tree, layers.Budget], None]
"""Fills a tree with the members of an archive."""


def _members(archive: IO[bytes], advice: str) -> _Members:
    """The reader of the members, by the first bytes. Raises TreeError for what is no archive."""
    archive.seek(0)
    start = archive.read(512)
    _refuse_others(start, advice)
    return zip_archive.unpack if start.startswith(zip_archive.MAGICS) else layers.unpack


def _fill(tree: Tree, archive: IO[bytes], unpack_members: _Members) -> None:
    unpack_members(archive, tree, layers.Budget(tree.limits.bytes, tree.limits.files, tree.noun))
    tree.finish()


def _root(
    archive: IO[bytes],
    unpack_members: _Members,
    into: Path | TreeStorage,
    only: Sequence[str],
    limits: ContentLimits,
) -> str:
    """The directory that has the selected paths, which the names in the archive tell."""
    names = _NamesAtRoot(into, (), limits, layer=1, noun="archive")
    unpack_members(archive, names, layers.Budget(limits.bytes, limits.files, names.noun))
    is_at_root = any(path.partition("/")[0] in names.seen for path in only)
    directories = names.directories_seen - {RESOURCE_FORKS}
    return next(iter(directories)) if not is_at_root and len(directories) == 1 else ""


@dataclass
class _NamesAtRoot(Tree):
    """A tree that stores nothing: it sees the names at the root of an archive, and those that have something below them."""

    seen: set[str] = field(default_factory=set)
    directories_seen: set[str] = field(default_factory=set)

    def selects(self, path: str) -> bool:
        name, slash, _ = path.partition("/")
        self.seen.add(name)
        if slash:
            self.directories_seen.add(name)
        return False

    def leads_to_selection(self, path: str) -> bool:
        return False


def _refuse_others(start: bytes, advice: str) -> None:
    for magic, what in UNSUPPORTED_MAGICS:
        if start.startswith(magic):
            words = f"is {what}, which is not read: make it a zip archive, or a tar archive, plain or packed with gzip or zstd"
            raise TreeError(SourceReason.UNSUPPORTED_CONTENT, words)
    if not start:
        raise TreeError(SourceReason.UNSUPPORTED_CONTENT, "is empty")
    text = start.lstrip()
    if any(text.startswith(each) for each in TEXT_STARTS) and b"\0" not in start:
        # The text is not shown: the reader of the object may not have access to the server.
        words = f"is not an archive but text, such as a page, an error or a pointer to other storage: {advice}"
        raise TreeError(SourceReason.UNSUPPORTED_CONTENT, words)
