"""The markers `+operator-sdk:csv:customresourcedefinitions` of Go types and their fields: from a comment to values. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from olmctl.project.go_types import Marker

PREFIX: Final = "operator-sdk:csv:customresourcedefinitions"
PARTS: Final = ("spec", "status")
MAX_MARKER_CHARACTERS: Final = 10_000
_MAX_DEPTH: Final = 4
_KEY: Final = re.compile(r"\s*([A-Za-z]+)\s*=")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|`([^`]*)`')
_BARE: Final = re.compile(r"[^,;{}]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_NEEDED: Final = {"type": str, "displayName": str, "order": int, "xDescriptors": list, "resources": list}


class BadMarker(ValueError):
    """The marker cannot be read; the message is a predicate, such as "has order twice"."""


@dataclass(frozen=True)
class CsvMarker:
    """The content of a marker; a part that it does not have is empty. `part` is spec or status, for a field."""

    part: str = ""
    display_name: str = ""
    order: int | None = None
    x_descriptors: Sequence[str] = ()
    resources: Sequence[Mapping[str, str]] = field(default=())


def is_csv_marker(marker: Marker) -> bool:
    """Report whether the marker is one of these."""
    return marker.text == PREFIX or marker.text.startswith(f"{PREFIX}:")


def read_marker(marker: Marker) -> CsvMarker:
    """The content of the marker. Raises BadMarker."""
    if len(marker.text) > MAX_MARKER_CHARACTERS:
        raise BadMarker(f"has more than {MAX_MARKER_CHARACTERS:,} characters")
    found = _arguments(marker.text.removeprefix(PREFIX).removeprefix(":"))
    for key, value in found.items():
        if key not in _NEEDED:
            raise BadMarker(f"has the argument {key}, which is none of {', '.join(_NEEDED)}")
        if isinstance(value, list) and _NEEDED[key] is not list:
            raise BadMarker(f"has a list as {key}, which takes one text")
    part = found.get("type", "")
    if part not in ("", *PARTS):
        raise BadMarker(f"has the type {part!r}, which is neither spec nor status")
    given = found.get("xDescriptors", [])
    descriptors = given if isinstance(given, list) else [given]
    if not all(isinstance(each, str) for each in descriptors):
        raise BadMarker("has lists in xDescriptors, which takes texts")
    resources = found.get("resources", [])
    if not isinstance(resources, list):
        raise BadMarker("has resources without braces, which are a list such as {{Deployment,v1,name},{Service,v1}}")
    order = _order(found["order"]) if "order" in found else None
    return CsvMarker(part, found.get("displayName", ""), order, tuple(descriptors), tuple(map(_resource, resources)))


def _order(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise BadMarker(f"has the order {text!r}, which is no number")
    return int(text)


def _resource(value: Any) -> Mapping[str, str]:
    if not isinstance(value, list) or len(value) not in (2, 3) or not all(isinstance(each, str) for each in value):
        raise BadMarker("has a resource that is no kind, version and perhaps name, as {Deployment,v1,name} is")
    kind, version, *name = (each.strip() for each in value)
    return {"kind": kind, "version": version, "name": name[0] if name else ""}


def _arguments(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at = 0
    while at < len(text):
        match = _KEY.match(text, at)
        if match is None:
            raise BadMarker(f"has {text[at : at + 20]!r} where an argument such as displayName= has to be")
        if match[1] in found:
            raise BadMarker(f"has {match[1]} twice")
        value, at = _value(text, match.end(), 0)
        listed = [value]
        while text[at : at + 1] == ";":
            value, at = _value(text, at + 1, 0)
            listed.append(value)
        found[match[1]] = listed if len(listed) > 1 else listed[0]
        if text[at : at + 1] not in ("", ","):
            raise BadMarker(f"has {text[at : at + 20]!r} where a comma has to be")
        at += 1
    return found


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """The value at this place, text or a list, and the place behind it."""
    while text[at : at + 1].isspace():
        at += 1
    if text[at : at + 1] == "{":
        return _list(text, at + 1, depth + 1)
    if match := _QUOTED.match(text, at):
        value = match[2] if match[2] is not None else _unescaped(match[1])
        at = match.end()
        while text[at : at + 1].isspace():
            at += 1
        return value, at
    if text[at : at + 1] in ('"', "`"):
        raise BadMarker("has a text without an end")
    match = _BARE.match(text, at)
    assert match is not None
    return match[0].strip(), match.end()


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    if depth > _MAX_DEPTH:
        raise BadMarker("has lists in lists that mean nothing")
    found: list[Any] = []
    while True:
        while text[at : at + 1].isspace():
            at += 1
        if text[at : at + 1] == "}":
            break
        value, at = _value(text, at, depth)
        found.append(value)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "}":
            raise BadMarker("has a list without an end")
    at += 1
    while text[at : at + 1].isspace():
        at += 1
    return found, at


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text)
