"""The BundleDeployment of an Operator: the one that a candidate requires, and how it compares to the existing one.

Called by evaluate.py. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from olmkit.api.bundles import PLAIN, REGISTRY
from olmkit.api.meta import controller_reference
from olmkit.api.operators import Operator
from operator_controller.operator.world import ObservedBundleDeployment, image_reference
from operator_controller.resolve.bundle_identity import is_same_image
from operator_controller.resolve.candidates import Candidate
from operator_controller.resolve.resolution import SuccessorCatalog
from operator_controller.resolve.snapshot import RunningBundle

PROVISIONER_BY_MEDIA_TYPE = {"registry+v1": REGISTRY, "plain+v0": PLAIN}
"""The provisioner that unpacks a bundle, by the bundle's media type."""


def bundle_deployment_for(operator: Operator, candidate: Candidate) -> dict[str, Any] | None:
    """The BundleDeployment that installs the candidate; only fields of this controller. None: its media type is unknown."""
    bundle = candidate.bundle
    provisioner = PROVISIONER_BY_MEDIA_TYPE.get(bundle.media_type)
    if provisioner is None:
        return None
    spec = {"provisionerClassName": provisioner, "source": {"type": "image", "image": {"ref": bundle.image}}}
    return _manifest(operator, _annotations(operator, candidate), spec)


def with_successor(
    operator: Operator, existing: ObservedBundleDeployment, successor: SuccessorCatalog
) -> dict[str, Any]:
    """The existing BundleDeployment with the successor recorded as its catalog, and nothing else changed."""
    changed = {CATALOG_ANNOTATION: successor.catalog, CHANNEL_ANNOTATION: successor.channel}
    return _manifest(operator, {**_own_annotations(existing), **changed}, template_spec(dict(existing.raw)))


def _manifest(operator: Operator, annotations: Mapping[str, str], spec: Mapping[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"annotations": dict(annotations)}, "spec": dict(spec)}
    owner = controller_reference(operators.KIND, operator.metadata.name, operator.metadata.uid)
    return {
        "apiVersion": bundledeployments.KIND.api_version,
        "kind": bundledeployments.KIND.kind,
        "metadata": {"name": operator.metadata.name, "ownerReferences": [owner]},
        "spec": {"provisionerClassName": PLAIN, "template": template},
    }


def _annotations(operator: Operator, candidate: Candidate) -> dict[str, str]:
    """The record of the bundle, which remains known when its catalog is deleted."""
    return {
        PACKAGE_ANNOTATION: operator.spec.package_name,
        BUNDLE_NAME_ANNOTATION: candidate.bundle.name,
        VERSION_ANNOTATION: str(candidate.version),
        CATALOG_ANNOTATION: candidate.catalog,
        CHANNEL_ANNOTATION: candidate.channel,
        PROPERTIES_ANNOTATION: candidate.bundle.recorded_properties,
    }


def _own_annotations(existing: ObservedBundleDeployment) -> dict[str, str]:
    """The annotations of the template that this controller writes."""
    return {key: text for key, text in existing.annotations.items() if key.startswith(ANNOTATION_PREFIX)}


def differs(existing: ObservedBundleDeployment, desired: Mapping[str, Any]) -> bool:
    """Whether a field of this controller differs. Fields that others added are ignored."""
    spec: Mapping[str, Any] = existing.raw["spec"]
    return bool(
        spec["provisionerClassName"] != desired["spec"]["provisionerClassName"]
        or template_spec(dict(existing.raw)) != desired["spec"]["template"]["spec"]
        or _own_annotations(existing) != desired["spec"]["template"]["metadata"]["annotations"]
    )


def requests_bundle(existing: ObservedBundleDeployment, candidate: Candidate) -> bool:
    """Whether the existing BundleDeployment requests the candidate: by name, version and image."""
    annotations, image = existing.annotations, image_reference(existing.model.spec.template.spec)
    is_named = (annotations.get(BUNDLE_NAME_ANNOTATION), annotations.get(VERSION_ANNOTATION)) == (
        candidate.bundle.name,
        str(candidate.version),
    )
    return is_named and (image == candidate.bundle.image or is_same_image(image, candidate.bundle.image))


def runs_template(running: RunningBundle | None, existing: ObservedBundleDeployment) -> bool:
    """Whether the running bundle is that of the template: by name and by image, because a name may get another image."""
    if running is None:
        return False
    name = existing.annotations.get(BUNDLE_NAME_ANNOTATION, running.name)
    return running.name == name and has_image(running, image_reference(existing.model.spec.template.spec))


def has_image(running: RunningBundle, image: str) -> bool:
    """Whether the running bundle has this image, on any registry."""
    return running.image == image or is_same_image(running.image, image)
