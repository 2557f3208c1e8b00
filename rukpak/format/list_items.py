"""Items that a list of an object has twice although their key identifies one: made one, or refused by name.

A plain create takes most of them; a server-side apply, by which rukpak installs, takes none, and says so only after other
objects were applied. Called for each rendered object by rukpak.render.renderer and olmctl.bundle.render, and for the
files of a bundle by rukpak.bundle.unpack_job. The keys of lists are those that the API server publishes
(rukpak.format.list_types). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson

from rukpak.format.list_types import LIST_TYPES
from rukpak.format.objects import BundleObject

_FIELD = re.compile(r"([^\s\[{<]+)(?:\[([^\]]*)\]|(\{\})|(<>))?(?: (\S+))?")
_CRD = "CustomResourceDefinition"
_RULES = b'"x-kubernetes-validations"'
"""The only such list of a CustomResourceDefinition. Most have none, and are long."""
_ENV, _HOST_ALIASES, _PORTS = ".env", ".hostAliases", ".ports"


@dataclass(frozen=True)
class _Field:
    """A field of a type. `keys`: name -> default; None: no list with keys. `type_name` is that of its items or values."""

    keys: Mapping[str, str] | None
    is_set: bool
    is_mapping: bool
    type_name: str


@dataclass
class _Found:
    """The findings about one object."""

    name: str
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def without_repeated_items(
    manifests: Iterable[BundleObject],
) -> tuple[list[BundleObject], tuple[str, ...], tuple[str, ...]]:
    """The objects with one item for each key, notes on what was made one, and errors about items that cannot be made one.

    Equal items are made one, and a port that says less than another one. Of environment variables the last value counts, and
    the names of host aliases are put together: what Kubernetes makes of them after a plain create.
    """
    made: list[BundleObject] = []
    notes: list[str] = []
    errors: list[str] = []
    for manifest in manifests:
        if manifest.kind == _CRD and _RULES not in orjson.dumps(manifest.body):
            made.append(manifest)
            continue
        found = _Found(str(manifest.key))
        body = _walked(f"{manifest.api_version} {manifest.kind}", manifest.body, "", found)
        made.append(manifest if body is manifest.body else BundleObject(body))
        notes += found.notes
        errors += found.errors
    return made, tuple(notes), tuple(errors)


@cache
def _types() -> Mapping[str, Mapping[str, _Field]]:
    """Type, or API version and kind -> its fields."""
    types = {}
    for line in LIST_TYPES.strip().replace("\n    ", " ").splitlines():
        name, _, fields = line.partition(": ")
        types[name] = dict(_read_field(text) for text in re.split(r", (?=\S)", fields))
    return types


def _read_field(text: str) -> tuple[str, _Field]:
    found = _FIELD.fullmatch(text.strip())
    assert found is not None, text
    name, keys, is_set, is_mapping, type_name = found.groups()
    pairs = None
    if keys is not None:
        pairs = {key: default for key, _, default in (each.partition("=") for each in keys.split(","))}
    return name, _Field(pairs, is_set is not None, is_mapping is not None, type_name or "")


def _walked(type_name: str, value: Any, path: str, found: _Found) -> Any:
    """The value without repeated items; the value itself if it has none."""
    fields = _types().get(type_name)
    if not fields or not isinstance(value, Mapping):
        return value
    changed: dict[str, Any] = {}
    for name, known in fields.items():
        if name in value:
            new = _field_value(known, value[name], f"{path}.{name}", found)
            if new is not value[name]:
                changed[name] = new
    return {**value, **changed} if changed else value


def _field_value(known: _Field, value: Any, path: str, found: _Found) -> Any:
    if known.is_mapping and isinstance(value, Mapping):
        made = {key: _walked(known.type_name, each, f"{path}[{key}]", found) for key, each in value.items()}
        return made if any(made[key] is not value[key] for key in value) else value
    if not isinstance(value, list):
        return _walked(known.type_name, value, path, found)
    items: list[Any] = value
    if known.is_set:
        items = _unique_values(value, path, found)
    elif known.keys is not None:
        items = _unique_items(known.keys, value, path, found)
    walked = [
        _walked(known.type_name, item, f"{path}[{_label(known.keys, item) or at}]", found)
        for at, item in enumerate(items)
    ]
    is_same = len(walked) == len(value) and all(new is old for new, old in zip(walked, value, strict=True))
    return value if is_same else walked


def _unique_values(values: list[Any], path: str, found: _Found) -> list[Any]:
    unique: list[Any] = []
    for value in values:
        if value not in unique:
            unique.append(value)
    if len(unique) < len(values):
        repeated = sorted({str(value) for value in values if values.count(value) > 1})
        found.notes.append(f"{found.name}: {path[1:]} has {', '.join(repeated)} more than once, which is applied once")
    return unique


def _unique_items(keys: Mapping[str, str], items: list[Any], path: str, found: _Found) -> list[Any]:
    places: dict[tuple[Any, ...], list[int]] = {}
    for at, item in enumerate(items):
        if isinstance(item, Mapping):
            key = tuple(item.get(name, default) for name, default in keys.items())
            if all(isinstance(each, str | int) for each in key):
                places.setdefault(key, []).append(at)
    made: dict[int, Any] = dict(enumerate(items))
    for same in places.values():
        if len(same) > 1:
            _make_one(keys, made, same, path, found)
    return list(made.values())


def _make_one(keys: Mapping[str, str], made: dict[int, Any], same: Sequence[int], path: str, found: _Found) -> None:
    """Leave one of the items with the same key in `made`, or add an error."""
    group = [{**{name: default for name, default in keys.items() if default}, **made[at]} for at in same]
    count = "twice" if len(same) == 2 else f"{len(same)} times"
    start = f"{found.name}: {path[1:]} has {_label(keys, group[0])} {count}"
    kept, item, text = same[0], made[same[0]], "it is applied once"
    if any(other != group[0] for other in group):
        if path.endswith(_ENV) and not _is_referenced(made, same, str(group[0]["name"])):
            kept, item, text = same[-1], made[same[-1]], "the last value counts"
        elif path.endswith(_HOST_ALIASES):
            names = (name for each in group for name in each.get("hostnames") or ())
            item, text = {**made[same[0]], "hostnames": list(dict.fromkeys(names))}, "their host names are put together"
        elif (
            path.endswith(_PORTS)
            and (widest := max(group, key=len))
            and all(other.items() <= widest.items() for other in group)
        ):
            item, text = widest, "the one that says more is applied"
        else:
            found.errors.append(f"{start}, with different values: a server-side apply takes one; remove the others")
            return
    found.notes.append(f"{start}: {text}")
    for at in same:
        if at != kept:
            del made[at]
    made[kept] = item


def _is_referenced(items: Mapping[int, Any], same: Sequence[int], name: str) -> bool:
    """Report whether the value of a variable after the first of these refers to it, which sees another value than those before
    it."""
    later = (item for at, item in items.items() if same[0] < at <= same[-1] and isinstance(item, Mapping))
    return any(f"$({name})" in str(item.get("value", "")) for item in later)


def _label(keys: Mapping[str, str] | None, item: Any) -> str:
    """The key of the item, for messages: `8080/TCP`."""
    if not keys or not isinstance(item, Mapping):
        return ""
    return "/".join(str(item.get(name, default)) for name, default in keys.items())
