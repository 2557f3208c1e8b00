"""What to do for one Operator now: decide(World) -> Plan.

Called by olmkit.reconciler through reconciler.py. Pure; raises Blocked or Waiting where nothing can be done.

    resolved ---> Hold (finalizer) ---> Install (BundleDeployment) ---> Keep ... deleted ---> Delete ---> Release
"""

from __future__ import annotations

import json
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
    template_of,
)
from olmkit.api.bundles import PLAIN
from olmkit.api.operators import FINALIZER, Operator
from operator_controller.judge import CATALOG_AGAIN, PROVISIONERS, judge
from operator_controller.resolve.candidates import Candidate
from operator_controller.resolve.package import DEPENDENCY_TYPES, PROVIDED_TYPE
from operator_controller.world import Deployment, World

PROPERTIES_LIMIT = 131_072
"""Bytes of the properties annotation; all annotations of an object together may have twice that."""
CREATE_ONLY = "1"
"""As metadata.resourceVersion of an apply: the object is made, or the answer is a conflict because something is there."""


@dataclass(frozen=True)
class Keep:
    """Everything is as it should be, or others have to act first."""

    after: timedelta | None = None


@dataclass(frozen=True)
class Hold:
    """Put the finalizer on before anything is made that has to be removed again."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class Install:
    """Apply the BundleDeployment."""

    deployment: Mapping[str, Any]
    after: timedelta | None = None


@dataclass(frozen=True)
class Delete:
    """Ask for the BundleDeployment to go."""

    name: str
    uid: str


@dataclass(frozen=True)
class Release:
    """Take the finalizer off: nothing is left."""

    finalizers: tuple[str, ...]


Plan = Keep | Hold | Install | Delete | Release


@dataclass(frozen=True)
class Done:
    """The plan as carried out."""

    plan: Plan
    after: timedelta | None = None


def decide(world: World) -> Plan:
    """The next step. Raises Blocked or Waiting with what is in the way."""
    if world.operator.metadata.deleting:
        return _remove(world)
    verdict = judge(world)
    if verdict.problem is not None:
        raise verdict.problem
    after = CATALOG_AGAIN if world.is_lagging else None
    if verdict.candidate is None:
        return Keep(after)
    wanted = deployment_for(world.operator, verdict.candidate)
    deployment = world.owned
    if deployment is not None and not differs(deployment, wanted):
        return Keep(after)
    finalizers = tuple(world.operator.metadata.finalizers)
    if FINALIZER not in finalizers:
        return Hold((*finalizers, FINALIZER))
    lock = {"uid": deployment.model.metadata.uid} if deployment else {"resourceVersion": CREATE_ONLY}
    return Install({**wanted, "metadata": {**wanted["metadata"], **lock}}, after)


def _remove(world: World) -> Plan:
    finalizers = tuple(world.operator.metadata.finalizers)
    deployment = world.owned
    if deployment is not None:
        metadata = deployment.model.metadata
        return Keep() if metadata.deleting else Delete(metadata.name, metadata.uid)
    if FINALIZER in finalizers:
        return Release(tuple(one for one in finalizers if one != FINALIZER))
    return Keep()


def deployment_for(operator: Operator, candidate: Candidate) -> dict[str, Any]:
    """The BundleDeployment that asks for the candidate; only fields of ours."""
    bundle = candidate.bundle
    template = {
        "metadata": {"annotations": _annotations(operator, candidate)},
        "spec": {
            "provisionerClassName": PROVISIONERS[bundle.media_type],
            "source": {"type": "image", "image": {"ref": bundle.image}},
        },
    }
    owner = {
        "apiVersion": operators.KIND.api_version,
        "kind": operators.KIND.kind,
        "name": operator.metadata.name,
        "uid": operator.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
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
        PROPERTIES_ANNOTATION: _properties(candidate),
    }


def _properties(candidate: Candidate) -> str:
    """The provided kinds and what is asked of others; cut to whole properties where they would not fit into annotations."""
    kept: list[str] = []
    size = 2
    for entry in candidate.bundle.properties:
        if entry.type != PROVIDED_TYPE and entry.type not in DEPENDENCY_TYPES:
            continue
        text = json.dumps({"type": entry.type, "value": entry.value}, sort_keys=True, separators=(",", ":"))
        size += len(text) + 1
        if size > PROPERTIES_LIMIT:
            break
        kept.append(text)
    return f"[{','.join(kept)}]"


def differs(deployment: Deployment, wanted: Mapping[str, Any]) -> bool:
    """Whether a field of ours is not as wanted; what others added does not count."""
    spec: Mapping[str, Any] = deployment.raw["spec"]
    ours = {key: text for key, text in deployment.annotations.items() if key.startswith(ANNOTATION_PREFIX)}
    return bool(
        spec["provisionerClassName"] != wanted["spec"]["provisionerClassName"]
        or template_of(dict(deployment.raw)) != wanted["spec"]["template"]["spec"]
        or ours != wanted["spec"]["template"]["metadata"]["annotations"]
    )
