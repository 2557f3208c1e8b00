"""Decides whether an Operator takes over a BundleDeployment of its name that no object owns.

This BundleDeployment may be left by `kubectl delete --cascade=orphan` of an Operator, restored from a backup, or created by a
person. Pure.

    made by this controller, for the package of the Operator       it is the Operator's: taken over
    the same, made by others, with the annotation                  taken over, because a person asks for it
    anything else                                                  it stays as it is, and blocks the Operator
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api import bundledeployments, operators
from olmkit.api.bundle_annotations import PACKAGE_ANNOTATION
from olmkit.api.meta import controller_reference, with_owner
from olmkit.api.operators import ADOPT, ADOPT_ANNOTATION
from olmkit.api.ownership import OPERATOR_CONTROLLER, has_applied
from operator_controller.operator.claims import other_operator_has_package
from operator_controller.operator.world import AdoptBundleDeployment, ObservedBundleDeployment, World


def adoption_plan(world: World) -> AdoptBundleDeployment | None:
    """The Plan to take over the BundleDeployment; None if there is no BundleDeployment that may be taken over."""
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
    owners = with_owner(deployment.raw, owner)
    return AdoptBundleDeployment(metadata["name"], metadata["uid"], metadata["resourceVersion"], owners)


def is_of_package(world: World, deployment: ObservedBundleDeployment) -> bool:
    """Report whether the template says that it installs the package of the Operator."""
    package = world.operator.spec.package_name
    return deployment.annotations.get(PACKAGE_ANNOTATION, package) == package


def adopt_command(name: str) -> str:
    """The command with which a person requests that the BundleDeployment is taken over."""
    kind = bundledeployments.KIND
    return f"kubectl annotate {kind.plural}.{kind.group} {name} {ADOPT_ANNOTATION}={ADOPT}"


def _is_made_here(deployment: ObservedBundleDeployment) -> bool:
    """Report whether this controller has applied it and its template names a package. Annotations alone may be a copy."""
    return (
        has_applied(deployment.raw, OPERATOR_CONTROLLER, "f:spec", "f:template")
        and PACKAGE_ANNOTATION in deployment.annotations
    )
