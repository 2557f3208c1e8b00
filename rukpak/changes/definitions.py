"""What changes in the CustomResourceDefinitions that two bundles have, and whether that prevents an upgrade.

Called by olmctl.cluster.diff. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from rukpak.crd_safety.compare import Definition, compare
from rukpak.crd_safety.problem import Problem
from rukpak.crd_safety.refusal import counted


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


def definition_changes(
    old: Mapping[str, Definition], new: Mapping[str, Definition], settings: CrdUpgradeSafety | None
) -> list[DefinitionChange]:
    """The CustomResourceDefinitions that both have, by name, where something is to be said. `old` are those on the cluster."""
    found = []
    for name in sorted(old.keys() & new.keys()):
        problems = compare(old[name], new[name])
        refused = tuple(counted({name: problems}, settings).get(name, ()))
        ignored = tuple(problem for problem in problems if problem not in refused)
        change = DefinitionChange(name, tuple(_sentences(old[name], new[name])), refused, ignored)
        if change.changes or problems:
            found.append(change)
    return found


def _sentences(old: Definition, new: Definition) -> Iterator[str]:
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


def _versions(definition: Definition) -> dict[str, bool]:
    return {version["name"]: bool(version.get("served")) for version in definition["spec"].get("versions") or ()}


def _stored(definition: Definition) -> str:
    versions = definition["spec"].get("versions") or ()
    return next((str(version["name"]) for version in versions if version.get("storage")), "none")


def _conversion(definition: Definition) -> str:
    """The strategy; of a webhook also its Service and path, never its certificate."""
    conversion = definition["spec"].get("conversion") or {}
    strategy = conversion.get("strategy") or "None"
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service") or {}
    if not service:
        return str(strategy)
    return f"{strategy} {service.get('namespace')}/{service.get('name')}{service.get('path') or ''}"
