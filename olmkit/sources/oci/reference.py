"""Image references as people write them, and the registry, repository, tag and digest they mean.

Used by image.py and registries.py. Pure. The grammar is the distribution project's (olmkit.api.patterns): a first component with
a dot, a colon or the name localhost is a registry; everything else is Docker Hub's, `nginx` is docker.io/library/nginx.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from olmkit.api.names import is_digest
from olmkit.api.patterns import IMAGE_HOST, IMAGE_REPOSITORY, IMAGE_TAG
from olmkit.sources.errors import BadReference, SourceReason, quoted

DOCKER_HUB = "docker.io"
MAX_NAME_LENGTH = 255

_HOST = re.compile(IMAGE_HOST)
_REPOSITORY = re.compile(IMAGE_REPOSITORY)
_TAG = re.compile(IMAGE_TAG)


@dataclass(frozen=True)
class Reference:
    """`written` is the name as the user wrote it, without tag and digest; `registry` and `repository` are what it means."""

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
        """What the registry is asked for: the digest, else the tag."""
        return self.digest or self.tag or "latest"

    def by_digest(self, digest: str) -> str:
        """`name@digest`, as status shows it."""
        return f"{self.written}@{digest}"


def parse(text: str) -> Reference:
    """Read a reference; without tag and digest the tag is latest. Raises BadReference with what is wrong."""
    rest, at, digest = text.partition("@")
    if at and not is_digest(digest):
        raise _bad(text, "what follows the @ is no sha256, sha384 or sha512 digest in lower-case hex")
    name, tag = _split_tag(rest)
    if tag is not None and not _TAG.fullmatch(tag):
        raise _bad(text, "a tag is up to 128 letters, digits, dots, dashes and underscores")
    registry, repository = _split_registry(name)
    if not is_host(registry):
        raise _bad(text, f"{quoted(registry)} is no host name")
    if not _REPOSITORY.fullmatch(repository):
        raise _bad(
            text, "a repository is lower-case letters and digits, separated by dots, dashes, underscores and slashes"
        )
    if len(name) > MAX_NAME_LENGTH:
        raise _bad(text, f"the name is longer than {MAX_NAME_LENGTH} characters")
    if tag is None and not at:
        tag = "latest"
    return Reference(name, registry, repository, tag, digest or None)


def check_job_result(asked: str, named: object, digest: object) -> None:
    """Raise ValueError unless `named` is the image `asked` by that digest: the digest that it asks for, if it asks for one.

    For controllers, which do not believe what a job says that it found. Raises BadReference when `asked` cannot be read.
    """
    reference = parse(asked)
    if not isinstance(digest, str) or reference.digest not in (None, digest):
        raise ValueError(f"the job was asked for {asked} and says that it found the digest {digest}")
    if named != reference.by_digest(digest):
        raise ValueError(f"the job was asked for {asked} and says that it found {named} with the digest {digest}")


def is_host(text: str) -> bool:
    """Whether text is a host name or address, with or without a port."""
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
    if registry == "index.docker.io":
        registry = DOCKER_HUB
    if registry == DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    return registry, repository


def _bad(text: str, why: str) -> BadReference:
    return BadReference(SourceReason.INVALID_REFERENCE, f"image reference {quoted(text)} cannot be read: {why}")
