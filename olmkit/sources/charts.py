"""Charts of repositories: the index of an http(s) repository, the tags of an OCI registry, and the version that is asked for.

A repository is `https://host/path`, whose index.yaml lists the charts, or `oci://host/path`, where a chart is pushed as
host/path/name. What is parsed here of an index is parsed in a process without a network (`choose`); the functions that request
something parse nothing but JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import orjson
from yarl import URL

from olmkit.errors import Waiting
from olmkit.gocompat import yaml_reader
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.version_range import MastermindsRange
from olmkit.gocompat.versions import BadRange, BadVersion, Version, parse_tolerant_version
from olmkit.gocompat.yaml_composer import ReadOptions
from olmkit.sources.errors import CONTENT_RETRY_DELAY, BadReference, SourceReason, quoted
from olmkit.sources.source import ChartSource, HttpSource, ImageSource, without_query

MAX_INDEX_BYTES = 50 * 1024**2
MAX_CHART_BYTES = 10 * 1024**2
OCI = "oci://"
INDEX = "index.yaml"
_OPTIONS = ReadOptions(
    max_bytes=MAX_INDEX_BYTES, max_depth=50, bytes_per_value=4, exact_numbers=False, text_in_binary=True
)


@dataclass(frozen=True)
class ChosenChart:
    """A version of a chart, and the address of its archive."""

    version: str
    url: str


def is_oci(source: ChartSource) -> bool:
    """Report whether the repository is a registry."""
    return source.repository.startswith(OCI)


def index_source(source: ChartSource) -> HttpSource:
    """The index of an http(s) repository."""
    url = URL(source.repository)
    return HttpSource(
        str(url.with_path(f"{url.path.rstrip('/')}/{INDEX}").with_query(url.query)), "", source.insecure_skip_verify
    )


def archive_source(source: ChartSource) -> HttpSource:
    """The archive of a chart that was chosen; its checksum is verified if it is known."""
    return HttpSource(source.url, source.digest, source.insecure_skip_verify)


def image_name(source: ChartSource) -> str:
    """The name of the chart in a registry, without a tag."""
    return f"{source.repository.removeprefix(OCI).rstrip('/')}/{source.name}"


def image_source(source: ChartSource, version: str) -> ImageSource:
    """The image of a version of a chart in a registry, whose tag has `_` for `+`."""
    return ImageSource(f"{image_name(source)}:{version.replace('+', '_')}")


def choose(source: ChartSource, index: IO[bytes]) -> ChosenChart:
    """The version that the source asks for in an index. Raises Waiting: the index may have it later."""
    index.seek(0)
    where = f"the index of {without_query(source.repository)}"
    try:
        found = _documents(index.read(MAX_INDEX_BYTES + 1))
    except ParseError as error:
        raise _missing(f"{where} cannot be read: {error}") from error
    entries = found[0].get("entries") if len(found) == 1 and isinstance(found[0], dict) else None
    if not isinstance(entries, dict):
        raise _missing(f"{where} is not the index of a repository of charts")
    listed = entries.get(source.name)
    charts = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    by_version = {str(each.get("version")): each for each in charts}
    if not by_version:
        raise _missing(f"{where} has no chart {quoted(source.name)}")
    version = newest(source, by_version, where)
    return ChosenChart(version, _url(source, by_version[version], where))


def is_version(text: str) -> bool:
    """Report whether the text is one version, and no range."""
    try:
        return bool(text) and MastermindsRange.parse(text).pinned is not None
    except BadRange:
        return False


def newest(source: ChartSource, versions: Iterable[str], where: str) -> str:
    """The newest of the versions that the source asks for. Raises Waiting if there is none, and BadReference for a range that
    cannot be read."""
    known = {text: version for text in versions if (version := _version(text)) is not None}
    if source.version in known:
        return source.version
    wanted = _range(source.version)
    matching = [(version, text) for text, version in known.items() if wanted.matches(version)]
    if matching:
        return max(matching)[1]
    available = sorted(known.items(), key=lambda item: item[1], reverse=True)[:5]
    shown = f"; the newest are {', '.join(text for text, _ in available)}" if available else ""
    raise _missing(f"{where} has no version {quoted(source.version or '*')} of chart {quoted(source.name)}{shown}")


def _documents(data: bytes) -> list[Any]:
    try:
        return [orjson.loads(data)]
    except orjson.JSONDecodeError:
        return yaml_reader.load_all(data + b"\n", _OPTIONS)


def _url(source: ChartSource, entry: Mapping[str, Any], where: str) -> str:
    """The first address of a chart; one that is relative is below the repository, and has its query."""
    urls = entry.get("urls")
    first = str(urls[0]) if isinstance(urls, list) and urls else ""
    if not first:
        raise _missing(f"{where} has no address of chart {quoted(source.name)}")
    if "://" in first:
        return first
    base = URL(source.repository)
    try:
        relative = URL(first)
        joined = URL(f"{base.origin()}{base.path.rstrip('/')}/").join(relative)
        return str(joined.with_query(relative.query or base.query))
    except ValueError:
        raise _missing(f"{where} has an address of chart {quoted(source.name)} that is none") from None


def _range(text: str) -> MastermindsRange:
    try:
        return MastermindsRange.parse(text or "*")
    except BadRange as error:
        raise BadReference(SourceReason.INVALID_REFERENCE, f"version of the chart: {error}") from error


def _version(text: str) -> Version | None:
    try:
        return parse_tolerant_version(text)
    except BadVersion:
        return None


def _missing(text: str) -> Waiting:
    return Waiting(SourceReason.SOURCE_NOT_FOUND, text, CONTENT_RETRY_DELAY)
