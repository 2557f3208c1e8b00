"""The form of a Catalog: from texts to the Catalog to apply, and back. Pure.

The API server has the last word, by a dry run; what it says about a field of the Catalog stands at the field of the form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from console.forms.checks import name_problem
from console.forms.places import MISSING, Place, value_at, with_value
from olmkit.api import catalogs

Texts = Mapping[str, str]
TYPES: Final = ("image", "git", "http", "configMaps")
REFS: Final = ("branch", "tag", "commit")
NAMES: Final = (
    "name", "type", "image", "pullSecret", "repository", "refType", "ref", "directory", "url", "checksum", "configMaps",
    "secret", "pollInterval", "priority", "availability", "displayName", "publisher", "packages",
)  # fmt: skip
"""The fields of the form."""
_OF_TYPE: Final[Mapping[str, Mapping[str, Place]]] = {
    "image": {"image": ("ref",), "pullSecret": ("pullSecret",), "pollInterval": ("pollInterval",)},
    "git": {
        "repository": ("repository",),
        "directory": ("directory",),
        "secret": ("auth", "secret", "name"),
        "pollInterval": ("pollInterval",),
    },
    "http": {
        "url": ("url",),
        "checksum": ("checksum",),
        "secret": ("auth", "secret", "name"),
        "pollInterval": ("pollInterval",),
    },
    "configMaps": {},
}
"""Fields of the form by type of source: their places below spec.source.<type>."""
_REQUIRED: Final = {"image": "image", "git": "repository", "http": "url", "configMaps": "configMaps"}


@dataclass(frozen=True)
class Read:
    """The Catalog that a form leads to, and what is wrong by the names of fields."""

    catalog: dict[str, Any]
    problems: Mapping[str, str]


def texts_of(catalog: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the form for a Catalog."""
    texts = dict.fromkeys(NAMES, "")
    spec = catalog.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    kind = _text(value_at(spec, ("source", "type"))) or "image"
    source = value_at(spec, ("source", kind))
    for name, place in _OF_TYPE.get(kind, {}).items():
        texts[name] = _text(value_at(source, place))
    ref = value_at(source, ("ref",)) if kind == "git" else MISSING
    ref_type = next((each for each in REFS if isinstance(ref, dict) and ref.get(each)), "branch")
    texts["ref"] = _text(value_at(ref, (ref_type,)))
    if kind == "configMaps" and isinstance(source, list):
        texts["configMaps"] = ", ".join(_text(value_at(each, ("configMap", "name"))) for each in source)
    packages = spec.get("packages")
    return {
        **texts,
        "name": _text(value_at(catalog, ("metadata", "name"))),
        "type": kind,
        "refType": ref_type,
        "priority": _text(spec.get("priority")) or "0",
        "availability": _text(spec.get("availability")) or "Available",
        "displayName": _text(spec.get("displayName")),
        "publisher": _text(spec.get("publisher")),
        "packages": ", ".join(map(_text, packages)) if isinstance(packages, list) else "",
    }


def read(texts: Texts, before: Mapping[str, Any]) -> Read:
    """The Catalog of the texts. A field whose text is that of the Catalog `before` stays as it is there."""
    known = texts_of(before)
    given = {**known, **{name: texts[name].strip() for name in NAMES if name in texts}}
    problems: dict[str, str] = {}
    _check(given, problems)
    head = {"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "metadata": before.get("metadata", {})}
    result: Any = {**head, **before}
    result = with_value(result, ("metadata", "name"), given["name"])
    if given["type"] != known["type"] or not before:
        result = with_value(result, ("spec", "source"), {"type": given["type"]})
        known = {**known, **dict.fromkeys(("ref", "configMaps", *_OF_TYPE.get(given["type"], ())), "")}
    result = _with_source(result, given, known)
    for name in ("displayName", "publisher"):
        if given[name] != known[name]:
            result = with_value(result, ("spec", name), given[name] or MISSING)
    if given["availability"] != known["availability"]:
        result = with_value(result, ("spec", "availability"), given["availability"])
    if given["priority"] != known["priority"] and "priority" not in problems:
        result = with_value(result, ("spec", "priority"), int(given["priority"]))
    if given["packages"] != known["packages"]:
        result = with_value(result, ("spec", "packages"), listed(given["packages"]) or MISSING)
    return Read(result, problems)


def _with_source(result: Any, given: Texts, known: Texts) -> Any:
    kind = given["type"]
    start: Place = ("spec", "source", kind)
    for name, place in _OF_TYPE.get(kind, {}).items():
        if given[name] != known[name]:
            whole = place[:1] if not given[name] and place[0] == "auth" else place
            result = with_value(result, (*start, *whole), given[name] or MISSING)
    if kind == "git" and (given["ref"], given["refType"]) != (known["ref"], known["refType"]):
        result = with_value(result, (*start, "ref"), {given["refType"]: given["ref"]})
    if kind == "configMaps" and given["configMaps"] != known["configMaps"]:
        there = value_at(result, start)
        by_name = {value_at(each, ("configMap", "name")): each for each in (there if isinstance(there, list) else ())}
        names = listed(given["configMaps"])
        result = with_value(result, start, [by_name.get(each, {"configMap": {"name": each}}) for each in names])
    return result


def listed(text: str) -> list[str]:
    """The names in a text, separated by commas or blanks, each once."""
    return list(dict.fromkeys(re.split(r"[\s,]+", text.strip(" \t\r\n,")))) if text.strip(" \t\r\n,") else []


def _check(given: Texts, problems: dict[str, str]) -> None:
    if problem := name_problem(given["name"]):
        problems["name"] = problem
    _check_source(given, problems)
    if not re.fullmatch(r"[+-]?[0-9]{1,10}", given["priority"]):
        problems["priority"] = "must be a whole number"
    if given["availability"] not in ("Available", "Unavailable"):
        problems["availability"] = "must be one of Available, Unavailable"


def _check_source(given: Texts, problems: dict[str, str]) -> None:
    kind = given["type"]
    if kind not in TYPES:
        problems["type"] = f"must be one of {', '.join(TYPES)}"
    elif not given[_REQUIRED[kind]]:
        problems[_REQUIRED[kind]] = "is required"
    if kind == "git":
        if given["refType"] not in REFS:
            problems["refType"] = f"must be one of {', '.join(REFS)}"
        elif not given["ref"]:
            problems["ref"] = f"name the {given['refType']}"
    if kind == "image" and "@" in given["image"] and given["pollInterval"]:
        problems["pollInterval"] = (
            "leave this empty: cannot specify pollInterval while using digest-based image: a digest never changes"
        )


def field_of(error: str, kind: str) -> str:
    """The field of the form for a field of the Catalog in an error of the API server; "" if there is none."""
    path = error.lstrip(".")
    if path.startswith("metadata.name"):
        return "name"
    for name in ("priority", "availability", "displayName", "publisher", "packages"):
        if path.startswith(f"spec.{name}"):
            return name
    source = f"spec.source.{kind}"
    if kind == "git" and path.startswith(f"{source}.ref"):
        return "ref"
    for name, place in _OF_TYPE.get(kind, {}).items():
        if path.startswith(".".join((source, *map(str, place)))):
            return name
    if path == source and kind == "image":
        return "pollInterval"
    return _REQUIRED.get(kind, "") if path.startswith("spec.source") else ""


def order(names: Mapping[str, int], name: str, priority: int) -> tuple[tuple[str, int], ...]:
    """The Catalogs by priority, the highest first, with this one among them."""
    every = {**names, **({name: priority} if name else {})}
    return tuple(sorted(every.items(), key=lambda item: (-item[1], item[0])))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is MISSING or value is None else str(value)
