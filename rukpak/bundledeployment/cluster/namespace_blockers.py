"""Finds what a Namespace that is being deleted waits for: objects with finalizers, and what its controller cannot list or delete.

The second is read from the conditions of the Namespace, as facts: their texts name several errors in any order. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.gocompat.text import list_names
from rukpak.format.objects import ObjectKey

DISCOVERY_FAILED, CONTENT_FAILED = "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure"
"""Conditions of a Namespace that is being deleted: not all APIs could be discovered; not all objects could be deleted."""
_UNCONVERTED = re.compile(r"conversion webhook for ([^\s/]*)/[^\s/,]+, Kind=(\w+) failed")
_FORBIDDEN = re.compile(r"([a-z0-9]+\.[a-z0-9.-]+) is forbidden")
_UNDISCOVERED = re.compile(r"(?:^|[\s,])([a-z0-9.-]+/v[a-z0-9]+): ")


@dataclass(frozen=True)
class NamespaceBlockers:
    """The objects, kinds and API servers that the deletion of one Namespace waits for. Each tuple is sorted."""

    finalizers: Mapping[ObjectKey, tuple[str, ...]] = field(default_factory=dict)
    """Of each object in it that has some."""
    unconverted: tuple[str, ...] = ()
    """Kinds whose conversion webhook does not answer, as `Boat.example.com`."""
    forbidden: tuple[str, ...] = ()
    """Resources whose API server refuses the namespace controller, as `boats.example.com`."""
    undiscovered: tuple[str, ...] = ()
    """Groups and versions whose API server does not answer, as `example.com/v1`."""
    is_unknown: bool = False
    """True if its controller fails for another reason."""

    def sentence(self) -> str:
        """Say what it waits for and what to do, as the end of a sentence; empty if nothing is known."""
        return "; ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if self.finalizers:
            yield list_names(f"{key} (finalizers: {', '.join(names)})" for key, names in self.finalizers.items())
        if self.unconverted:
            yield (
                f"custom resources of {list_names(self.unconverted)}, whose conversion webhook does not answer: see to the "
                "Service that the CustomResourceDefinition names in spec.conversion"
            )
        if self.forbidden:
            yield f"{list_names(self.forbidden)}, whose API server does not let the namespace controller delete them"
        if self.undiscovered:
            yield f"the API {list_names(self.undiscovered)}, which does not answer: see to its APIService"
        if self.is_unknown:
            yield "what its controller cannot delete: its status.conditions say more"


def blockers_of(namespace: Mapping[str, Any]) -> NamespaceBlockers:
    """Read the blockers from the conditions of a Namespace; without finalizers."""
    conditions = true_conditions(namespace)
    content, discovery = (conditions.get(name, "") for name in (CONTENT_FAILED, DISCOVERY_FAILED))
    found = NamespaceBlockers(
        unconverted=_sorted(f"{kind}.{group}" for group, kind in _UNCONVERTED.findall(content)),
        forbidden=_sorted(_FORBIDDEN.findall(content)),
        undiscovered=_sorted(_UNDISCOVERED.findall(discovery)),
    )
    is_failing = bool(content or discovery)
    return NamespaceBlockers(is_unknown=True) if is_failing and found == NamespaceBlockers() else found


def true_conditions(namespace: Mapping[str, Any]) -> dict[str, str]:
    """Message by type of the conditions that are True."""
    conditions = (namespace.get("status") or {}).get("conditions") or ()
    return {entry["type"]: entry.get("message", "") for entry in conditions if entry.get("status") == "True"}


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
