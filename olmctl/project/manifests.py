"""The manifests of a project as values that know their file and line. Pure.

A stream is split into documents as Kubernetes splits it, at lines that begin with `---`. A List is replaced by its items. What is
no YAML, or no object of Kubernetes, is refused with its place: nothing of the input is lost without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from olmctl.validation.places import line_of
from olmkit.gocompat import documents, yaml_reader
from olmkit.gocompat.go_encoding import Mismatch, round_trip, unknown_fields
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.yaml_composer import ReadOptions

MANIFEST_SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Files with these names have to be manifests; another file is one if it can be read as one."""
KUSTOMIZATION_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MAX_INPUT_BYTES: Final = 64 * 1024**2
"""Bytes of all manifests together."""
_OPTIONS: Final = ReadOptions(
    max_bytes=documents.MAX_BYTES,
    max_depth=documents.MAX_DEPTH,
    max_values=1_000_000,
    bytes_per_value=4,
    exact_numbers=False,
    text_in_binary=True,
)
_SEPARATOR: Final = b"---"
_IDENTITY: Final = ("apiVersion", "kind", "metadata")
_LIST: Final = ("v1", "List")


class BadInput(ValueError):
    """The input cannot be used; the message begins with the place, as in `deploy/all.yaml:12: ...`."""


class WrongUsage(BadInput):
    """An option cannot be used, or names a directory that does not exist: nothing has been read."""


@dataclass(frozen=True)
class Manifest:
    """One object, and the place where it is written."""

    body: dict[str, Any]
    file: str
    line: int
    """The line in the file on which its document begins, from 1."""
    text: bytes = b""
    """The text of its document."""
    steps: tuple[str | int, ...] = ()
    """The path of the object in its document: not empty for an item of a List."""

    @property
    def kind(self) -> str:
        """The kind."""
        return str(self.body["kind"])

    @property
    def api_version(self) -> str:
        """The apiVersion, as in apps/v1."""
        return str(self.body["apiVersion"])

    @property
    def group(self) -> str:
        """The API group; "" for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

    @property
    def version(self) -> str:
        """The version in the API group."""
        return self.api_version.rpartition("/")[2]

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata; {} if it has none."""
        found = self.body.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """The name; "" if it has none."""
        return str(self.metadata.get("name") or "")

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.file}:{self.line_of(())}"

    def __str__(self) -> str:
        return f"{self.kind} {self.name} ({self.place})"

    def line_of(self, path: Sequence[str | int]) -> int:
        """The line in the file of the value at a path in the object."""
        return self.line + line_of(self.text, (*self.steps, *path)) - 1 if self.text else self.line

    def refuse(self, path: Sequence[str | int], problem: str) -> BadInput:
        """The error for the value at this path."""
        return BadInput(f"{self.file}:{self.line_of(path)}: {self.kind} {self.name}: {problem}")

    def typed(self, type_name: str) -> dict[str, Any]:
        """The object as Go reads and writes it as this type. Raises BadInput for a value of another type."""
        try:
            value: dict[str, Any] = round_trip(type_name, self.body)
        except Mismatch as error:
            raise self.refuse(_steps(self.body, error.path), str(error)) from None
        return value

    def dropped_fields(self, type_name: str) -> Iterator[str]:
        """A sentence for each field that the type does not have."""
        for path in unknown_fields(type_name, self.body):
            place = f"{self.file}:{self.line_of(_steps(self.body, path))}"
            yield f"{place}: {self.kind} {self.name}: {path.lstrip('.')} is no field of a {self.kind}, and is left out"


def _steps(value: Any, path: str) -> tuple[str | int, ...]:
    """A path such as `.spec.replicas` or `.rules[0]` as keys and indexes. A key may contain dots."""
    steps: list[str | int] = []
    while path:
        if path.startswith("[") and isinstance(value, list):
            index, _, path = path[1:].partition("]")
            steps.append(int(index))
            value = value[int(index)] if int(index) < len(value) else None
            continue
        path = path.removeprefix(".")
        fitting = [key for key in value if _begins(path, key)] if isinstance(value, dict) else []
        if not fitting:
            break
        key = max(fitting, key=len)
        steps.append(key)
        value, path = value[key], path[len(key) :]
    return tuple(steps)


def _begins(path: str, key: str) -> bool:
    return path[: len(key)].casefold() == key.casefold() and path[len(key) : len(key) + 1] in ("", ".", "[")


def read_manifests(data: bytes, file: str) -> list[Manifest]:
    """All objects of a text that has to be manifests. Raises BadInput."""
    return [each for found, line, text in _documents(data, file) for each in _objects(found, file, line, text)]


def _documents(data: bytes, file: str) -> Iterator[tuple[Any, int, bytes]]:
    """The value, the first line and the text of each document that is not empty."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        try:
            found = documents.read(data)
        except ParseError as error:
            raise _unreadable(error, file, 1) from None
        yield from ((value, 1, data if len(found) == 1 else b"") for value in found)
        return
    for text, line in _split(data, file):
        try:
            values = yaml_reader.load_all(text if text.endswith(b"\n") else text + b"\n", _OPTIONS)
        except ParseError as error:
            raise _unreadable(error, file, line) from None
        yield from ((value, line, text if len(values) == 1 else b"") for value in values)


def _unreadable(error: ParseError, file: str, line: int) -> BadInput:
    at = line + max(error.line, 1) - 1
    return BadInput(f"{file}:{at}: is no YAML: {error.text}")


def _split(data: bytes, file: str) -> Iterator[tuple[bytes, int]]:
    """The documents of a stream, each with its first line."""
    parts: list[bytes] = []
    first = 1
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        if not line.startswith(_SEPARATOR):
            parts.append(line)
            continue
        rest = line[len(_SEPARATOR) :].strip()
        if rest and not rest.startswith(b"#"):
            raise BadInput(f"{file}:{number}: is no YAML: text follows --- on its line")
        if parts:
            yield b"".join(parts), first
        parts, first = [], number + 1
    if parts:
        yield b"".join(parts), first


def _objects(value: Any, file: str, line: int, text: bytes) -> Iterator[Manifest]:
    """The object that a document is, or the items of a List. Nothing for a mapping that does not claim to be an object."""
    if value is None:
        return
    found = _object(value, file, line, text, ())
    if found is None:
        return
    items = found.body.get("items")
    if (found.api_version, found.kind) != _LIST or not isinstance(items, list):
        yield found
        return
    for index, item in enumerate(items):
        inner = _object(item, file, line, text, ("items", index))
        if inner is None:
            raise BadInput(f"{file}:{found.line_of(('items', index))}: an item of the List is no object of Kubernetes")
        yield inner


def _object(value: Any, file: str, line: int, text: bytes, steps: tuple[str | int, ...]) -> Manifest | None:
    at = f"{file}:{line + line_of(text, steps) - 1 if text else line}"
    if not isinstance(value, dict):
        raise BadInput(f"{at}: is no object of Kubernetes: it is {_described(value)}, not a mapping")
    if not any(key in value for key in _IDENTITY):
        return None
    for key in _IDENTITY[:2]:
        if not (isinstance(value.get(key), str) and value[key]):
            raise BadInput(f"{at}: is no object of Kubernetes: it has no {key}")
    return Manifest(value, file, line, text, steps)


def _described(value: Any) -> str:
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else "a single value"
