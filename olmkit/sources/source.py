"""Sources of content as values: an image, a directory of a git repository, an archive, the files of ConfigMaps, an upload. Pure.

Contains no credentials: Access does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import msgspec

from olmkit.api.patterns import RELATIVE_PATH
from olmkit.sources.errors import BadReference, SourceReason, quoted
from olmkit.sources.oci.reference import parse


class RefKind(StrEnum):
    """The type of a git reference, as in the spec and in messages."""

    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"


@dataclass(frozen=True)
class GitReference:
    """A branch or tag by its short name, or a commit by all of its 40 or 64 hex digits."""

    kind: RefKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class ImageSource(msgspec.Struct, frozen=True, tag="image"):
    """An image, by tag or digest."""

    ref: str


class GitSource(msgspec.Struct, frozen=True, tag="git", rename="camel"):
    """`directory` of the repository is the root of the content; "" is the whole repository."""

    repository: str
    reference: GitReference
    directory: str = ""
    insecure_skip_verify: bool = False


class HttpSource(msgspec.Struct, frozen=True, tag="http", rename="camel"):
    """A tar archive. `checksum` is "" or "sha256:<hex>" of the archive, which is then required to match."""

    url: str
    checksum: str = ""
    insecure_skip_verify: bool = False


class ConfigMapsSource(msgspec.Struct, frozen=True, tag="configMaps"):
    """Files as (path, bytes), made by configmaps.gather; they are part of a job's request."""

    files: tuple[tuple[str, bytes], ...]

    def __repr__(self) -> str:
        return "ConfigMapsSource()"


class ChartSource(msgspec.Struct, frozen=True, tag="chart", rename="camel"):
    """A Helm chart of a repository. `version` is a version or a range, "" for the newest. `url` and `digest` ("sha256:<hex>") are
    those of the version that was chosen: of its archive, or of its manifest in a registry; "" before."""

    repository: str
    name: str
    version: str = ""
    url: str = ""
    digest: str = ""
    insecure_skip_verify: bool = False


class UploadSource(msgspec.Struct, frozen=True, tag="upload"):
    """An archive that was uploaded: "sha256:<hex>". Its bytes are in the directory of the job, in the file UPLOAD_FILE."""

    digest: str


Source: TypeAlias = ImageSource | GitSource | HttpSource | ConfigMapsSource | UploadSource | ChartSource

UPLOAD_FILE = "upload"

CONTENT_NOUNS: Mapping[str, str] = {
    "image": "image",
    "git": "commit",
    "http": "archive",
    "configMaps": "set of files",
    "upload": "archive",
    "chart": "chart",
}
"""Type of a source -> the name of its content in messages."""


def type_of(source: Source) -> str:
    """The type of the source, as in specs."""
    tag = source.__struct_config__.tag
    return str(tag)


def identity(source: Source) -> str:
    """A short text that is equal for equal sources only. It contains no secrets, not even the query of a URL."""
    match source:
        case ImageSource(ref):
            return ref
        case GitSource(repository, reference):
            return f"git {repository} {reference} {_hash_of_fields(source)}"
        case HttpSource(url):
            return f"http {without_query(url)} {_hash_of_fields(source)}"
        case ConfigMapsSource(files):
            return f"configMaps {digest_of_files(files)}"
        case UploadSource(digest):
            return f"upload {digest}"
        case ChartSource(repository, name):
            return f"chart {without_query(repository)} {name} {_hash_of_fields(source)}"


def server_of(source: Source) -> str:
    """The host that the source is fetched from, with its port if it has one; "" for none, and if it cannot be read."""
    match source:
        case ImageSource(ref):
            try:
                return parse(ref).registry
            except BadReference:
                return ""
        case GitSource(repository=url) | HttpSource(url) | ChartSource(repository=url):
            _, separator, rest = without_query(url).partition("://")
            return rest.partition("/")[0] if separator else url.partition(":")[0].rpartition("@")[2]
        case ConfigMapsSource() | UploadSource():
            return ""


def digest_of_files(files: Iterable[tuple[str, bytes]]) -> str:
    """ "sha256:<hex>" of files: of their paths and digests, sorted by path."""
    total = hashlib.sha256()
    for path, data in sorted(files):
        total.update(f"{hashlib.sha256(data).hexdigest()}  {path}\n".encode())
    return f"sha256:{total.hexdigest()}"


def without_query(url: str) -> str:
    """The URL without query, fragment, user and password, which may contain secrets."""
    shown = url.partition("#")[0].partition("?")[0]
    scheme, separator, rest = shown.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}" if separator else shown


def clean_directory(path: str, what: str = "directory") -> str:
    """A relative path without "./" and slashes at its ends; "" is the root. Raises BadReference for a path outside it."""
    if path and not re.fullmatch(RELATIVE_PATH, path):
        text = f"{what} {quoted(path)} is not a path within the content: it must be relative, without .. and without empty parts"
        raise BadReference(SourceReason.INVALID_REFERENCE, text)
    return without_dots(path)


def without_dots(path: str) -> str:
    """The path without "./" and slashes at its ends."""
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _hash_of_fields(source: Source) -> str:
    """16 hex digits of a hash of all fields."""
    return hashlib.sha256(json.dumps(msgspec.to_builtins(source), sort_keys=True).encode()).hexdigest()[:16]
