"""World, Plan, Evaluation and Done of one ClusterCatalog: the observation, the next step, and its result.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self, TypeAlias

from olmkit.api.catalogs import Catalog
from olmkit.api.clustercatalogs import AvailabilityMode, ClusterCatalog
from olmkit.api.clusterextensions import OWNER_KIND_LABEL
from olmkit.api.foreign_leader import ForeignLeader
from olmkit.api.meta import unchanged_precondition

# --- World


@dataclass(frozen=True)
class ObservedCatalog:
    """The Catalog with the name of the ClusterCatalog, as read."""

    raw: Mapping[str, Any]
    model: Catalog

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> Self:
        """The Catalog that the API server returned."""
        return cls(raw, Catalog.load(raw))

    @property
    def identity(self) -> dict[str, str]:
        """The precondition of a write to the Catalog as it is."""
        return unchanged_precondition(self.raw)

    @property
    def image(self) -> Mapping[str, Any]:
        """spec.source.image; empty if the source is another one."""
        return (self.raw["spec"].get("source") or {}).get("image") or {}


@dataclass(frozen=True)
class World:
    """Everything that the decision may depend on.

    `existing` is the Catalog of the same name, whoever owns it. `is_served`: content is served under the name. `leader`: the
    controller of upstream that leads. `base_url`: the URL that all catalogs are served below. `was_orphaning`: the deletion
    without dependents was seen in an earlier pass.
    """

    now: datetime
    raw: Mapping[str, Any]
    cluster_catalog: ClusterCatalog
    existing: ObservedCatalog | None
    is_served: bool
    leader: ForeignLeader | None
    base_url: str
    was_orphaning: bool = False

    @property
    def name(self) -> str:
        """The name of the ClusterCatalog, and of its Catalog."""
        return self.cluster_catalog.metadata.name

    @property
    def is_unavailable(self) -> bool:
        """True if spec.availabilityMode is Unavailable: nothing may be served."""
        return self.cluster_catalog.spec.availability_mode == AvailabilityMode.UNAVAILABLE

    @property
    def owned(self) -> ObservedCatalog | None:
        """The Catalog, if this ClusterCatalog owns it."""
        controller = self.existing.model.metadata.controller if self.existing is not None else None
        is_owner = controller is not None and controller.uid == self.cluster_catalog.metadata.uid
        return self.existing if is_owner else None

    @property
    def released(self) -> ObservedCatalog | None:
        """The Catalog that stays when the ClusterCatalog is deleted, as `kubectl delete --cascade=orphan` requests; None if it is
        as it stays. The garbage collector may have removed the owner already, but not the label."""
        metadata, found = self.cluster_catalog.metadata, self.existing
        if (
            not metadata.is_orphaning(was_orphaning=self.was_orphaning)
            or found is None
            or found.model.metadata.deleting
        ):
            return None
        is_left = found.model.metadata.controller is None and OWNER_KIND_LABEL in found.model.metadata.labels
        return found if self.owned is not None or is_left else None


# --- Plan


@dataclass(frozen=True)
class StandAside:
    """Write nothing, not even a status: a controller of upstream leads."""

    after: timedelta


@dataclass(frozen=True)
class Prepare:
    """Set the finalizers and these labels of the ClusterCatalog, before anything is created that has to be deleted again.
    `finalizers` is the whole list."""

    finalizers: tuple[str, ...]
    labels: Mapping[str, str]


@dataclass(frozen=True)
class ApplyCatalog:
    """Apply the Catalog. `replaced` is the patch that comes before it: an apply removes no field that others have written, and
    the API server refuses a Catalog with two sources. Empty if there is none."""

    catalog: Mapping[str, Any]
    replaced: Mapping[str, Any]


@dataclass(frozen=True)
class AdoptCatalog:
    """Make the ClusterCatalog the owner of the Catalog, if that has not changed. `owners` is the whole list."""

    identity: Mapping[str, str]
    owners: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class ReleaseCatalog:
    """Leave the Catalog to nobody, if it has not changed. `owners` is the whole list."""

    identity: Mapping[str, str]
    owners: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class DeleteCatalog:
    """Delete the Catalog with this uid, if it has not changed."""

    uid: str
    resource_version: str


@dataclass(frozen=True)
class SetFinalizers:
    """Set the finalizers of the ClusterCatalog. `finalizers` is the whole list."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class Keep:
    """Change nothing: everything is as desired, or another party has to act first."""


Plan: TypeAlias = (
    StandAside | Prepare | ApplyCatalog | AdoptCatalog | ReleaseCatalog | DeleteCatalog | SetFinalizers | Keep
)


@dataclass(frozen=True)
class Evaluation:
    """`is_current`: the Catalog is as this ClusterCatalog wants it, and its status is about that."""

    is_current: bool = False


# --- Done


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out."""

    plan: Plan

    @property
    def after(self) -> timedelta | None:
        """The time to the next pass; None if it follows a watched change."""
        return self.plan.after if isinstance(self.plan, StandAside) else None
