"""The errors of sources, each with a reason and a message for users.

Raised by all of olmkit.sources, inside jobs. Waiting: a retry may succeed (no response, 5xx, a tag that does not exist yet).
BadReference: the spec must change. BadContent: the bytes with this digest can never be used. If they were resolved from a tag,
a new digest of the tag may lift the error, so a caller that polls checks again at its next poll. Messages never contain
credentials, the query of a URL, a local port or a time.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from olmkit.errors import Blocked, Waiting
from olmkit.gocompat.text import printable

RETRY_DELAY = timedelta(seconds=5)
"""The first delay after a temporary failure; olmkit.jobs doubles it, up to 5 minutes."""
CONTENT_RETRY_DELAY = timedelta(minutes=5)
"""The first delay after a failure that only a change at the source can end, such as content that is too large."""


class SourceReason(StrEnum):
    """The reasons why a source could not be read. Conditions show it as their reason."""

    INVALID_REFERENCE = "InvalidReference"  # the reference does not follow the grammar
    INVALID_CONFIGURATION = "InvalidConfiguration"  # registries.conf, a CIDR, a CA file or a proxy variable is invalid
    INVALID_SECRET = "InvalidSecret"  # a Secret without a required key, without a login, or without hosts
    REGISTRY_BLOCKED = "RegistryBlocked"  # registries.conf has blocked = true
    NOT_FOUND = "ImageNotFound"  # 404
    SOURCE_NOT_FOUND = "SourceNotFound"  # no such repository, branch, tag, commit or file on a git or web server
    SOURCE_UNAVAILABLE = "SourceUnavailable"  # a git or web server: no response, 429, 5xx, or an invalid response
    HOST_KEY_REFUSED = "HostKeyRefused"  # the host key of the ssh server is not in known_hosts
    UNAUTHORIZED = "Unauthorized"  # 401 or 403
    UNAVAILABLE = "RegistryUnavailable"  # a registry: no response, 429, 5xx, or an invalid response
    ADDRESS_REFUSED = "AddressRefused"  # loopback, link-local, metadata or the API server
    CONTENT_CHANGED = "DigestMismatch"  # bytes differ from their digest or size
    UNSUPPORTED = "UnsupportedImage"  # a manifest or layer of a type that is not supported
    UNSUPPORTED_CONTENT = "UnsupportedContent"  # an archive, a commit or a ConfigMap with content that is not supported
    INVALID_SIGNATURE_POLICY = (
        "InvalidSignaturePolicy"  # a key, a certificate or a trusted root of spec.verify cannot be used
    )
    SIGNATURE_REFUSED = (
        "SignatureVerificationFailed"  # the image has no valid signature of those that spec.verify requires
    )
    MISSING_LABEL = "MissingLabel"  # the image has no label that names the directory of its content
    MISSING_CONTENT = "MissingContent"  # there is no content at the expected path
    UNSAFE = "UnsafeContent"  # paths, links or devices that lead out of the image
    DUPLICATE_PATH = "DuplicatePath"  # two ConfigMaps give the same path
    TOO_LARGE = "TooLarge"  # more bytes, files or directories than allowed


class BadReference(Blocked):
    """The reference is invalid or blocked by configuration; only another reference helps."""


class BadContent(Blocked):
    """The content cannot be used. `ref` names it by digest."""

    def __init__(self, reason: str, message: str, ref: str) -> None:
        super().__init__(reason, message, (ref,) if ref else ())
        self.ref = ref

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.reason, self.message, self.ref)


class ImageNotFound(Waiting):
    """The registry answered 404 for the manifest. The request is retried, because the tag or the digest may be pushed later."""


def unavailable(message: str, after: timedelta = RETRY_DELAY) -> Waiting:
    """The error for a registry without a response, or with an invalid one."""
    return Waiting(SourceReason.UNAVAILABLE, message, after)


def quoted(text: str, limit: int = 200) -> str:
    """Untrusted text in double quotes: printable, valid UTF-8, at most `limit` characters of it."""
    shown = printable(text)
    return f'"{shown}"' if len(shown) <= limit else f'"{shown[:limit]}…"'


def without_login(text: str) -> str:
    """An address without what is before its last "@", which may be a password."""
    _, at, rest = text.rpartition("@")
    return f"…@{rest}" if at else text


def shown_path(path: str, limit: int = 200) -> str:
    """An untrusted path, printable and without quotes; a long one is shortened in the middle to about `limit` characters."""
    shown = printable(path)
    return shown if len(shown) <= limit else f"{shown[: limit // 2]}…{shown[-limit // 2 :]}"
