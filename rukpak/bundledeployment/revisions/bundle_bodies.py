"""The Bundles of a BundleDeployment as they are created: the desired one from the template, and the active one from its record.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from olmkit.api import bundles
from olmkit.api.bundle_annotations import ANNOTATION_PREFIX, PACKAGE_ANNOTATION
from olmkit.api.bundledeployment_status import BundleRecord
from olmkit.api.bundledeployments import KIND, OWNER_KIND_LABEL, OWNER_NAME_LABEL, TEMPLATE_HASH_LABEL
from olmkit.api.meta import controller_reference
from olmkit.api.operator_status import OperatorStatus
from olmkit.api.provisioner_classes import PLAIN, REGISTRY
from olmkit.fbc.schemas import GVK
from rukpak.bundledeployment.bundle_info import BundleInfo
from rukpak.bundledeployment.revisions.target import bundle_name
from rukpak.bundledeployment.world import World

PINS = frozenset((bundles.IMAGE_BY_DIGEST_ANNOTATION, bundles.RESOLVED_SOURCE_ANNOTATION))
"""The annotations of a Bundle that was created again, with the source that is not resolved again."""


def desired_bundle_body(world: World) -> dict[str, Any]:
    """The Bundle of the template with its labels and annotations, and ours; the BundleDeployment is its controller."""
    template = world.raw["spec"]["template"]
    metadata = template.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), **_pin(world)}
    return _body(world, world.target_bundle, metadata.get("labels") or {}, annotations, template["spec"])


def recorded_bundle_body(world: World, record: BundleRecord) -> dict[str, Any]:
    """The active Bundle as it was, with the digest or commit that it had resolved."""
    spec = record.spec.dump()
    return _body(world, record.bundle, {}, {**record.annotations(), **record.pin()}, spec)


def _body(
    world: World, name: str, labels: Mapping[str, str], annotations: Mapping[str, str], spec: Mapping[str, Any]
) -> dict[str, Any]:
    ours = {
        OWNER_KIND_LABEL: KIND.kind,
        OWNER_NAME_LABEL: world.name,
        TEMPLATE_HASH_LABEL: name.rpartition("-")[2],
    }
    owner = controller_reference(KIND, world.name, world.uid)
    metadata: dict[str, Any] = {"name": name, "labels": {**labels, **ours}, "ownerReferences": [owner]}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": bundles.KIND.api_version, "kind": bundles.KIND.kind, "metadata": metadata, "spec": spec}


def _pin(world: World) -> Mapping[str, str]:
    """The annotation for a Bundle that is or was created again: its tag or branch may have moved since it was installed, or since
    its revision began."""
    bundle, is_active = world.bundles.get(world.target_bundle), world.active_bundle == world.target_bundle
    was_recreated = bundle is None or not PINS.isdisjoint(bundle.annotations)
    record = (world.record(world.target_bundle) if is_active else None) or world.target.revision
    return record.pin() if record is not None and was_recreated else {}


def derive_record(world: World, operator: OperatorStatus) -> BundleRecord | None:
    """The record of an active Bundle that is missing and was never recorded, from the status of its Operator.

    The name of the Bundle contains the hash of its spec: a spec with another hash is not the installed one.
    """
    image, known = operator.installed_bundle_resource, operator.installed
    template: Mapping[str, Any] = world.raw["spec"]["template"]
    if not image or known is None:
        return None
    for provisioner in (template["spec"]["provisionerClassName"], REGISTRY, PLAIN):
        spec = {"provisionerClassName": provisioner, "source": {"type": "image", "image": {"ref": image}}}
        if bundle_name(world.name, spec) == world.active_bundle:
            annotations = (template.get("metadata") or {}).get("annotations") or {}
            kinds = [{"type": GVK, "value": api.dump()} for api in known.apis]
            return BundleRecord(
                bundle=world.active_bundle,
                name=known.name,
                version=known.version,
                package=annotations.get(PACKAGE_ANNOTATION),
                catalog=known.catalog,
                channel=known.channel,
                properties=orjson.dumps(kinds).decode(),
                image=image if "@" in image else None,
                spec=bundles.BundleSpec.load(spec),
            )
    return None


def differs(bundle: BundleInfo, desired: Mapping[str, Any]) -> bool:
    """Report whether it has no owner, or a label or annotation of the desired metadata is missing, or one of ours is no longer in
    the template."""
    return (
        bundle.is_orphan
        or not desired["labels"].items() <= bundle.labels.items()
        or not desired.get("annotations", {}).items() <= bundle.annotations.items()
        or bool(foreign_annotations({"annotations": bundle.annotations}, desired))
    )


def foreign_annotations(metadata: Mapping[str, Any], desired: Mapping[str, Any]) -> list[str]:
    """The annotations that describe a bundle and are not in the template, whoever wrote them."""
    wanted = desired.get("annotations") or {}
    return sorted(
        name for name in metadata.get("annotations") or {} if name.startswith(ANNOTATION_PREFIX) and name not in wanted
    )
