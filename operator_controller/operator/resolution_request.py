"""The request of an Operator to the Resolver: its spec and its running bundle.

It is made for the Snapshot of the Resolver and for the question of a pass, because an answer counts only for an equal request.
Pure.
"""

from __future__ import annotations

from olmkit.api.bundle_annotations import (
    BUNDLE_NAME_ANNOTATION,
    CATALOG_ANNOTATION,
    CHANNEL_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
)
from olmkit.api.bundledeployments import ConditionType as DeploymentCondition
from olmkit.api.bundledeployments import Reason as DeploymentReason
from operator_controller.operator.decide import evaluate_without_answer
from operator_controller.operator.pause_and_approval import approved_version
from operator_controller.operator.planned_bundle import pending_plan
from operator_controller.operator.world import ObservedBundleDeployment, World, image_reference
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest, RecordedBundle
from operator_controller.resolve.snapshot.package_snapshot import RunningBundle


def make_request(world: World) -> OperatorRequest | None:
    """The part of the World that resolution depends on; None if there is nothing to resolve and nothing runs."""
    is_deleting = world.operator.metadata.deleting
    is_resolvable = not is_deleting and evaluate_without_answer(world) is None
    if not is_resolvable and world.running is None:
        return None
    metadata, spec, deployment = world.operator.metadata, world.operator.spec, world.owned_bundle_deployment
    annotations = deployment.annotations if deployment else {}
    running = _recorded(world.running) if world.running is not None else None
    own = annotations if annotations.get(PACKAGE_ANNOTATION) == spec.package_name else {}
    template = _template_bundle(deployment) if deployment is not None and own else None
    is_upgrading = template is not None and _is_upgrading(world)
    approved = approved_version(world.operator)
    return OperatorRequest(
        name=metadata.name,
        uid=metadata.uid,
        created=world.raw["metadata"].get("creationTimestamp", ""),
        package=spec.package_name,
        channels=spec.followed_channels,
        version=spec.version or "",
        excluded_versions=tuple(sorted(spec.excluded_versions or ())),
        catalogs=world.selected_catalogs,
        ignores_upgrade_edges=spec.upgrade_constraint_policy == "Ignore",
        is_manual=approved is not None,
        approved_version=approved or "",
        is_paused=bool(spec.paused),
        is_dependency=world.is_dependency,
        is_deleting=metadata.deleting,
        is_resolvable=is_resolvable,
        running=running,
        installing=template if is_upgrading else None,
        requested=template if _is_other(template, running) and not is_upgrading else None,
        planned=pending_plan(deployment) if deployment is not None else None,
        preferred_catalog=own.get(CATALOG_ANNOTATION, ""),
        is_of_extension=world.is_of_extension,
    )


def make_orphan_request(deployment: ObservedBundleDeployment, running: RunningBundle | None) -> OperatorRequest | None:
    """The request of a BundleDeployment whose Operator has been deleted. It counts as the request of an Operator that is being
    deleted. None if no Operator has made the BundleDeployment. Never part of a Snapshot. If `running` is not known, the bundle of
    the template counts as the running bundle.
    """
    template, metadata = _template_bundle(deployment), deployment.model.metadata
    if not template.package:
        return None
    recorded = _recorded(running) if running is not None else template
    return OperatorRequest(
        name=metadata.name,
        uid=metadata.uid,
        created="",
        package=template.package,
        is_deleting=True,
        is_resolvable=False,
        running=recorded,
        installing=template if template.name != recorded.name else None,
    )


def _recorded(running: RunningBundle) -> RecordedBundle:
    return RecordedBundle(
        name=running.name,
        image=running.image,
        package=running.package,
        version=running.version_text,
        catalog=running.catalog,
        channel=running.channel,
        properties=running.properties,
    )


def _template_bundle(deployment: ObservedBundleDeployment) -> RecordedBundle:
    """The bundle of the template, as its annotations describe it."""
    annotations = deployment.annotations
    return RecordedBundle(
        name=annotations.get(BUNDLE_NAME_ANNOTATION, ""),
        image=image_reference(deployment.model.spec.template.spec),
        package=annotations.get(PACKAGE_ANNOTATION, ""),
        version=annotations.get(VERSION_ANNOTATION, ""),
        catalog=annotations.get(CATALOG_ANNOTATION, ""),
        channel=annotations.get(CHANNEL_ANNOTATION, ""),
        properties=annotations.get(PROPERTIES_ANNOTATION, ""),
    )


def _is_other(template: RecordedBundle | None, running: RecordedBundle | None) -> bool:
    """Report whether the template requests another bundle than the running one, or a bundle while none runs."""
    return template is not None and template.name not in ("", running.name if running is not None else "")


def _is_upgrading(world: World) -> bool:
    """Report whether some objects of the desired bundle are installed, but not all. True also while the bundle is being rolled
    back."""
    deployment = world.owned_bundle_deployment
    reconciling = deployment.condition(DeploymentCondition.RECONCILING) if deployment else None
    return (
        world.running is not None
        and reconciling is not None
        and reconciling.status == "True"
        and reconciling.reason in (DeploymentReason.UPGRADING, DeploymentReason.ROLLING_BACK)
    )
