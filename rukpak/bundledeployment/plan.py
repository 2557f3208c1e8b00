"""The Plans of a BundleDeployment, one per pass, and their result.

decide returns a Plan, act carries it out, and report reads its result. Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from olmkit.crd_safety.evidence import Form
from rukpak.bundledeployment.bundle_info import BundleInfo
from rukpak.bundledeployment.charts.chart_state import ChartInputs
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import NAMESPACE, CustomResource, LabeledObject
from rukpak.certificates.serving_certificate import Step
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import Endpoint


@dataclass(frozen=True)
class ApplyBundle:
    """Create the desired Bundle, or the active Bundle if it was deleted; or update the labels and annotations of a Bundle."""

    body: Mapping[str, Any]
    is_new: bool


@dataclass(frozen=True)
class DeleteBundles:
    """Delete Bundles that are neither desired nor active, or a Bundle that an earlier BundleDeployment of this name has left."""

    bundles: tuple[BundleInfo, ...]


@dataclass(frozen=True)
class UpdateInventory:
    """Write the annotation that names the kinds of all objects that may exist, together with the finalizer, which keeps the
    BundleDeployment until these objects are deleted."""

    kinds: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class PhaseStep:
    """The objects of one phase to apply."""

    phase: int
    """The number of the phase, counted from 1."""
    items: tuple[RenderedObject, ...]
    is_new: bool = False
    """True if none of the objects exists, and all are of Kubernetes' own kinds."""


@dataclass(frozen=True)
class Apply:
    """Apply objects, phase after phase. With `dry_run_first`, a phase that changes objects or contains custom resources is first
    applied as a server-side dry run."""

    content: RenderedBundle
    steps: tuple[PhaseStep, ...]
    dry_run_first: bool

    def has_dry_run(self, step: PhaseStep) -> bool:
        """Report whether the phase has a dry run first. A dry run of a single object, or of new objects, would prove no more than
        their apply."""
        return self.dry_run_first and len(step.items) > 1 and not step.is_new


@dataclass(frozen=True)
class CheckPermissions:
    """Ask whether the account has all permissions that are needed to install the desired bundle."""

    identity: str
    """Identifies the account and the permissions."""
    content: RenderedBundle


@dataclass(frozen=True)
class Removal:
    """An object that is deleted or released as an account."""

    key: ObjectKey
    uid: str
    verb: str
    """The verb that the account needs: delete, or patch if the object is kept."""
    is_custom_resource: bool = False
    """True if it is no object of the bundle."""


@dataclass(frozen=True)
class CheckRemovalPermissions:
    """Ask whether the account has all permissions that are needed to remove what is installed."""

    identity: str
    """Identifies the account and the state of the deletion."""
    removals: tuple[Removal, ...]
    unlisted: tuple[str, ...] = ()
    """The names of CustomResourceDefinitions whose custom resources could not be listed."""


@dataclass(frozen=True)
class CheckExistingObjects:
    """Check custom resources against the schemas of the desired bundle, in another process."""

    identity: str
    """Digest of what is checked."""
    forms: tuple[Form, ...]


@dataclass(frozen=True)
class RenderChart:
    """Render a chart with helm, in another process."""

    inputs: ChartInputs


@dataclass(frozen=True)
class CertificateWrite:
    """A step of the certificate of an endpoint."""

    endpoint: Endpoint
    step: Step
    why: str = ""
    """The reason why a certificate is issued."""


@dataclass(frozen=True)
class WriteCertificates:
    """Write the Secrets with serving certificates, one step each."""

    content: RenderedBundle
    writes: tuple[CertificateWrite, ...]


@dataclass(frozen=True)
class CopyConditions:
    """Copy spec.conditions of an OperatorCondition to its status, if it has not changed."""

    key: ObjectKey
    uid: str
    resource_version: str
    conditions: tuple[Mapping[str, Any], ...]
    """The copies."""


@dataclass(frozen=True)
class Announce:
    """Report irreversible changes before they are made."""


@dataclass(frozen=True)
class BeginRevision:
    """Record the beginning of another revision, before the first write of an upgrade."""


@dataclass(frozen=True)
class RollBack:
    """Record that the revision of the target is rolled back. From then on, the target is the last good revision."""


@dataclass(frozen=True)
class ForgetNotes:
    """Remove the digest of the applied objects from the status, before objects are applied in another form."""


@dataclass(frozen=True)
class RecordNamespaces:
    """Record the Namespaces that are about to be created, before they are created. Namespaces that others have created are only
    joined."""


@dataclass(frozen=True)
class RecordTemplates:
    """Record the Deployments that are about to be taken over with their pods."""


@dataclass(frozen=True)
class Activate:
    """Make the desired Bundle the active one, because all its objects are applied."""


@dataclass(frozen=True)
class ReadUsage:
    """Read whether CustomResourceDefinitions and Namespaces are in use. Only unused ones are deleted."""

    crds: tuple[LabeledObject, ...] = ()
    namespaces: tuple[NamespaceInfo, ...] = ()

    @property
    def uids(self) -> frozenset[str]:
        """The uids of the CustomResourceDefinitions and Namespaces."""
        return frozenset([*(entry.uid for entry in self.crds), *(entry.uid for entry in self.namespaces)])


@dataclass(frozen=True)
class ListForeignObjects:
    """List the objects of others in Namespaces that are deleted with the BundleDeployment."""

    namespaces: tuple[NamespaceInfo, ...]


@dataclass(frozen=True)
class NamespaceRemoval:
    """A Namespace that is no longer in the bundle, and the way to remove it."""

    namespace: NamespaceInfo
    retention: Retention


@dataclass(frozen=True)
class Prune:
    """Delete or release first objects, then CustomResourceDefinitions, then Namespaces."""

    delete: tuple[LabeledObject, ...] = ()
    delete_crds: tuple[LabeledObject, ...] = ()
    release: tuple[LabeledObject, ...] = ()
    """The objects that stay on the cluster without an owner."""
    namespaces: tuple[NamespaceRemoval, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if nothing is removed."""
        return not (self.delete or self.delete_crds or self.release or self.namespaces)

    @property
    def objects(self) -> tuple[LabeledObject, ...]:
        """All objects but the Namespaces."""
        return self.delete + self.delete_crds + self.release

    @property
    def keys(self) -> tuple[ObjectKey, ...]:
        """The keys of all of them, with the Namespaces."""
        namespaces = (ObjectKey(*NAMESPACE, "", entry.namespace.name) for entry in self.namespaces)
        return (*(entry.key for entry in self.objects), *namespaces)


@dataclass(frozen=True)
class DeleteObjects:
    """Delete objects of a BundleDeployment that is being deleted, group after group."""

    name: str
    """The names of the objects, for messages."""
    groups: tuple[tuple[LabeledObject | CustomResource, ...], ...]


@dataclass(frozen=True)
class LeaveNamespaces:
    """End the membership of the Namespaces in `leave`, and delete the Namespaces in `delete`."""

    leave: tuple[NamespaceInfo, ...]
    delete: tuple[NamespaceInfo, ...]


@dataclass(frozen=True)
class RemoveFinalizer:
    """Remove the finalizer: no object remains, so the BundleDeployment can be deleted."""


@dataclass(frozen=True)
class Keep:
    """Do nothing. `after`: the time to the next pass; None if the next pass follows a watched change."""

    after: timedelta | None = None


Plan = (
    ApplyBundle
    | DeleteBundles
    | UpdateInventory
    | CheckPermissions
    | CheckRemovalPermissions
    | CheckExistingObjects
    | RenderChart
    | CopyConditions
    | Announce
    | BeginRevision
    | RollBack
    | ForgetNotes
    | RecordNamespaces
    | RecordTemplates
    | Apply
    | WriteCertificates
    | Activate
    | ReadUsage
    | ListForeignObjects
    | Prune
    | DeleteObjects
    | LeaveNamespaces
    | RemoveFinalizer
    | Keep
)


@dataclass(frozen=True)
class Release:
    """Forget a BundleDeployment that does not exist, and end the watches for it."""


class Verb(StrEnum):
    """The effects of an apply on an object."""

    CREATED = "created"
    CHANGED = "changed"
    REVERTED = "reverted"  # another client had changed fields that we applied
    RECREATED = "recreated"  # another client had deleted it


DELETED = "it was deleted"
"""The reason why an object is RECREATED."""


@dataclass(frozen=True, order=True)
class ObjectChange:
    """An object that an apply created or changed, and the reason. `is_first`: False if this happens repeatedly within a short
    time."""

    key: ObjectKey
    verb: Verb
    why: str
    is_first: bool = True

    def __str__(self) -> str:
        """The change as log lines show it: `created Deployment.apps ns/name (bundle x)`, `reverted …: changed by
        kubectl-edit`."""
        is_drift = self.verb in (Verb.REVERTED, Verb.RECREATED)
        return f"{self.verb} {self.key}: {self.why}" if is_drift else f"{self.verb} {self.key} ({self.why})"


@dataclass(frozen=True)
class Done:
    """The result of an action. `after`: the time to the next pass; None if the next pass follows a watched change."""

    plan: Plan | Release
    after: timedelta | None = None
    applied: frozenset[ObjectKey] = frozenset()
    changes: tuple[ObjectChange, ...] = ()
    left: tuple[str, ...] = ()
    """The names of objects that stay behind, because the account may not remove them."""
    written: Mapping[str, Any] | None = None
    """The BundleDeployment after a write of this pass. Its status is written with the resourceVersion of this write."""
