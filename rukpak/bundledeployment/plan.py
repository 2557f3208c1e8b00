"""The Plans of a BundleDeployment, one per pass, and their result.

Returned by rukpak.bundledeployment.decide, carried out by act, read by report. Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from rukpak.bundledeployment.bundle_info import BundleInfo
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.retention import Retention
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import CustomResource, LabeledObject
from rukpak.certificates.serving_certificate import Step
from rukpak.crd_safety.evidence import Form
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import Endpoint


@dataclass(frozen=True)
class ApplyBundle:
    """Create the desired Bundle or, when it was deleted, the active one; or update its labels and annotations."""

    body: Mapping[str, Any]
    is_new: bool


@dataclass(frozen=True)
class DeleteBundles:
    """Delete Bundles that are neither desired nor active, or the one that an earlier BundleDeployment of this name has left."""

    bundles: tuple[BundleInfo, ...]


@dataclass(frozen=True)
class UpdateInventory:
    """Write the annotation that names the kinds of all objects that may exist, and with it the finalizer, which keeps the
    BundleDeployment until they are deleted."""

    kinds: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class PhaseStep:
    """Objects of one phase that are to be applied."""

    phase: int
    """Counted from 1."""
    items: tuple[RenderedObject, ...]
    is_new: bool = False
    """True if none of them exists, and all are of kinds of Kubernetes."""


@dataclass(frozen=True)
class Apply:
    """Apply objects, phase after phase. With `dry_run_first` a phase that changes objects, or contains custom resources, is first
    applied as a server-side dry run."""

    content: RenderedBundle
    steps: tuple[PhaseStep, ...]
    dry_run_first: bool

    def has_dry_run(self, step: PhaseStep) -> bool:
        """Report whether the phase is dry-run. A dry run of a single object, or of new ones, would prove no more than their
        apply."""
        return self.dry_run_first and len(step.items) > 1 and not step.is_new


@dataclass(frozen=True)
class CheckExistingObjects:
    """Check custom resources against the schemas of the desired bundle, in another process."""

    identity: str
    """Digest of what is checked."""
    forms: tuple[Form, ...]


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
class Announce:
    """Report what cannot be undone, before it is done."""


@dataclass(frozen=True)
class BeginRevision:
    """Record that another revision begins, before the first write of an upgrade."""


@dataclass(frozen=True)
class RollBack:
    """Record that the revision of the target is rolled back: from then on the target is the last good one."""


@dataclass(frozen=True)
class ForgetNotes:
    """Remove the digest of what was applied from the status, before objects are applied in another form."""


@dataclass(frozen=True)
class RecordNamespaces:
    """Record which Namespaces are about to be created, before they are: what exists under another's hand is joined."""


@dataclass(frozen=True)
class Activate:
    """All objects are applied: the desired Bundle becomes the active one."""


@dataclass(frozen=True)
class ReadUsage:
    """Read whether CustomResourceDefinitions and Namespaces are in use, which decides whether they are deleted."""

    crds: tuple[LabeledObject, ...] = ()
    namespaces: tuple[NamespaceInfo, ...] = ()

    @property
    def uids(self) -> frozenset[str]:
        """The uids of all of them."""
        return frozenset([*(entry.uid for entry in self.crds), *(entry.uid for entry in self.namespaces)])


@dataclass(frozen=True)
class ListForeignObjects:
    """List the objects of others in Namespaces that are deleted with the BundleDeployment."""

    namespaces: tuple[NamespaceInfo, ...]


@dataclass(frozen=True)
class NamespaceRemoval:
    """A Namespace that is no longer in the bundle, and what becomes of it."""

    namespace: NamespaceInfo
    retention: Retention


@dataclass(frozen=True)
class Prune:
    """Delete or release objects: objects, then CustomResourceDefinitions, then Namespaces."""

    delete: tuple[LabeledObject, ...] = ()
    delete_crds: tuple[LabeledObject, ...] = ()
    release: tuple[LabeledObject, ...] = ()
    """Objects that stay without an owner."""
    namespaces: tuple[NamespaceRemoval, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if nothing is removed."""
        return not (self.delete or self.delete_crds or self.release or self.namespaces)

    @property
    def objects(self) -> tuple[LabeledObject, ...]:
        """All but the Namespaces."""
        return self.delete + self.delete_crds + self.release


@dataclass(frozen=True)
class DeleteObjects:
    """Delete objects of a BundleDeployment that is being deleted, group after group."""

    name: str
    """The names of the objects, for messages."""
    groups: tuple[tuple[LabeledObject | CustomResource, ...], ...]


@dataclass(frozen=True)
class LeaveNamespaces:
    """End the membership of the Namespaces in `leave`; delete those in `delete`."""

    leave: tuple[NamespaceInfo, ...]
    delete: tuple[NamespaceInfo, ...]


@dataclass(frozen=True)
class RemoveFinalizer:
    """Remove the finalizer: nothing remains, the BundleDeployment can be deleted."""


@dataclass(frozen=True)
class Keep:
    """Do nothing. `after`: the time to the next pass; None: until something that is watched changes."""

    after: timedelta | None = None


Plan = (
    ApplyBundle
    | DeleteBundles
    | UpdateInventory
    | CheckExistingObjects
    | Announce
    | BeginRevision
    | RollBack
    | ForgetNotes
    | RecordNamespaces
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
    """The BundleDeployment does not exist: end the watches for it, and forget it."""


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
    """An object that an apply created or changed, and why. `is_first`: not repeatedly within a short time."""

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
    """The result of an action. `after`: the time to the next pass; None: until something that is watched changes."""

    plan: Plan | Release
    after: timedelta | None = None
    applied: frozenset[ObjectKey] = frozenset()
    changes: tuple[ObjectChange, ...] = ()
    written: Mapping[str, Any] | None = None
    """The BundleDeployment after a write of this pass: its status is written with the resourceVersion of this write."""
