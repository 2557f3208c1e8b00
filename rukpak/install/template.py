"""The Bundle that the template of a BundleDeployment asks for: its name, its body, and whether one is as the template says.

Called by rukpak.install.decide and observe. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from olmkit.api import bundles
from olmkit.api.bundledeployments import (
    ANNOTATION_PREFIX,
    KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    TEMPLATE_HASH_LABEL,
)
from rukpak.install.world import BundleFacts, World

HASH_LENGTH = 6


def bundle_name(deployment: str, template: Mapping[str, Any]) -> str:
    """`<deployment>-<hash>`: the Bundle of a template's spec as read. Labels and annotations do not make another Bundle."""
    return f"{deployment}-{template_hash(template)}"


def template_hash(template: Mapping[str, Any]) -> str:
    """Six hex digits of the template's spec."""
    return hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).hexdigest()[:HASH_LENGTH]


def wanted_bundle(world: World) -> dict[str, Any]:
    """The Bundle of the template: its labels and annotations, ours on top, and the BundleDeployment as controller."""
    template = world.raw["spec"]["template"]
    given = template.get("metadata") or {}
    ours = {
        OWNER_KIND_LABEL: KIND.kind,
        OWNER_NAME_LABEL: world.name,
        TEMPLATE_HASH_LABEL: template_hash(template["spec"]),
    }
    metadata: dict[str, Any] = {
        "name": world.wanted,
        "labels": {**(given.get("labels") or {}), **ours},
        "ownerReferences": [
            {
                "apiVersion": KIND.api_version,
                "kind": KIND.kind,
                "name": world.name,
                "uid": world.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    if given.get("annotations"):
        metadata["annotations"] = given["annotations"]
    return {
        "apiVersion": bundles.KIND.api_version,
        "kind": bundles.KIND.kind,
        "metadata": metadata,
        "spec": template["spec"],
    }


def differs(bundle: BundleFacts, wanted: Mapping[str, Any]) -> bool:
    """Something we want is not so, or a word about the bundle is no longer in the template."""
    annotations = wanted.get("annotations", {})
    return (
        not wanted["labels"].items() <= bundle.labels.items()
        or not annotations.items() <= bundle.annotations.items()
        or any(name.startswith(ANNOTATION_PREFIX) and name not in annotations for name in bundle.annotations)
    )
