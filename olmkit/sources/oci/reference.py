"""Image references: parsed into registry, repository, tag and digest.

Pure. The grammar is that of distribution/reference (olmkit.api.patterns): a first component with a dot, a colon or the name
localhost is a registry. Other names are those of Docker Hub: `nginx` is docker.io/library/nginx.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from olmkit.api.names import is_digest
from olmkit.api.patterns import IMAGE_HOST, IMAGE_REPOSITORY, IMAGE_TAG
from olmkit.sources.errors import BadReference, SourceReason, quoted

DOCKER_HUB = "docker.io"
_OLD_DOCKER_HUB = "index.docker.io"
MAX_NAME_LENGTH = 255

_HOST = re.compile(IMAGE_HOST)
_REPOSITORY = re.compile(IMAGE_REPOSITORY)
_TAG = re.compile(IMAGE_TAG)


@dataclass(frozen=True)
class Reference:
    """`written` is the name as in the spec, without tag and digest; `registry` and `repository` are normalized."""

    written: str
    registry: str
    repository: str
    tag: str | None
    digest: str | None

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.written}{tag}@{self.digest}" if self.digest else f"{self.written}{tag}"

    @property
    def version(self) -> str:
        """The digest, else the tag: the reference of a manifest in the distribution API."""
        return self.digest or self.tag or "latest"

    @property
    def names_registry(self) -> bool:
        """True unless the registry is the default one, which is not written."""
        return self.written.startswith((f"{self.registry}/", f"{_OLD_DOCKER_HUB}/"))

    @property
    def full_name(self) -> str:
        """The reference with its registry: docker.io/library/a:v1 for a:v1."""
        return str(replace(self, written=f"{self.registry}/{self.repository}"))

    def by_digest(self, digest: str) -> str:
        """`name@digest`, as status shows it."""
        return f"{self.written}@{digest}"


def parse(text: str) -> Reference:
    """Parse a reference; without tag and digest the tag is latest. Raises BadReference."""
    if text.startswith("oci://"):
        raise _invalid(text, "leave out oci://")
    rest, at, digest = text.partition("@")
    if at and not is_digest(digest):
        raise _invalid(text, "the part after @ is not a sha256, sha384 or sha512 digest in lower-case hex")
    name, tag = _split_tag(rest)
    if tag is not None and not _TAG.fullmatch(tag):
        raise _invalid(text, "a tag is up to 128 letters, digits, dots, dashes and underscores")
    registry, repository = _split_registry(name)
    if not is_host(registry):
        raise _invalid(text, f"{quoted(registry)} is not a host name")
    if not _REPOSITORY.fullmatch(repository):
        raise _invalid(
            text, "a repository is lower-case letters and digits, separated by dots, dashes, underscores and slashes"
        )
    if len(name) > MAX_NAME_LENGTH:
        raise _invalid(text, f"the name is longer than {MAX_NAME_LENGTH} characters")
    if tag is None and not at:
        tag = "latest"
    return Reference(name, registry, repository, tag, digest or None)


def is_host(text: str) -> bool:
    """Report whether text is a host name or address, with or without a port."""
    port = text.rpartition(":")[2]
    return _HOST.fullmatch(text) is not None and not (port.isdigit() and ":" in text and int(port) > 65535)


def _split_tag(text: str) -> tuple[str, str | None]:
    colon = text.rfind(":")
    if colon > text.rfind("/"):
        return text[:colon], text[colon + 1 :]
    return text, None


def _split_registry(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        registry, repository = first, rest
    else:
        registry, repository = DOCKER_HUB, name
    if registry == _OLD_DOCKER_HUB:
        registry = DOCKER_HUB
    if registry == DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    return registry, repository


def _invalid(text: str, why: str) -> BadReference:
    return BadReference(SourceReason.INVALID_REFERENCE, f"image reference {quoted(text)} cannot be read: {why}")
