"""What to do for one Operator now: decide(World) -> Plan.

Called by olmkit.runtime.reconciler through reconciler.py. Pure; raises Blocked or Waiting where nothing can be done.

    resolved ---> Hold (finalizer) ---> Install (BundleDeployment) ---> Keep ... deleted ---> Delete ---> Release
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import (
    ANNOTATION_PREFIX,
    BUNDLE_NAME_ANNOTATION,
    CATALOG_ANNOTATION,
    CHANNEL_ANNOTATION,
    PACKAGE_ANNOTATION,
    PROPERTIES_ANNOTATION,
    VERSION_ANNOTATION,
    template_spec,
)
from olmkit.api.bundles import PLAIN
from olmkit.api.meta import apply_precondition, controller_reference
from olmkit.api.operators import FINALIZER, Operator
from operator_controller.operator.evaluate import CATALOG_RETRY_DELAY, PROVISIONER_BY_MEDIA_TYPE, Evaluation, evaluate
from operator_controller.operator.world import ObservedBundleDeployment, World, image_reference
from operator_controller.resolve.bundle_identity import is_same_image
from operator_controller.resolve.candidates import Candidate
from operator_controller.resolve.snapshot import RunningBundle

WATCH_RETRY_DELAY = timedelta(seconds=2)
"""Until the watch of BundleDeployments is open again: no event tells that."""


@dataclass(frozen=True)
class NoAction:
    """Everything is as it should be, or others have to act first."""

    after: timedelta | None = None


@dataclass(frozen=True)
class AddFinalizer:
    """Put the finalizer on before anything is made that has to be removed again."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class ApplyBundleDeployment:
    """Apply the BundleDeployment."""

    deployment: Mapping[str, Any]
    after: timedelta | None = None


@dataclass(frozen=True)
class DeleteBundleDeployment:
    """Ask for the BundleDeployment to go."""

    name: str
    uid: str


@dataclass(frozen=True)
class RemoveFinalizer:
    """Take the finalizer off: nothing is left."""

    finalizers: tuple[str, ...]


Plan = NoAction | AddFinalizer | ApplyBundleDeployment | DeleteBundleDeployment | RemoveFinalizer


@dataclass(frozen=True)
class Done:
    """The plan as carried out."""

    plan: Plan
    after: timedelta | None = None


def decide(world: World) -> Plan:
    """The next step. Raises Blocked or Waiting with what is in the way."""
    if world.operator.metadata.deleting:
        return _decide_deletion(world)
    verdict = evaluate(world)
    after = CATALOG_RETRY_DELAY if world.needs_recheck else None
    wanted = successor_record(world, verdict)
    if wanted is None:
        if verdict.problem is not None:
            raise verdict.problem
        if verdict.candidate is None:
            return NoAction(after)
        wanted = bundle_deployment_for(world.operator, verdict.candidate)
    deployment = world.owned_bundle_deployment
    if deployment is not None and not differs(deployment, wanted):
        return NoAction(after)
    finalizers = tuple(world.operator.metadata.finalizers)
    if FINALIZER not in finalizers:
        return AddFinalizer((*finalizers, FINALIZER))
    precondition = apply_precondition(deployment.model.metadata.uid if deployment else None)
    return ApplyBundleDeployment({**wanted, "metadata": {**wanted["metadata"], **precondition}}, after)


def _decide_deletion(world: World) -> Plan:
    finalizers = tuple(world.operator.metadata.finalizers)
    deployment = world.owned_bundle_deployment
    if deployment is not None:
        metadata = deployment.model.metadata
        return NoAction() if metadata.deleting else DeleteBundleDeployment(metadata.name, metadata.uid)
    if FINALIZER in finalizers and not world.is_watch_open:
        return NoAction(WATCH_RETRY_DELAY)
    if FINALIZER in finalizers:
        return RemoveFinalizer(tuple(one for one in finalizers if one != FINALIZER))
    return NoAction()


def successor_record(world: World, verdict: Evaluation) -> dict[str, Any] | None:
    """The BundleDeployment that records what runs as of the catalog that is followed, and asks for nothing else.

    None when there is nothing to follow or no such step is needed: what is chosen is what runs, so that asking for it records the
    catalog too, or another bundle is asked for already. An upgrade comes afterwards: if it is refused, by us or by rukpak, the
    catalog would otherwise be left behind.
    """
    deployment, running, follow = world.owned_bundle_deployment, world.running, verdict.follow
    if follow is None or running is None or deployment is None or deployment.model.metadata.deleting:
        return None
    is_chosen = verdict.candidate is not None and has_image(running, verdict.image)
    if (is_chosen and verdict.problem is None) or not runs_template(world, deployment):
        return None
    changed = {CATALOG_ANNOTATION: follow.catalog, CHANNEL_ANNOTATION: follow.channel}
    return _deployment(world.operator, {**_our_annotations(deployment), **changed}, template_spec(dict(deployment.raw)))


def runs_template(world: World, deployment: ObservedBundleDeployment) -> bool:
    """What runs is the bundle that the BundleDeployment asks for: its name and its image, for a name may get another image."""
    running = world.running
    if running is None:
        return False
    name = deployment.annotations.get(BUNDLE_NAME_ANNOTATION, running.name)
    return running.name == name and has_image(running, image_reference(deployment.model.spec.template.spec))


def has_image(running: RunningBundle, image: str) -> bool:
    """Whether what runs is of this image, on whatever registry."""
    return running.image == image or is_same_image(running.image, image)


def bundle_deployment_for(operator: Operator, candidate: Candidate) -> dict[str, Any]:
    """The BundleDeployment that asks for the candidate; only fields of ours."""
    bundle = candidate.bundle
    spec = {
        "provisionerClassName": PROVISIONER_BY_MEDIA_TYPE[bundle.media_type],
        "source": {"type": "image", "image": {"ref": bundle.image}},
    }
    return _deployment(operator, _annotations(operator, candidate), spec)


def _deployment(operator: Operator, annotations: Mapping[str, str], spec: Mapping[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"annotations": dict(annotations)}, "spec": dict(spec)}
    owner = controller_reference(operators.KIND, operator.metadata.name, operator.metadata.uid)
    return {
        "apiVersion": bundledeployments.KIND.api_version,
        "kind": bundledeployments.KIND.kind,
        "metadata": {"name": operator.metadata.name, "ownerReferences": [owner]},
        "spec": {"provisionerClassName": PLAIN, "template": template},
    }


def _annotations(operator: Operator, candidate: Candidate) -> dict[str, str]:
    """What stays known of the bundle when its catalog is gone."""
    return {
        PACKAGE_ANNOTATION: operator.spec.package_name,
        BUNDLE_NAME_ANNOTATION: candidate.bundle.name,
        VERSION_ANNOTATION: str(candidate.version),
        CATALOG_ANNOTATION: candidate.catalog,
        CHANNEL_ANNOTATION: candidate.channel,
        PROPERTIES_ANNOTATION: candidate.bundle.recorded_properties,
    }


def differs(deployment: ObservedBundleDeployment, wanted: Mapping[str, Any]) -> bool:
    """Whether a field of ours is not as wanted; what others added does not count."""
    spec: Mapping[str, Any] = deployment.raw["spec"]
    return bool(
        spec["provisionerClassName"] != wanted["spec"]["provisionerClassName"]
        or template_spec(dict(deployment.raw)) != wanted["spec"]["template"]["spec"]
        or _our_annotations(deployment) != wanted["spec"]["template"]["metadata"]["annotations"]
    )


def _our_annotations(deployment: ObservedBundleDeployment) -> dict[str, str]:
    """Those of the template that this controller writes."""
    return {key: text for key, text in deployment.annotations.items() if key.startswith(ANNOTATION_PREFIX)}
