"""The changes that another version of an Operator would make on the cluster, without installing it: objects, permissions, and
CustomResourceDefinitions.

Both bundles are rendered as rukpak renders them, and compared with each other; CustomResourceDefinitions are compared with those
on the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from olmctl.diff.definitions import DefinitionChange
from olmctl.diff.objects import ObjectChange, object_changes
from olmctl.diff.permissions import Permission, gained, permissions
from olmctl.questions.installed_objects import bundle_deployment_of
from olmctl.questions.left_installations import operator_named
from olmctl.questions.operator_state import condition, is_observed, text_at
from olmctl.questions.planned_bundle import (
    Cluster,
    ReadBundle,
    current_spec,
    has_operator_condition,
    rendered,
    running_bundle,
    wanted_bundle,
    wanted_spec,
)
from olmctl.questions.planned_definitions import definitions_of, planned_definitions
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType
from rukpak.format.objects import BundleObject


@dataclass(frozen=True)
class Difference:
    """Everything that another version would change. `old_version` is empty if nothing is installed."""

    operator: str
    old_version: str
    new_version: str
    refusals: tuple[str, ...]
    """The reason why rukpak would refuse the new version, or keep it waiting for a newer Kubernetes."""
    missing_kinds: tuple[str, ...]
    """Kinds that the cluster has to serve first."""
    objects: tuple[ObjectChange, ...]
    gained: tuple[Permission, ...]
    lost: tuple[Permission, ...]
    definitions: tuple[DefinitionChange, ...]
    notes: tuple[str, ...] = ()
    """The checks of custom resources that were not made, and do not prevent the upgrade."""
    unread: tuple[str, ...] = ()
    """Sentences about CustomResourceDefinitions that could not be read from the cluster."""
    refused_request: str = ""
    """That the Operator requests something else, which is refused, if no version was named; "" if it does not."""

    @property
    def has_changes(self) -> bool:
        """True if anything differs."""
        return bool(self.objects or self.gained or self.lost or self.definitions)


async def difference(session: Session, name: str, version: str | None, read: ReadBundle) -> Difference:
    """Compare what the Operator of that name has installed with this version of its package; without a version with the one that
    waits, or else the one that was chosen. Raises ApiError, OlmError, QuestionError, and what `read` raises."""
    operator = await operator_named(session, name)
    name = operator["metadata"]["name"]
    deployment = await bundle_deployment_of(session, operator)
    running = running_bundle(deployment)
    wanted = await wanted_bundle(session, operator, deployment, version)
    spec, cluster = wanted_spec(operator, wanted.image), await Cluster.of(session)
    new = await rendered(read, wanted.image, spec, name, cluster)
    before: Sequence[BundleObject] = ()
    if running is not None and deployment is not None:
        has_condition = has_operator_condition(deployment)
        old = await rendered(read, running.image, current_spec(deployment), name, cluster, has_condition=has_condition)
        before = old.ready.manifests
    after = new.ready.manifests
    planned = await planned_definitions(
        session, definitions_of(after), spec.crd_upgrade_safety, definitions_of(before), new.awaited_definitions
    )
    was, will = permissions(before), permissions(after)
    return Difference(
        operator=name,
        old_version=running.version if running is not None else "",
        new_version=wanted.version,
        refusals=(*new.ready.faults, *filter(None, [new.ready.too_old, planned.verdict.failure])),
        missing_kinds=new.ready.missing,
        objects=tuple(object_changes(before, after)),
        gained=tuple(gained(was, will)),
        lost=tuple(gained(will, was)),
        definitions=planned.changes,
        notes=planned.verdict.notes,
        unread=planned.unread,
        refused_request=refused_request(operator) if version is None else "",
    )


def refused_request(operator: Object) -> str:
    """Say that what the Operator requests is refused, so that another version is compared; "" if it is not."""
    resolved = condition(operator, ConditionType.RESOLVED)
    if not is_observed(operator) or text_at(resolved, "status") != "False":
        return ""
    name = text_at(operator, "metadata", "name")
    return clean(
        f"{name} requests what is refused, and this is not about it: {text_at(resolved, 'message')} (olm why {name})"
    )


@dataclass(frozen=True)
class ApprovalCheck:
    """The check of the upgrade to the version that waits. `refusals`: why it would be refused; none: it would not be."""

    refusals: tuple[str, ...]
    permitted_loss: str = ""
    """The loss that the settings of the Operator permit; "" if there is none."""
    unread: tuple[str, ...] = ()
    """Sentences about CustomResourceDefinitions that could not be read from the cluster."""


async def approval_check(session: Session, operator: Object, read: ReadBundle) -> ApprovalCheck:
    """Check the version that waits for the approval of an Operator. Raises as difference()."""
    deployment = await bundle_deployment_of(session, operator)
    wanted = await wanted_bundle(session, operator, deployment, None)
    spec, cluster = wanted_spec(operator, wanted.image), await Cluster.of(session)
    new = await rendered(read, wanted.image, spec, operator["metadata"]["name"], cluster)
    planned = await planned_definitions(session, definitions_of(new.ready.manifests), spec.crd_upgrade_safety, {})
    verdict = planned.verdict
    refusals = filter(None, [*new.ready.faults, new.ready.too_old, verdict.refusal, verdict.failure])
    return ApprovalCheck(tuple(refusals), verdict.permitted_loss, planned.unread)
