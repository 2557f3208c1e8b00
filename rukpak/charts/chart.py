"""Reads the files of a Helm chart as a value, or reports what is wrong with them, before helm sees them.

Refuses what helm would refuse when it renders, as far as the files alone show it, and what helm would do with them that no
content may do: a schema that refers to a file or a URL, which helm would read. Never renders. Reads bytes, never a path.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.gocompat import documents
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.text import list_names
from olmkit.gocompat.versions import BadVersion, parse_tolerant_version
from olmkit.sources.errors import quoted
from rukpak.format.bundle import FORMAT_VERSION
from rukpak.format.errors import UNPACK_FAILED, BadBundle

CHART_FILE, REQUIREMENTS_FILE, SCHEMA_FILE, CHARTS = "Chart.yaml", "requirements.yaml", "values.schema.json", "charts/"
MAX_FILE_BYTES = 5 * 1024**2
"""The limit of one file of a chart, which helm has for those in archives."""
MAX_CHART_BYTES = 64 * 1024**2
"""The limit of all files of a chart, those in the archives of its dependencies included."""
MAX_NESTING = 10
"""Charts within charts."""
MAX_ARCHIVED_FILES = 10_000
"""The limit of files and directories in all archives of dependencies."""
_ARCHIVE = re.compile(r"charts/[^/_.][^/]*\.(tgz|tar\.gz)")
_REMOTE = re.compile(r"(file|https?):", re.IGNORECASE)


@dataclass(frozen=True)
class Chart:
    """The facts about a chart that the store holds beside its files."""

    name: str
    version: str
    app_version: str = ""


def to_json(chart: Chart) -> bytes:
    """The JSON form, which the store holds beside the files."""
    fields = {"name": chart.name, "version": chart.version, "appVersion": chart.app_version}
    return orjson.dumps({"format": FORMAT_VERSION, "type": "helm", **fields})


def from_json(data: bytes) -> Chart:
    """The chart that `to_json` wrote. Raises ValueError, KeyError and TypeError for other data."""
    raw = orjson.loads(data)
    return Chart(str(raw["name"]), str(raw["version"]), str(raw["appVersion"]))


def chart_directory(paths: Iterable[str]) -> str:
    """The directory of the chart among the files of the content: "" for the root, or a directory directly below it. Raises
    BadBundle if there is no chart, or if there are several."""
    found = sorted({path.removesuffix(CHART_FILE).rstrip("/") for path in paths if _is_chart_file(path)})
    if "" in found:
        return ""
    if len(found) == 1:
        return found[0]
    if not found:
        text = f"the content has no Helm chart: {CHART_FILE} has to be at its root, or in a directory directly below it"
        raise BadBundle(UNPACK_FAILED, text)
    text = f"the content has several Helm charts ({list_names(found)}): give the directory of one"
    raise BadBundle(UNPACK_FAILED, text, subject=found)


def read_chart(files: Mapping[str, bytes]) -> Chart:
    """The chart of these files (path in the chart -> content). Raises BadBundle with all errors."""
    reading = _Reading()
    chart = reading.read(files, "", 0)
    if reading.errors:
        raise BadBundle.of(UNPACK_FAILED, reading.errors)
    return chart


def _is_chart_file(path: str) -> bool:
    return path == CHART_FILE or (path.endswith(f"/{CHART_FILE}") and path.count("/") == 1)


class _Reading:
    """One chart with the charts within it, and the errors found so far."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._bytes = self._members = 0

    def read(self, files: Mapping[str, bytes], where: str, depth: int) -> Chart:
        """A chart; `where` is its place, for messages: "" for the chart itself, else with a slash at its end."""
        self._check_sizes(files, where)
        metadata = self._mapping(files, CHART_FILE, where)
        chart = Chart(*(str(metadata.get(name) or "") for name in ("name", "version", "appVersion")))
        self._check_metadata(metadata, chart, where, is_dependency=depth > 0)
        self._check_schema(files, where)
        present = set()
        for name, inner in self._dependencies(files, where):
            if depth >= MAX_NESTING:
                self.errors.append(f"{where}{name}: more than {MAX_NESTING} charts within charts")
                continue
            present.add(self.read(inner, f"{where}{name}/", depth + 1).name)
        self._check_dependencies(metadata, files, where, present)
        return chart

    def _check_sizes(self, files: Mapping[str, bytes], where: str) -> None:
        for path, data in sorted(files.items()):
            if len(data) > MAX_FILE_BYTES:
                self.errors.append(f"{where}{path} has {len(data):,} bytes; at most {MAX_FILE_BYTES:,} are allowed")

    def _mapping(self, files: Mapping[str, bytes], name: str, where: str) -> Mapping[str, Any]:
        """The document of a file, empty if there is none."""
        if name not in files:
            self.errors.append(f"{where}{name} is missing")
            return {}
        try:
            found = documents.read(files[name])
        except ParseError as error:
            self.errors.append(f"{where}{name}: {error}")
            return {}
        if len(found) == 1 and isinstance(found[0], dict):
            return found[0]
        self.errors.append(f"{where}{name} is not a mapping")
        return {}

    def _check_metadata(self, metadata: Mapping[str, Any], chart: Chart, where: str, *, is_dependency: bool) -> None:
        if not metadata:
            return
        if metadata.get("apiVersion") not in ("v1", "v2"):
            shown = quoted(str(metadata.get("apiVersion") or ""))
            self.errors.append(f"{where}{CHART_FILE}: apiVersion {shown} is not v1 or v2, the formats of charts")
        if not chart.name or chart.name in (".", "..") or "/" in chart.name:
            self.errors.append(f"{where}{CHART_FILE}: {quoted(chart.name)} is not the name of a chart")
        try:
            parse_tolerant_version(chart.version)
        except BadVersion as error:
            self.errors.append(
                f"{where}{CHART_FILE}: version {quoted(chart.version)} is not a semantic version: {error}"
            )
        if metadata.get("type") == "library" and not is_dependency:
            text = (
                f"chart {quoted(chart.name)} is a library chart, which other charts use and which cannot be installed"
            )
            self.errors.append(text)

    def _check_schema(self, files: Mapping[str, bytes], where: str) -> None:
        if SCHEMA_FILE not in files:
            return
        try:
            schema = orjson.loads(files[SCHEMA_FILE])
        except orjson.JSONDecodeError:
            self.errors.append(f"{where}{SCHEMA_FILE} is not JSON")
            return
        for reference in sorted(_outside(schema)):
            self.errors.append(
                f"{where}{SCHEMA_FILE} refers to {quoted(reference)}: nothing outside the chart is read, so put it there"
            )

    def _dependencies(self, files: Mapping[str, bytes], where: str) -> Iterator[tuple[str, Mapping[str, bytes]]]:
        """The charts in the directory charts: path -> files."""
        directories: dict[str, dict[str, bytes]] = {}
        for path, data in sorted(files.items()):
            if _ARCHIVE.fullmatch(path):
                yield path, self._archive(data, f"{where}{path}")
            elif path.startswith(CHARTS):
                name, slash, rest = path.removeprefix(CHARTS).partition("/")
                if slash and not name.startswith((".", "_")):
                    directories.setdefault(CHARTS + name, {})[rest] = data
        yield from ((name, inner) for name, inner in directories.items() if CHART_FILE in inner)

    def _archive(self, data: bytes, where: str) -> Mapping[str, bytes]:
        """The files of a chart in an archive, without the directory that they are in."""
        files: dict[str, bytes] = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
                for member in archive:
                    self._members += 1
                    if self._members > MAX_ARCHIVED_FILES:
                        self.errors.append(f"{where}: archives of charts have more than {MAX_ARCHIVED_FILES:,} files")
                        return {}
                    if member.isdir():
                        continue
                    if not member.isreg() or member.name.startswith("/") or ".." in member.name.split("/"):
                        self.errors.append(f"{where}: {quoted(member.name)} is a link, or a path outside the chart")
                        return {}
                    self._bytes += member.size
                    if member.size > MAX_FILE_BYTES or self._bytes > MAX_CHART_BYTES:
                        self.errors.append(f"{where}: {quoted(member.name)} makes the chart larger than it may be")
                        return {}
                    content = archive.extractfile(member)
                    files[member.name.partition("/")[2]] = content.read() if content is not None else b""
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            self.errors.append(f"{where} cannot be read as an archive: {type(error).__name__}")
        return files

    def _check_dependencies(
        self, metadata: Mapping[str, Any], files: Mapping[str, bytes], where: str, present: set[str]
    ) -> None:
        listed = metadata.get("dependencies")
        if listed is None and REQUIREMENTS_FILE in files:
            listed = self._mapping(files, REQUIREMENTS_FILE, where).get("dependencies")
        wanted = (
            [str(each.get("name")) for each in listed or () if isinstance(each, dict)]
            if isinstance(listed, list)
            else []
        )
        if missing := sorted({name for name in wanted if name not in present}):
            self.errors.append(
                f"{where}{CHART_FILE} lists dependencies that are missing in {where}{CHARTS}: {list_names(missing)}: "
                "run `helm dependency build` before the chart is packed"
            )


def _outside(schema: Any) -> set[str]:
    """The references of a schema to files and URLs that are neither its own parts nor a version of JSON Schema itself."""
    references, own = set(), {"http://json-schema.org", "https://json-schema.org"}
    pending = [schema]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            references |= {text for name in ("$ref", "$dynamicRef") if isinstance(text := each.get(name), str)}
            own |= {
                text.rstrip("#")
                for name in ("$id", "id")
                if isinstance(text := each.get(name), str) and text.strip("#/")
            }
            pending += each.values()
        elif isinstance(each, list):
            pending += each
    return {text for text in references if _REMOTE.match(text) and not text.startswith(tuple(own))}
