"""What the install controller can do for a BundleDeployment, one step at a time, and what came of it.

Chosen by rukpak.bundledeployment.decide and removal, carried out by apply and withdraw, read by report. Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from rukpak.bundledeployment.world import (
    BundleInfo,
    CustomResource,
    LabeledObject,
    NamespaceInfo,
    RenderedBundle,
    RenderedObject,
)
from rukpak.format.objects import ObjectKey


@dataclass(frozen=True)
class AddFinalizer:
    """Hold the BundleDeployment until its objects are gone."""


@dataclass(frozen=True)
class ApplyBundle:
    """Make the wanted Bundle or, when somebody deleted it, the active one; or bring labels and annotations up to date."""

    body: Mapping[str, Any]
    is_new: bool


@dataclass(frozen=True)
class DeleteBundles:
    """Delete Bundles that are neither wanted nor active."""

    bundles: tuple[BundleInfo, ...]


@dataclass(frozen=True)
class UpdateInventory:
    """Write which kinds of objects there may be."""

    kinds: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class PhaseStep:
    """Objects of one stage that are to be applied."""

    phase: int
    """Counted from 1."""
    items: tuple[RenderedObject, ...]


@dataclass(frozen=True)
class Apply:
    """Apply objects, stage after stage; with `rehearse` each stage is tried as a dry-run of the server first."""

    content: RenderedBundle
    steps: tuple[PhaseStep, ...]
    dry_run_first: bool


@dataclass(frozen=True)
class Announce:
    """Say what cannot be taken back, before it is begun."""


@dataclass(frozen=True)
class Activate:
    """All objects are there: the wanted Bundle is the active one."""


@dataclass(frozen=True)
class Prune:
    """Remove objects that are not in the bundle any more, then Namespaces; CRDs and Namespaces in use are released."""

    members: tuple[LabeledObject, ...]
    namespaces: tuple[NamespaceInfo, ...] = ()


@dataclass(frozen=True)
class DeleteObjects:
    """Delete objects of a BundleDeployment that is being deleted, group after group."""

    name: str
    """What they are, for people."""
    groups: tuple[tuple[LabeledObject | CustomResource, ...], ...]


@dataclass(frozen=True)
class LookInto:
    """See what else is in Namespaces that are about to go."""

    namespaces: tuple[NamespaceInfo, ...]


@dataclass(frozen=True)
class LeaveNamespaces:
    """Stop being a member; with `remove` the Namespace goes, being ours alone."""

    leave: tuple[NamespaceInfo, ...]
    delete: tuple[NamespaceInfo, ...]


@dataclass(frozen=True)
class RemoveFinalizer:
    """Nothing is left: let it go."""


@dataclass(frozen=True)
class NothingToDo:
    """Nothing is to be done, at least not for that long."""

    after: timedelta | None = None


Plan = (
    AddFinalizer
    | ApplyBundle
    | DeleteBundles
    | UpdateInventory
    | Announce
    | Apply
    | Activate
    | Prune
    | DeleteObjects
    | LookInto
    | LeaveNamespaces
    | RemoveFinalizer
    | NothingToDo
)


class Verb(StrEnum):
    """What an apply did to an object."""

    CREATED = "created"
    CHANGED = "changed"
    REVERTED = "reverted"  # somebody else had changed what is ours in it
    RECREATED = "recreated"  # somebody else had deleted it


@dataclass(frozen=True, order=True)
class ObjectChange:
    """An object that an apply made or changed, and why. `is_first`: not for the third time in a row."""

    key: ObjectKey
    verb: Verb
    why: str
    is_first: bool = True

    def __str__(self) -> str:
        """As log lines show it: `created Deployment.apps ns/name (bundle x)`, `reverted …: changed by kubectl-edit`."""
        is_drift = self.verb in (Verb.REVERTED, Verb.RECREATED)
        return f"{self.verb} {self.key}: {self.why}" if is_drift else f"{self.verb} {self.key} ({self.why})"


@dataclass(frozen=True)
class Done:
    """What was done, and when to look again (None: when something that is watched changes)."""

    plan: Plan
    after: timedelta | None = None
    applied: frozenset[ObjectKey] = frozenset()
    changes: tuple[ObjectChange, ...] = ()
