"""Compares a CustomResourceDefinition on the cluster with the one that is to replace it.

Each version is compared with itself. Without a conversion webhook custom resources are the same objects in all versions. Then
versions that are served together are compared with each other, and each version that is served or stored with the one that custom
resources are stored in from now on: the API server drops from an object that it writes what the schema of that version does not
have. What two versions on the cluster disagree about already does not count, and neither does status if it is a subresource: the
operator alone writes it. Never decides what a broken rule leads to. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from olmkit.api.crd_upgrade_rules import OPT_OUT_ANNOTATION
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.api.customresourcedefinitions import conversion_of
from olmkit.crd_safety.constraints import Schema
from olmkit.crd_safety.problem import Problem
from olmkit.crd_safety.schemas import PRESERVES, PathFinding, compare_schemas

Definition = Mapping[str, Any]
"""A CustomResourceDefinition of apiextensions.k8s.io/v1 as JSON."""
_BAD_INPUT_ERRORS = (TypeError, AttributeError, ValueError, LookupError, RecursionError)
_DROPS = frozenset({Rule.FIELD_REMOVED, Rule.UNKNOWN_FIELDS_DROPPED})
"""Rules about values that a write through another version drops."""
_STORAGE = _DROPS | {Rule.TYPE_CHANGED, Rule.DEFAULT_ADDED, Rule.DEFAULT_CHANGED, Rule.DEFAULT_REMOVED}
"""Rules about what the version of the storage does to an object, whichever version it is read and written in: the API server
does not validate by it, but it drops fields and sets defaults."""
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def compare(old: Definition, new: Definition) -> tuple[Problem, ...]:
    """The rules that `new` breaks, sorted. `old` is as the API server returns it, with its status."""
    if (new.get("metadata", {}).get("annotations") or {}).get(OPT_OUT_ANNOTATION) == "false":
        return ()
    try:
        return tuple(sorted(set(_problems(old, new))))
    except _BAD_INPUT_ERRORS as error:
        text = f"the schemas cannot be compared: {type(error).__name__}"
        return (Problem("", "", Rule.UNHANDLED_CHANGE, text),)


def schemas(definition: Definition) -> dict[str, Schema]:
    """The schema of each version; that of status permits anything if it is a subresource."""
    return {
        name: _with_any_status(schema) if is_apart else schema for name, (schema, is_apart) in _all(definition).items()
    }


def _all(definition: Definition) -> dict[str, tuple[Schema, bool]]:
    """The schema of each version, and whether status is a subresource."""
    versions = definition["spec"].get("versions") or ()
    return {
        version["name"]: (
            (version.get("schema") or {}).get("openAPIV3Schema") or {},
            (version.get("subresources") or {}).get("status") is not None,
        )
        for version in versions
    }


def _without_status(schema: Schema) -> Schema:
    fields = {name: entry for name, entry in (schema.get("properties") or {}).items() if name != "status"}
    return {
        **schema,
        "properties": fields,
        "required": [name for name in schema.get("required") or () if name != "status"],
    }


def _with_any_status(schema: Schema) -> Schema:
    found = _without_status(schema)
    return {**found, "properties": {**found["properties"], "status": {PRESERVES: True}}}


def _compared(old: tuple[Schema, bool], new: tuple[Schema, bool]) -> Iterator[PathFinding]:
    if old[1] and new[1]:
        return compare_schemas(_without_status(old[0]), _without_status(new[0]))
    return compare_schemas(old[0], new[0])


def has_webhook(definition: Definition) -> bool:
    """Report whether a webhook converts custom resources from one version to another."""
    return conversion_of(definition).is_webhook


def served_versions(definition: Definition) -> list[str]:
    """The names of the versions that are served, in their order."""
    return [version["name"] for version in definition["spec"].get("versions") or () if version.get("served")]


def storage_version(definition: Definition) -> str:
    """The name of the version that custom resources are stored in; empty if there is none."""
    versions = definition["spec"].get("versions") or ()
    return next((version["name"] for version in versions if version.get("storage")), "")


def _problems(old: Definition, new: Definition) -> Iterator[Problem]:
    yield from _definition_problems(old, new)
    before, after = _all(old), _all(new)
    for version in before.keys() & after.keys():
        yield from _as_problems(version, _compared(before[version], after[version]))
    if not has_webhook(new):
        known = set() if has_webhook(old) else set(_served_problems(old))
        yield from (problem for problem in _served_problems(new) if problem not in known)
        yield from _storage_problems(old, new)


def _definition_problems(old: Definition, new: Definition) -> Iterator[Problem]:
    before, after = old["spec"], new["spec"]
    if before.get("scope") != after.get("scope"):
        yield Problem("", "", Rule.SCOPE_CHANGED, f"{before.get('scope')} -> {after.get('scope')}")
    kinds = [str((spec.get("names") or {}).get("kind")) for spec in (before, after)]
    if kinds[0] != kinds[1]:
        yield Problem("", "", Rule.KIND_CHANGED, " -> ".join(kinds))
    stored = (old.get("status") or {}).get("storedVersions") or ()
    for version in stored:
        if version not in schemas(new):
            text = "custom resources may be stored in this version, and it is removed"
            yield Problem(version, "", Rule.STORED_VERSION_REMOVED, text)
    if has_webhook(old) and not has_webhook(new) and len(served_versions(new)) > 1:
        yield Problem("", "", Rule.CONVERSION_REMOVED, "Webhook -> None")


def _served_problems(definition: Definition) -> Iterator[Problem]:
    """Find the values of each served version that a newer one does not accept. A field that only the older one has is dropped on
    writing through the newer one: see _storage_problems()."""
    known = _all(definition)
    for older, newer in combinations(sorted(served_versions(definition), key=version_priority), 2):
        found = (entry for entry in _compared(known[older], known[newer]) if entry[1] is not Rule.FIELD_REMOVED)
        yield from _as_problems(f"{older} -> {newer}", found)


def _storage_problems(old: Definition, new: Definition) -> Iterator[Problem]:
    """Find what the new version of the storage drops or sets of each version that is served or stored, and what each version that
    is served drops of the objects that are stored, when they are written through it."""
    known = set() if has_webhook(old) else {key for key, _ in _storage_findings(old, old)}
    for key, problem in _storage_findings(old, new):
        if key not in known:
            yield problem


def _storage_findings(old: Definition, new: Definition) -> Iterator[tuple[tuple[object, ...], Problem]]:
    """Each finding, and what it is known by, whichever version is that of the storage."""
    forms, before, after = {**_all(old), **_all(new)}, storage_version(old), storage_version(new)
    stored = {before, *((old.get("status") or {}).get("storedVersions") or ())}
    pairs = [(each, after, _STORAGE) for each in {*served_versions(old), *served_versions(new), *stored}]
    pairs += [(before, each, _DROPS) for each in served_versions(new)]
    for source, target, rules in pairs:
        if source == target or source not in forms or target not in forms:
            continue
        for path, rule, change in _compared(forms[source], forms[target]):
            if rule in rules:
                other = source if rules is _STORAGE else target
                yield (rules, other, path, rule, change), Problem(f"{source} -> {target}", path, rule, change)


def _as_problems(version: str, findings: Iterator[PathFinding]) -> Iterator[Problem]:
    return (Problem(version, path, rule, change) for path, rule, change in findings)


def version_priority(version: str) -> tuple[int, int, int, int, str]:
    """Older versions first: others than v<n>, then v1alpha1, v1beta1, v1, v2."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (0, 0, 0, 0, version)
    major, stage, minor = match.groups()
    return (1, _STAGES[stage], int(major), int(minor or 0), version)
