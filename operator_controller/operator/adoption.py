"""Decides whether an Operator takes over the BundleDeployment of its name that no object owns.

Such a one is what `kubectl delete --cascade=orphan` leaves of an Operator, a copy that was restored from a backup, or what a
person has made. Pure.

    made by this controller, for the package of the Operator       it is the Operator's: taken over
    the same, made by others, with the annotation                  taken over, because a person asks for it
    anything else                                                  it stays as it is, and blocks the Operator
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api import bundledeployments, operators
from olmkit.api.bundledeployments import PACKAGE_ANNOTATION
from olmkit.api.meta import controller_reference
from olmkit.api.operators import ADOPT, ADOPT_ANNOTATION
from olmkit.api.ownership import OPERATOR_CONTROLLER, has_applied
from operator_controller.operator.claims import other_operator_has_package
from operator_controller.operator.world import AdoptBundleDeployment, ObservedBundleDeployment, World


def adoption_plan(world: World) -> AdoptBundleDeployment | None:
    """Take the BundleDeployment over; None: there is none that may be."""
    deployment = world.bundle_deployment
    if deployment is None or deployment.controller is not None or deployment.model.metadata.deleting:
        return None
    is_requested = deployment.model.metadata.annotations.get(ADOPT_ANNOTATION) == ADOPT
    if not is_of_package(world, deployment) or not (is_requested or _is_made_here(deployment)):
        return None
    if other_operator_has_package(world) is not None:
        return None
    metadata: Mapping[str, Any] = deployment.raw["metadata"]
    owner = controller_reference(operators.KIND, world.operator.metadata.name, world.operator.metadata.uid)
    others = tuple(metadata.get("ownerReferences") or ())
    return AdoptBundleDeployment(metadata["name"], metadata["uid"], metadata["resourceVersion"], (*others, owner))


def is_of_package(world: World, deployment: ObservedBundleDeployment) -> bool:
    """Report whether it installs the package of the Operator, as far as its template says."""
    package = world.operator.spec.package_name
    return deployment.annotations.get(PACKAGE_ANNOTATION, package) == package


def adopt_command(name: str) -> str:
    """The command with which a person has the BundleDeployment taken over."""
    kind = bundledeployments.KIND
    return f"kubectl annotate {kind.plural}.{kind.group} {name} {ADOPT_ANNOTATION}={ADOPT}"


def _is_made_here(deployment: ObservedBundleDeployment) -> bool:
    """Report whether this controller has applied it, and its template names a package: annotations alone may be a copy."""
    return (
        has_applied(deployment.raw, OPERATOR_CONTROLLER, "f:spec", "f:template")
        and PACKAGE_ANNOTATION in deployment.annotations
    )
