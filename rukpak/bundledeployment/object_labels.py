"""The labels of spec.objectLabels on the objects of a bundle.

They are no part of what is rendered, so that they change without a revision. In a World they are part of the digest of each
object that has them: a change applies exactly these, once. A Namespace may be shared and has none; a template of pods has none,
because the pods would be restarted. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from olmkit.api.bundledeployments import OWNER_UID_LABEL
from rukpak.bundledeployment.rendered_bundle import RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import NAMESPACE, World


def with_labels(content: RenderedBundle, labels: Mapping[str, str]) -> RenderedBundle:
    """The bundle with digests that depend on the labels."""
    suffix = labels_digest(labels)
    if not suffix:
        return content
    phases = tuple(
        replace(phase, objects=tuple(_labeled(item, suffix) for item in phase.objects)) for phase in content.phases
    )
    return replace(content, phases=phases)


def _labeled(item: RenderedObject, suffix: str) -> RenderedObject:
    if item.key[:2] == NAMESPACE:
        return item
    return replace(item, digest=hashlib.sha256(f"{item.digest} {suffix}".encode()).hexdigest()[:16])


def labels_digest(labels: Mapping[str, str]) -> str:
    """A short digest of the labels, for comparisons; empty if there are none."""
    text = orjson.dumps(dict(labels), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:16] if labels else ""


def labels_of(world: World, metadata: Mapping[str, Any]) -> dict[str, str]:
    """The labels with which an object is applied. `metadata` is that of the bundle."""
    return {**(metadata.get("labels") or {}), **world.object_labels, OWNER_UID_LABEL: world.uid}
