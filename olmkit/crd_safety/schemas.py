"""Compares two structural schemas, field by field, in a worklist: the depth of a schema is up to who wrote it.

A difference that no rule understands breaks the rule unhandled-change. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.crd_safety.constraints import CONSTRAINTS, TEXT_KEYS, Finding, Schema, is_same, without_text
from olmkit.crd_safety.problem import change_of

KEPT_OF_RESOURCES = frozenset({"apiVersion", "kind", "metadata"})
"""Fields of a resource that no schema drops."""
PRESERVES = "x-kubernetes-preserve-unknown-fields"
_CHILDREN = ("properties", "items", "additionalProperties")
_CONSTRAINED_KEYS = frozenset(key for keys in CONSTRAINTS for key in keys)
_UNCOMPARED_KEYS = TEXT_KEYS | set(_CHILDREN)
_SCALARS = ("string", "integer", "number", "boolean")
_OTHER_KEYS = frozenset({
    "allOf", "anyOf", "oneOf", "not", "uniqueItems", "additionalItems", "patternProperties", "dependencies", "definitions",
    "$ref",
})  # fmt: skip
"""Keys that no rule understands. The API server drops keys that it does not know: what a bundle adds of those changes nothing."""
PathFinding = tuple[str, Rule, str]
"""The field, the broken rule, and what changes."""


def compare_schemas(old: Schema, new: Schema) -> Iterator[PathFinding]:
    """Find the changes in `new` that break a rule for values of `old`."""
    pending = [("", old, new)]
    while pending:
        path, before, after = pending.pop()
        for rule, change in _findings(before, after):
            yield path, rule, change
        known, others = children(before), children(after)
        for name in others.keys() - known.keys():
            if path or name not in KEPT_OF_RESOURCES:
                place = join(path, name)
                yield from ((place, rule, change) for rule, change in _named_findings(before, others[name]))
        for name, child in known.items():
            place = join(path, name)
            if name in others:
                pending.append((place, child, others[name]))
            elif not _is_kept(after, child) or _has_default(child):
                yield place, Rule.FIELD_REMOVED, "the field is removed"


def _named_findings(schema: Schema, child: Schema) -> Iterator[Finding]:
    """Find the changes that break a rule if a field gets a schema that had none, and whose values were kept."""
    if schema.get("additionalProperties") is True:
        before: Schema = {}
    elif schema.get(PRESERVES):
        before = {PRESERVES: True}
    else:
        return
    for rule, change in _findings(before, child):
        if rule not in (Rule.UNKNOWN_FIELDS_DROPPED, Rule.DEFAULT_ADDED):
            yield rule, change
    is_whole = child.get("type") in _SCALARS or (child.get(PRESERVES) and not children(child))
    if before and not is_whole:
        yield Rule.UNKNOWN_FIELDS_DROPPED, "fields that the schema does not name are dropped"


def _is_kept(schema: Schema, child: Schema) -> bool:
    """Report whether the values of a field that the schema does not name are kept. `additionalProperties: true` keeps no fields
    of them."""
    is_any = schema.get("additionalProperties") is True
    return (is_any and child.get("type") in _SCALARS) or (not is_any and bool(schema.get(PRESERVES)))


def children(schema: Schema) -> dict[str, Schema]:
    """The schemas of the fields, of the items (`[*]`) and of the other fields (`*`), by name."""
    found = dict(schema.get("properties") or {})
    for name, key in (("[*]", "items"), ("*", "additionalProperties")):
        if isinstance(schema.get(key), Mapping):
            found[name] = schema[key]
    return found


def join(path: str, name: str) -> str:
    """The path of a field below `path`."""
    return path + name if name == "[*]" or not path else f"{path}.{name}"


def _findings(old: Schema, new: Schema) -> Iterator[Finding]:
    changed = {key for key in (old.keys() | new.keys()) & _CONSTRAINED_KEYS if old.get(key) != new.get(key)}
    if changed:
        for keys, constraint in CONSTRAINTS.items():
            if not changed.isdisjoint(keys):
                yield from constraint(old, new)
    if old.get("additionalProperties") is True and not (new.get("additionalProperties") or new.get(PRESERVES)):
        yield Rule.UNKNOWN_FIELDS_DROPPED, "fields that the schema does not name are dropped"
    added = {key for key in new if key in _OTHER_KEYS or key.startswith("x-kubernetes-")}
    for key in sorted((old.keys() | added) - _CONSTRAINED_KEYS - _UNCOMPARED_KEYS):
        before, after = (without_text(schema.get(key)) or None for schema in (old, new))
        if not is_same(before, after):
            yield Rule.UNHANDLED_CHANGE, f"{key}: {change_of(before, after)}"


def _has_default(schema: Schema) -> bool:
    """Report whether the schema sets a value anywhere: it would not be set without it."""
    pending: list[Any] = [schema]
    while pending:
        entry = pending.pop()
        if entry.get("default") is not None:
            return True
        pending += children(entry).values()
    return False
