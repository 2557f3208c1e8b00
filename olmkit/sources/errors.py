"""What goes wrong with a source of content, as values with a sentence for people.

Raised by everything in olmkit.sources, inside jobs. Waiting: the same may succeed later (no answer, 5xx, a tag that is not there
yet). BadReference: spec must change. BadContent: these bytes, by their digest, will never do; if they were asked for by a tag, a
tag that moves lifts it, so a caller that polls maps it to its next look. Sentences never hold credentials, the query of a URL, a
port of our own or a time.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum

from olmkit.errors import Blocked, Waiting

RETRY_DELAY = timedelta(seconds=5)
"""First delay after a failure that may pass; olmkit.jobs doubles it up to 5 minutes."""


class SourceReason(StrEnum):
    """Why a source could not be read."""

    INVALID_REFERENCE = "InvalidReference"  # the image reference does not follow the grammar
    INVALID_CONFIGURATION = (
        "InvalidConfiguration"  # registries.conf, a CIDR, a CA file or a proxy variable cannot be read
    )
    INVALID_SECRET = "InvalidSecret"  # a Secret lacks a key, holds no login, or does not say for which hosts
    REGISTRY_BLOCKED = "RegistryBlocked"  # registries.conf says blocked
    NOT_FOUND = "ImageNotFound"  # 404
    SOURCE_NOT_FOUND = "SourceNotFound"  # no such repository, branch, tag, commit or file on a git or web server
    SOURCE_UNAVAILABLE = "SourceUnavailable"  # a git or web server: no answer, 429, 5xx, or what cannot be read
    HOST_KEY_REFUSED = "HostKeyRefused"  # the ssh server is not the one that known_hosts tells
    UNAUTHORIZED = "Unauthorized"  # 401 or 403
    UNAVAILABLE = "RegistryUnavailable"  # no answer, 429, 5xx, or an answer that is no registry's
    ADDRESS_REFUSED = "AddressRefused"  # loopback, link-local, metadata or the API server
    CONTENT_CHANGED = "DigestMismatch"  # bytes differ from their digest or size
    UNSUPPORTED = "UnsupportedImage"  # a manifest or layer of a kind that cannot be read
    UNSUPPORTED_CONTENT = "UnsupportedContent"  # an archive, a commit or a ConfigMap holds what cannot be read
    MISSING_LABEL = "MissingLabel"  # the image does not say where its content is
    MISSING_CONTENT = "MissingContent"  # nothing where the content should be
    UNSAFE = "UnsafeContent"  # paths, links or devices that lead out of the image
    DUPLICATE_PATH = "DuplicatePath"  # two ConfigMaps give the same path
    TOO_LARGE = "TooLarge"  # more bytes, files or folders than allowed
    DISK_FULL = "DiskFull"  # no room for what is being unpacked


class BadReference(Blocked):
    """The reference cannot be read, or is not allowed by configuration; only a new one helps."""


class BadContent(Blocked):
    """What the image holds cannot be used. `ref` names it by digest."""

    def __init__(self, reason: str, message: str, ref: str) -> None:
        super().__init__(reason, message)
        self.ref = ref

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.ref)


class ImageNotFound(Waiting):
    """404 for the manifest: the tag may be pushed later, and so may a digest."""


@contextmanager
def disk_full_as_waiting() -> Iterator[None]:
    """A disk without room, or a limit on the size of a file, as Waiting(DiskFull)."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        text = "the disk that content is unpacked on is full: free some space or give the cache a larger volume"
        raise Waiting(SourceReason.DISK_FULL, text, timedelta(minutes=1)) from error


def unavailable(message: str, after: timedelta = RETRY_DELAY) -> Waiting:
    """A registry that does not answer, or not as one."""
    return Waiting(SourceReason.UNAVAILABLE, message, after)


def printable(text: str) -> str:
    """Text of others on one line, what cannot be printed escaped; surrogates too, so that it is valid UTF-8."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def quoted(text: str, limit: int = 200) -> str:
    """Text of others in double quotes: printable, valid UTF-8, at most `limit` characters."""
    shown = printable(text)
    return f'"{shown}"' if len(shown) <= limit else f'"{shown[:limit]}…"'


def shown_path(path: str, limit: int = 200) -> str:
    """A path of others as it stands, printable; of a long one the beginning and the end, in about `limit` characters."""
    shown = printable(path)
    return shown if len(shown) <= limit else f"{shown[: limit // 2]}…{shown[-limit // 2 :]}"
