"""Descriptions of custom resources from the Go types of a project: names, texts, resources, and descriptors of fields. Pure.

As operator-sdk reads them: a type and its fields of the same package, from the fields with the tags spec and status on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from olmctl.project.csv_markers import BadMarker, CsvMarker, is_csv_marker, read_marker
from olmctl.project.go_types import GoField, GoType, Marker
from olmctl.project.names import display_name

MAX_FIELDS: Final = 10_000
"""Fields that are followed from one type."""
_LAST: Final = sys.maxsize
"""The order of what has none."""


@dataclass(frozen=True)
class Placed:
    """A type, and the file that declares it."""

    type: GoType
    file: str


@dataclass
class ApiDescription:
    """The words of the types about one kind. `notes` are about what was not read."""

    value: dict[str, Any]
    order: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Found:
    path: str
    field: GoField
    file: str


def describe(kind: str, types: Mapping[str, Placed]) -> ApiDescription:
    """The description of a kind that is among the types of its package. Empty where they say nothing."""
    placed = types[kind]
    result = ApiDescription({"displayName": "", "description": placed.type.comments.doc}, _LAST)
    resources: list[Mapping[str, str]] = []
    for marker in _read(placed.type.comments.markers, placed.file, result.notes):
        result.order = marker.order if marker.order is not None else result.order
        result.value["displayName"] = marker.display_name or result.value["displayName"]
        resources += marker.resources
    result.value["resources"] = sorted(
        ({key: value for key, value in each.items() if value or key == "name"} for each in resources),
        key=lambda each: (each["name"], each["kind"], each["version"]),
    )
    for part in ("spec", "status"):
        result.value[f"{part}Descriptors"] = _descriptors(part, placed, types, result.notes)
    return result


def _read(markers: Sequence[Marker], file: str, notes: list[str]) -> Iterator[CsvMarker]:
    for each in markers:
        if is_csv_marker(each):
            try:
                yield read_marker(each)
            except BadMarker as error:
                notes.append(f"{file}:{each.line}: the marker is not read: it {error}")


def _descriptors(part: str, kind: Placed, types: Mapping[str, Placed], notes: list[str]) -> list[dict[str, Any]]:
    root = next((each for each in kind.type.fields if each.json_name == part), None)
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for each in _fields_below(root, types, kind, notes) if root is not None else ():
        own = [marker for marker in _read(each.field.comments.markers, each.file, notes) if marker.part == part]
        if own and each.path and each.path not in found:
            orders = [marker.order for marker in own if marker.order is not None]
            found[each.path] = (orders[-1] if orders else _LAST, _descriptor(each, own))
    return [value for _, value in sorted(found.values(), key=lambda each: (each[0], each[1]["path"]))]


def _descriptor(found: _Found, markers: Sequence[CsvMarker]) -> dict[str, Any]:
    title = next((each.display_name for each in markers if each.display_name), "") or display_name(found.field.name)
    described = {
        "description": found.field.comments.doc,
        "displayName": title,
        "path": found.path,
        "x-descriptors": [each for marker in markers for each in marker.x_descriptors],
    }
    return {key: value for key, value in described.items() if value}


def _fields_below(root: GoField, types: Mapping[str, Placed], kind: Placed, notes: list[str]) -> Iterator[_Found]:
    """The fields below one, level by level, with their paths; "" for those that are part of their parent."""
    level: list[tuple[GoField, tuple[str, ...], frozenset[str]]] = [(root, (), frozenset())]
    count = 0
    while level:
        below: list[tuple[GoField, tuple[str, ...], frozenset[str]]] = []
        for parent, segments, seen in level:
            for name in dict.fromkeys(parent.types):
                if name not in types or name in seen:
                    continue
                for each in types[name].type.fields:
                    count += 1
                    if count > MAX_FIELDS:
                        notes.append(
                            f"{kind.file}: {kind.type.name} has more than {MAX_FIELDS:,} fields: not all are read"
                        )
                        return
                    segment = _segment(each)
                    if segment is None:
                        continue
                    path = (*segments, segment) if segment else segments
                    yield _Found(_shown(path) if segment else "", each, types[name].file)
                    below.append((each, path, seen | {name}))
        level = below


def _segment(found: GoField) -> str | None:
    """The part of a path for a field: "" if its own fields are those of its parent, None if it is not written."""
    if not found.name or "inline" in found.json_options:
        return ""
    if found.name[0].islower() or found.name[0] == "_" or (found.json_name == "-" and not found.json_options):
        return None
    return (found.json_name or found.name) + ("[0]" if found.is_list else "")


def _shown(segments: Sequence[str]) -> str:
    """The path: a list at its end is named without an index."""
    return ".".join((*segments[:-1], segments[-1].removesuffix("[0]"))) if segments else ""
