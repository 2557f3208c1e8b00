"""Archives on web servers: downloaded with a conditional request, verified, unpacked by archive.py.

Called by opening.py, in job children: it blocks on disk and on decompression. Redirects, addresses, authorities and proxies are
the transport's business; a login goes to the host of the URL and to no other. No byte is unpacked before all of them are
hashed.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

from yarl import URL

from olmkit.api.patterns import URL as PATTERN
from olmkit.errors import Waiting
from olmkit.sources import archive
from olmkit.sources.access import Access
from olmkit.sources.errors import RETRY_DELAY, BadContent, BadReference, SourceReason, quoted
from olmkit.sources.http_auth import endpoint, error_for_status, host_login, network, source_reasons
from olmkit.sources.source import HttpSource, identity, without_query
from olmkit.sources.transport import HttpResponse, Transport
from olmkit.sources.tree import Tree, TreeError

MEGABYTE = 1_000_000
MAX_VALIDATOR_LENGTH = 1000
CONTENT_RETRY_DELAY = timedelta(minutes=5)
ARCHIVE_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "zstd"})
"""Encodings that are left as they are: servers call a .tar.gz so, and archive.py looks at the bytes."""


@dataclass
class Download:
    """An archive in a file, or the word that it is the known one."""

    file: IO[bytes] | None
    digest: str
    validator: str


def ref(source: HttpSource, digest: str) -> str:
    """The content for people: the URL without its query, and the digest of the archive."""
    return f"{without_query(source.url)}@{digest}"


def content_digest(digest: str) -> str:
    """Which content an archive is: no other kind of source has a digest like it, whatever the bytes of the archive are."""
    return f"sha256:{hashlib.sha256(f'archive {digest}'.encode()).hexdigest()}"


def check(source: HttpSource) -> URL:
    """The URL. Raises BadReference; what may be a password is not in the sentence."""
    if not re.fullmatch(PATTERN, source.url):
        words = "it is written https://host/path, and user and password belong in the Secret of auth"
        shown = quoted(without_query(source.url))
        raise BadReference(SourceReason.INVALID_REFERENCE, f"url {shown} cannot be read: {words}")
    try:
        return URL(source.url)
    except ValueError:
        shown = quoted(without_query(source.url))
        raise BadReference(SourceReason.INVALID_REFERENCE, f"url {shown} cannot be read: it is no URL") from None


async def download(
    source: HttpSource, access: Access, folder: Path | None, limit: int, known: str, progress: Callable[[str], None]
) -> Download:
    """Fetch the archive unless `known`, the validator of an earlier download of the same source, still holds.

    Its file is the caller's to close. Raises BadReference, Waiting.
    """
    url = check(source)
    its_login = host_login(url, access, insecure=source.insecure_skip_verify)
    headers = {"Authorization": its_login.sent.basic} if its_login.sent is not None else {}
    headers |= _condition(source, known)
    host, way = endpoint(url, "web server", insecure=source.insecure_skip_verify), network(access)
    way.addresses.check_literal(url.host or "", url.port or 0, host.display_name)
    with source_reasons():
        async with Transport(way) as transport, transport.open("GET", url, host, headers) as answer:
            if answer.status == 304 and _condition(source, known):
                return Download(None, "", known)
            if answer.status != 200:
                raise error_for_status(answer, f"archive {quoted(url.path)}", its_login, access)
            return await _saved(source, answer, folder, limit, progress)


def unpack(named: str, archive_file: IO[bytes], tree: Tree) -> None:
    """The files of a downloaded archive, called as ref() does, into a tree that wants everything. Raises BadContent."""
    try:
        archive.unpack(archive_file, tree)
    except TreeError as error:
        reason = SourceReason.UNSUPPORTED_CONTENT if error.reason == SourceReason.UNSUPPORTED else error.reason
        raise BadContent(reason, f"archive {named} {error.detail}", named) from error


async def _saved(
    source: HttpSource, answer: HttpResponse, folder: Path | None, limit: int, progress: Callable[[str], None]
) -> Download:
    if answer.header("Content-Encoding").strip().lower() not in ARCHIVE_ENCODINGS:
        words = f"{answer.server} answers in an encoding that it was not asked for"
        raise Waiting(SourceReason.SOURCE_UNAVAILABLE, words, RETRY_DELAY)
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller closes it
    try:
        total, count = hashlib.sha256(), 0
        async for chunk in answer.chunks():
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
            words = f"archive {without_query(source.url)} is {digest}, and its checksum should be {source.checksum}"
            raise Waiting(SourceReason.CONTENT_CHANGED, words, CONTENT_RETRY_DELAY)
    except BaseException:
        file.close()
        raise
    return Download(file, digest, _validator(source, answer))


def _validator(source: HttpSource, answer: HttpResponse) -> str:
    """What tells this archive from a later one. It names the source, so that it is never sent for another."""
    for name in ("ETag", "Last-Modified"):
        value = answer.header(name)
        if value and len(value) <= MAX_VALIDATOR_LENGTH and value.isascii() and value.isprintable():
            return f"{_mark(source)} {name}: {value}"
    return ""


def _condition(source: HttpSource, known: str) -> dict[str, str]:
    """The header that asks for nothing unless it changed."""
    mark, _, rest = known.partition(" ")
    name, _, value = rest.partition(": ")
    header = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}.get(name)
    return {header: value} if header and value and mark == _mark(source) else {}


def _mark(source: HttpSource) -> str:
    return identity(source).rpartition(" ")[2]
