"""Compares the CustomResourceDefinitions that two bundles have, and finds whether a change prevents an upgrade.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.api.customresourcedefinitions import CustomResourceDefinition, conversion_of
from olmkit.crd_safety.compare import Definition, compare
from olmkit.crd_safety.problem import InvalidObject, Objects, Problem
from olmkit.crd_safety.verdict import Verdict
from rukpak.crds.conversion_order import interruption, versions_of


@dataclass(frozen=True)
class ConcernedObject:
    """A custom resource that is not valid by the new schema, or loses data: this rule is about it."""

    rule: CrdUpgradeRule
    object: InvalidObject


@dataclass(frozen=True)
class DefinitionChange:
    """One CustomResourceDefinition."""

    name: str
    changes: tuple[str, ...]
    """Sentences about its versions and their conversion."""
    refused: tuple[Problem, ...]
    """Broken rules that prevent the upgrade."""
    ignored: tuple[Problem, ...]
    """Broken rules that the settings ignore."""
    noticeable: tuple[Problem, ...] = ()
    """Broken rules that concern no custom resource."""
    concerning: tuple[Problem, ...] = ()
    """Broken rules that custom resources decide about: some are not valid, or lose data."""
    objects: tuple[ConcernedObject, ...] = ()
    """The first custom resources that prevent the upgrade."""
    permitted: tuple[ConcernedObject, ...] = ()
    """The first custom resources that lose data as the settings permit."""
    reason: str = ""
    """The reason why custom resources count as concerned though not all were checked; empty: they were, or the rules alone
    decide."""


def broken_rules(old: Mapping[str, Definition], new: Mapping[str, Definition]) -> dict[str, tuple[Problem, ...]]:
    """The rules that are broken, of the CustomResourceDefinitions that both have, by name. `old` are those on the cluster."""
    found = {name: compare(old[name], new[name]) for name in sorted(old.keys() & new.keys())}
    return {name: problems for name, problems in found.items() if problems}


def definition_changes(
    old: Mapping[str, Definition],
    new: Mapping[str, Definition],
    problems: Mapping[str, Sequence[Problem]],
    verdict: Verdict,
    awaited: Collection[str] = (),
) -> list[DefinitionChange]:
    """The CustomResourceDefinitions that both have, by name, where something is to be said. `problems` are broken_rules(),
    which the verdict is about; `awaited` are those whose conversion webhook an upgrade waits for."""
    found = []
    for name in sorted(old.keys() & new.keys()):
        sentences = tuple(_sentences(old[name], new[name], is_awaited=name in awaited))
        if sentences or name in problems:
            found.append(_definition_change(name, sentences, problems.get(name, ()), verdict))
    return found


def _definition_change(
    name: str, sentences: tuple[str, ...], problems: Sequence[Problem], verdict: Verdict
) -> DefinitionChange:
    refused, noticeable, concerning = (
        tuple(each.get(name, ())) for each in (verdict.refused, verdict.noticeable, verdict.concerning)
    )
    loses, invalid = CrdUpgradeRule.EXISTING_OBJECT_LOSES_DATA, CrdUpgradeRule.EXISTING_OBJECT_INVALID
    return DefinitionChange(
        name,
        sentences,
        refused,
        ignored=tuple(each for each in problems if each not in (*refused, *noticeable, *concerning)),
        noticeable=noticeable,
        concerning=concerning,
        objects=(*_concerned(name, loses, verdict.lossy), *_concerned(name, invalid, verdict.invalid)),
        permitted=tuple(_concerned(name, loses, verdict.permitted)),
        reason=verdict.reasons.get(name, ""),
    )


def _concerned(name: str, rule: CrdUpgradeRule, objects: Objects) -> Iterator[ConcernedObject]:
    entries = {entry for (definition, _), known in objects.items() if definition == name for entry in known}
    yield from (ConcernedObject(rule, entry) for entry in sorted(entries))


def _sentences(old: Definition, new: Definition, *, is_awaited: bool) -> Iterator[str]:
    before, after = _versions(old), _versions(new)
    for name in sorted(after.keys() - before.keys()):
        yield f"version {name} is added"
    for name in sorted(before.keys() - after.keys()):
        yield f"version {name} is removed"
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"version {name} is {'served' if after[name] else 'not served any more'}"
    stored = [_stored(definition) for definition in (old, new)]
    if stored[0] != stored[1]:
        yield f"the storage version changes, which cannot be reversed: {stored[0]} -> {stored[1]}"
    conversions = [_conversion(definition) for definition in (old, new)]
    if conversions[0] != conversions[1]:
        yield f"the conversion changes: {conversions[0]} -> {conversions[1]}"
    if text := interruption(_facts(old), versions_of(new), is_awaited=is_awaited):
        yield f"during the upgrade, {text}"


def _facts(old: Definition) -> CustomResourceDefinition:
    """The versions of the one on the cluster, and their conversion."""
    known, status = versions_of(old), old.get("status") or {}
    return CustomResourceDefinition(
        old["metadata"]["name"],
        served_versions=known.served,
        storage_version=known.storage,
        stored_versions=tuple(status.get("storedVersions") or ()),
        conversion=known.conversion,
    )


def _versions(definition: Definition) -> dict[str, bool]:
    return {version["name"]: bool(version.get("served")) for version in definition["spec"].get("versions") or ()}


def _stored(definition: Definition) -> str:
    versions = definition["spec"].get("versions") or ()
    return next((str(version["name"]) for version in versions if version.get("storage")), "none")


def _conversion(definition: Definition) -> str:
    """The strategy; of a webhook also its Service and path, never its certificate."""
    known = conversion_of(definition)
    return f"{known.strategy} {known.address}{known.path}" if known.service else known.strategy
