"""World, Plan and Done of one ClusterExtension: the observation, the next step, and its result. Values only. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from olmkit.api.catalogs import Catalog
from olmkit.api.clustercatalogs import ClusterCatalog
from olmkit.api.clusterextensions import KIND, ClusterExtension
from olmkit.api.conditions import Cause
from olmkit.api.foreign_leader import ForeignLeader
from olmkit.api.meta import OwnerReference
from olmkit.api.operators import Operator
from olmkit.api.ownership import is_dependency
from olmkit.errors import Blocked
from operator_controller.clusterextension.configuration import Configuration


@dataclass(frozen=True)
class ObservedOperator:
    """The Operator of the name that belongs to the ClusterExtension, as it was read and as a model."""

    raw: Mapping[str, Any]
    model: Operator

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> ObservedOperator:
        """Parse the API server's JSON."""
        return cls(raw, Operator.load(raw))

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls it."""
        return self.model.metadata.controller

    @property
    def is_reported(self) -> bool:
        """True if the status reports on the current spec."""
        return self.model.status.observed_generation == self.model.metadata.generation

    @property
    def is_dependency(self) -> bool:
        """True if it was created because other Operators require its package, and no person has taken it over."""
        return is_dependency(self.raw)


@dataclass(frozen=True)
class World:
    """Everything that the decision of one pass may depend on."""

    now: datetime
    raw: Mapping[str, Any]
    """The ClusterExtension as read."""
    extension: ClusterExtension
    operator: ObservedOperator | None = None
    unpacking: tuple[Catalog, ...] = ()
    """The Catalogs whose first content is being unpacked. They matter only while there is no Operator."""
    untranslated: tuple[ClusterCatalog, ...] = ()
    """The ClusterCatalogs that are about to get a Catalog. They matter as long."""
    leader: ForeignLeader | None = None
    """The controller of OLM v1 that leads, and acts on ClusterExtensions."""
    was_orphaning: bool = False
    """True if the ClusterExtension is known to have had ORPHAN_FINALIZER while it was being deleted."""
    reported: Cause | None = None
    """The cause of the failure that the last Event was about; None if this process does not know it."""

    @property
    def owned_operator(self) -> ObservedOperator | None:
        """The Operator, if this ClusterExtension owns it."""
        owner = self.operator.controller if self.operator is not None else None
        is_owned = owner is not None and owner.kind == KIND.kind and owner.uid == self.extension.metadata.uid
        return self.operator if is_owned else None

    @property
    def is_orphaning(self) -> bool:
        """True if the Operator stays when the ClusterExtension is deleted, as `kubectl delete --cascade=orphan` requests."""
        return self.extension.metadata.is_orphaning(was_orphaning=self.was_orphaning)


@dataclass(frozen=True)
class Evaluation:
    """The values that a pass evaluates once."""

    configuration: Configuration
    desired: Mapping[str, Any] | Blocked
    """The Operator as it should be, or why spec is none that an Operator can have."""


# --- the Plan


@dataclass(frozen=True)
class Keep:
    """Change nothing: everything is as desired, or another party has to act first."""


@dataclass(frozen=True)
class StandAside:
    """Change nothing while a controller of OLM v1 acts on ClusterExtensions, and check again `after` this time."""

    after: timedelta


@dataclass(frozen=True)
class SetFinalizers:
    """Add the finalizer before anything is created that has to be deleted again, or remove it when nothing is left. `finalizers`
    is the whole list."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class CreateOperator:
    """Create the Operator, unless one of its name exists."""

    operator: Mapping[str, Any]


@dataclass(frozen=True)
class ChangeOperator:
    """Change the Operator with this uid, if it has not changed."""

    name: str
    uid: str
    resource_version: str
    change: Mapping[str, Any]


@dataclass(frozen=True)
class AdoptOperator:
    """Make the ClusterExtension the owner of the Operator, if it has not changed."""

    operator: Mapping[str, Any]


@dataclass(frozen=True)
class ReleaseOperator:
    """Remove the ClusterExtension from the owners of the Operator, if it has not changed."""

    operator: Mapping[str, Any]


@dataclass(frozen=True)
class DeleteOperator:
    """Delete the Operator, if it has not changed."""

    operator: Mapping[str, Any]


Plan = (
    Keep
    | StandAside
    | SetFinalizers
    | CreateOperator
    | ChangeOperator
    | AdoptOperator
    | ReleaseOperator
    | DeleteOperator
)


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out."""

    plan: Plan
    after: timedelta | None = None


Outcome = Done | Exception
"""The end of a pass: the Plan that was carried out, or the error."""
