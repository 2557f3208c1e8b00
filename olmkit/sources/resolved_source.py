"""The exact content that a source resolves to, as the value of status.resolvedSource: its digest, its name, and how it is pinned.

    {"type": "image", "image": {"ref": …}}                                  by digest
    {"type": "git", "git": {"repository": …, "commit": …, "directory": …}}  the directory, if it is not the whole repository
    {"type": "http", "http": {"url": …, "digest": …}}                       the URL without its query
    {"type": "configMaps", "configMaps": {"digest": …}}
    {"type": "upload", "upload": {"digest": …}}
    {"type": "chart", "chart": {"repository": …, "name": …, "version": …, "url": …, "digest": …}}   the URLs without their query

Values of JSON, because jobs return them and controllers read them in statuses. Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from olmkit.api.names import digest_of_reference, is_digest
from olmkit.errors import Blocked
from olmkit.sources.errors import SourceReason
from olmkit.sources.oci.reference import parse
from olmkit.sources.source import (
    ChartSource,
    ConfigMapsSource,
    GitReference,
    GitSource,
    HttpSource,
    ImageSource,
    RefKind,
    Source,
    UploadSource,
    digest_of_files,
    without_dots,
    without_query,
)

Resolved: TypeAlias = Mapping[str, Any]


def resolved_image(ref: str) -> dict[str, Any]:
    """The value for an image, whose reference has a digest."""
    return {"type": "image", "image": {"ref": ref}}


def resolved_git(source: GitSource, commit: str) -> dict[str, Any]:
    """The value for a commit."""
    fields = {"repository": source.repository, "commit": commit}
    return {"type": "git", "git": {**fields, **({"directory": source.directory} if source.directory else {})}}


def resolved_archive(source: HttpSource, digest: str) -> dict[str, Any]:
    """The value for an archive; `digest` is that of its bytes."""
    return {"type": "http", "http": {"url": without_query(source.url), "digest": digest}}


def resolved_files(source: ConfigMapsSource) -> dict[str, Any]:
    """The value for the files of ConfigMaps."""
    return {"type": "configMaps", "configMaps": {"digest": digest_of_files(source.files)}}


def resolved_upload(digest: str) -> dict[str, Any]:
    """The value for an archive that was uploaded; `digest` is that of its bytes."""
    return {"type": "upload", "upload": {"digest": digest}}


def resolved_chart(source: ChartSource, version: str, url: str, digest: str) -> dict[str, Any]:
    """The value for a version of a chart; `digest` is that of the archive, or of the manifest in a registry."""
    fields = {"repository": without_query(source.repository), "name": source.name, "version": version}
    return {"type": "chart", "chart": {**fields, "url": without_query(url), "digest": digest}}


def content_digest(resolved: Resolved) -> str:
    """The digest by which stores have the content; "" if `resolved` names none.

    Sources of different types never have the same digest, because the type is part of what is hashed.
    """
    match resolved:
        case {"type": "image", "image": {"ref": str(ref)}}:
            return digest_of_reference(ref)
        case {"type": "git", "git": {"repository": str(repository), "commit": str(commit), **rest}}:
            return _sha256(json.dumps([repository, without_dots(str(rest.get("directory") or "")), commit]))
        case {"type": "http", "http": {"digest": str(digest)}}:
            return archive_digest(digest)
        case {"type": "configMaps", "configMaps": {"digest": str(digest)}}:
            return digest
        case {"type": "upload", "upload": {"digest": str(digest)}}:
            return _sha256(f"upload {digest}")
        case {"type": "chart", "chart": {"digest": str(digest)}}:
            return _sha256(f"chart {digest}")
        case _:
            return ""


def archive_digest(digest: str) -> str:
    """The digest of the content of an archive. It differs from the digests of other types of sources, whatever its bytes are."""
    return _sha256(f"archive {digest}")


def content_name(resolved: Resolved) -> str:
    """The name of the content for people: the image by digest, repository@commit[:directory], url@sha256:…, configMaps@sha256:…,
    upload@sha256:…; "" if `resolved` names none."""
    match resolved:
        case {"type": "image", "image": {"ref": str(ref)}}:
            return ref
        case {"type": "git", "git": {"repository": str(repository), "commit": str(commit), **rest}}:
            directory = without_dots(str(rest.get("directory") or ""))
            return f"{repository}@{commit}" + (f":{directory}" if directory else "")
        case {"type": "http", "http": {"url": str(url), "digest": str(digest)}}:
            return f"{url}@{digest}"
        case {"type": "configMaps", "configMaps": {"digest": str(digest)}}:
            return f"configMaps@{digest}"
        case {"type": "upload", "upload": {"digest": str(digest)}}:
            return f"upload@{digest}"
        case {"type": "chart", "chart": {"url": str(url), "digest": str(digest)}}:
            return f"{url}@{digest}"
        case _:
            return ""


def pinned(source: Source, resolved: Resolved) -> Source:
    """The source of exactly the content that it resolved to before, wherever its tag or branch points; the source itself if
    `resolved` names none of its type. Raises Blocked for files of ConfigMaps that have another digest: it cannot be requested."""
    match source, resolved:
        case ImageSource(), {"type": "image", "image": {"ref": str(ref)}}:
            return ImageSource(ref)
        case GitSource(), {"type": "git", "git": {"commit": str(commit)}}:
            return replace(source, reference=GitReference(RefKind.COMMIT, commit))
        case HttpSource(), {"type": "http", "http": {"digest": str(digest)}}:
            return replace(source, checksum=digest)
        case ConfigMapsSource(files), {"type": "configMaps", "configMaps": {"digest": str(digest)}}:
            if (found := digest_of_files(files)) != digest:
                words = (
                    f"the files of the configmaps are {found}, and {digest} is expected: create ConfigMaps with those files under"
                    " other names, and name them in the BundleDeployment"
                )
                raise Blocked(SourceReason.CONTENT_CHANGED, words)
            return source
        case ChartSource(), {
            "type": "chart",
            "chart": {"version": str(version), "url": str(url), "digest": str(digest)},
        }:
            return replace(source, version=version, url=_with_query(url, source), digest=digest)
        case UploadSource(), {"type": "upload", "upload": {"digest": str(digest)}}:
            return UploadSource(digest)
        case _:
            return source


def _with_query(url: str, source: ChartSource) -> str:
    """The address of an archive with the query of its repository, if it is on the same server: it may be a token."""
    host, query = url.split("/")[:3], source.repository.partition("?")[2]
    return f"{url}?{query}" if query and host == without_query(source.repository).split("/")[:3] else url


def check_job_result(source: Source, resolved: Resolved, digest: object) -> None:
    """Raise ValueError unless `resolved` is content of `source`, which may be pinned, and has the digest `digest`.

    For controllers, because results of jobs are not trusted. Raises BadReference when the source is invalid.
    """
    if not isinstance(digest, str) or not is_digest(digest):
        raise _unexpected(source, f"the digest {digest}")
    if dict(resolved) != _expected(source, resolved, digest):
        raise _unexpected(source, content_name(resolved) or "nothing that can be read")
    if digest != content_digest(resolved):
        raise _unexpected(source, f"{content_name(resolved)} with the digest {digest}")


def _expected(source: Source, resolved: Resolved, digest: str) -> Resolved | None:
    """The value that a job has to return for the source, with what only the job knows; None if that contradicts the source."""
    match source:
        case ImageSource(ref):
            reference = parse(ref)
            return resolved_image(reference.by_digest(digest)) if reference.digest in (None, digest) else None
        case GitSource(reference=GitReference(kind, name)):
            commit = (resolved.get("git") or {}).get("commit")
            if not isinstance(commit, str) or not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", commit):
                return None
            return resolved_git(source, commit) if kind is not RefKind.COMMIT or name == commit else None
        case HttpSource(checksum=checksum):
            found = (resolved.get("http") or {}).get("digest")
            if not isinstance(found, str) or not is_digest(found):
                return None
            return resolved_archive(source, found) if checksum in ("", found) else None
        case ConfigMapsSource():
            return resolved_files(source)
        case UploadSource(digest=expected):
            return resolved_upload(expected)
        case ChartSource(url=url, digest=expected):
            found = resolved.get("chart") or {}
            version, address, checksum = (str(found.get(name) or "") for name in ("version", "url", "digest"))
            is_other = (url and without_query(url) != address) or expected not in ("", checksum)
            return None if is_other or not is_digest(checksum) else resolved_chart(source, version, address, checksum)


def _unexpected(source: Source, found: str) -> ValueError:
    return ValueError(f"the job was started for {_name(source)} and reported {found}")


def _name(source: Source) -> str:
    match source:
        case ImageSource(ref):
            return ref
        case GitSource(repository, reference):
            return f"{reference} of {repository}"
        case HttpSource(url):
            return without_query(url)
        case ConfigMapsSource():
            return "ConfigMaps"
        case UploadSource(digest):
            return f"upload@{digest}"
        case ChartSource(repository, name):
            return f"chart {name} of {without_query(repository)}"


def _sha256(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
