"""The ClusterServiceVersion of a bundle, from a base and the objects of the project (sdk 2.2). Pure.

The base has what people write: texts, icon, install modes, descriptions of the APIs, upgrade edges. Everything else is worked out
from the input each time. What the input says nothing about is kept from the base.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from olmctl.project import related_images
from olmctl.project.collection import CSV, DEPLOYMENT, Collection, Typed, served_versions
from olmctl.project.examples import example_text, examples_of
from olmctl.project.manifests import Manifest
from olmctl.project.names import display_name
from olmctl.project.permissions import Permissions, with_kept
from olmctl.project.webhooks import webhook_definitions
from olmkit.gocompat.versions import BadVersion, parse_tolerant_version

CREATED_AT: Final = "createdAt"
BUILDER_ANNOTATION: Final = "operators.operatorframework.io/builder"
LAYOUT_ANNOTATION: Final = "operators.operatorframework.io/project_layout"
CSV_SUFFIX: Final = ".clusterserviceversion.yaml"
EXAMPLES: Final = "alm-examples"
_TYPE: Final = "v1alpha1.ClusterServiceVersion"
_STRATEGY: Final = "deployment"
_WATCH_NAMESPACE: Final = "WATCH_NAMESPACE"
_TARGET_NAMESPACES: Final = {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}


@dataclass(frozen=True)
class Options:
    """The facts with which a ClusterServiceVersion is made, apart from the input."""

    package: str
    version: str = ""
    builder: str = ""
    layout: str = "unknown"
    lists_all_images: bool = False
    """List the images of all containers in relatedImages too."""


@dataclass
class Result:
    """A ClusterServiceVersion without createdAt, and notes about it."""

    value: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def new_base(package: str) -> dict[str, Any]:
    """The base of a package that has none, with upstream's texts."""
    title = display_name(package)
    modes = {"OwnNamespace": False, "SingleNamespace": False, "MultiNamespace": False, "AllNamespaces": True}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "annotations": {EXAMPLES: "[]", "capabilities": "Basic Install"},
            "name": f"{package}.v0.0.0",
            "namespace": "placeholder",
        },
        "spec": {
            "apiservicedefinitions": {},
            "customresourcedefinitions": {},
            "description": f"{title} description. TODO.",
            "displayName": title,
            "icon": [{"base64data": "", "mediatype": ""}],
            "install": {"spec": {"deployments": None}, "strategy": ""},
            "installModes": [{"supported": supported, "type": mode} for mode, supported in modes.items()],
            "keywords": [package],
            "links": [{"name": title, "url": f"https://{package}.domain"}],
            "maintainers": [{"email": "your@email.com", "name": "Maintainer Name"}],
            "maturity": "alpha",
            "provider": {"name": "Provider Name", "url": "https://your.domain"},
            "version": "0.0.0",
        },
    }


def base_of(collection: Collection, package: str, file_base: Manifest | None) -> Result:
    """The base: the first ClusterServiceVersion of the input with the package's name, else the base of the file, if the input
    has none at all. Raises BadInput.
    """
    given = collection.of(CSV)
    if not given and file_base is not None:
        given = [Typed(file_base, file_base.typed(_TYPE))]
    chosen = next((each for each in given if each.name.startswith(f"{package}.")), None)
    notes = [
        f"{each.manifest.place}: ClusterServiceVersion {each.name} is not used: "
        + (f"its name does not begin with {package}." if chosen is None else f"{chosen.manifest.place} has the base")
        for each in given
        if each is not chosen
    ]
    if chosen is None:
        return Result(
            new_base(package), [*notes, "there is no base: the texts are placeholders (olm bundle init makes one)"]
        )
    value = copy.deepcopy(chosen.value)
    value["spec"]["version"] = _version(chosen)
    if file_base is not None and chosen.manifest is file_base:
        notes += file_base.dropped_fields(_TYPE)
    return Result(value, notes)


def _version(base: Typed) -> str:
    written = base.spec.get("version")
    if written in (None, ""):
        return "0.0.0"
    try:
        return (
            str(parse_tolerant_version(written))
            if isinstance(written, str)
            else _refuse(base, "must be text in quotes")
        )
    except BadVersion as error:
        return _refuse(base, str(error))


def _refuse(base: Typed, problem: str) -> str:
    raise base.manifest.refuse(("spec", "version"), f"spec.version: {problem}")


def make(base: Mapping[str, Any], collection: Collection, permissions: Permissions, options: Options) -> Result:
    """The ClusterServiceVersion, without createdAt and status. Raises BadInput."""
    value = copy.deepcopy(dict(base))
    metadata, spec = value["metadata"], value["spec"]
    if options.version:
        metadata["name"], spec["version"] = f"{options.package}.v{options.version}", options.version
    images, notes = related_images.related_images(collection)
    images = related_images.with_kept(images, spec.get("relatedImages") or [])
    if (spec["install"]["strategy"] or _STRATEGY) == _STRATEGY:
        spec["install"] = _install(spec["install"].get("spec") or {}, collection, permissions)
        if options.lists_all_images:
            images = related_images.with_containers(images, spec["install"]["spec"]["deployments"])
    spec["relatedImages"] = images
    definitions = spec.get("customresourcedefinitions") or {}
    spec["customresourcedefinitions"] = {
        **definitions,
        "owned": owned_descriptions(collection, definitions.get("owned") or []),
    }
    spec["webhookdefinitions"], webhook_notes = webhook_definitions(collection)
    annotations = metadata["annotations"] = dict(metadata.get("annotations") or {})
    annotations[EXAMPLES] = example_text(
        examples_of(collection, spec["customresourcedefinitions"]["owned"], annotations.get(EXAMPLES))
    )
    annotations |= {BUILDER_ANNOTATION: options.builder, LAYOUT_ANNOTATION: options.layout}
    return Result(_written(value), [*notes, *webhook_notes, *permissions.notes])


def _install(base: Mapping[str, Any], collection: Collection, permissions: Permissions) -> dict[str, Any]:
    strategy: dict[str, Any] = {"deployments": [_deployment(each) for each in collection.of(DEPLOYMENT)]}
    for name, found in (
        ("permissions", permissions.permissions),
        ("clusterPermissions", permissions.cluster_permissions),
    ):
        if entries := with_kept(found, base.get(name) or []):
            strategy[name] = entries
    return {"spec": strategy, "strategy": _STRATEGY}


def _deployment(deployment: Typed) -> dict[str, Any]:
    spec = copy.deepcopy(deployment.spec)
    for container in spec["template"]["spec"].get("containers") or []:
        for index, variable in enumerate(container.get("env") or []):
            if variable["name"] == _WATCH_NAMESPACE:
                container["env"][index] = {"name": _WATCH_NAMESPACE, "valueFrom": _TARGET_NAMESPACES}
    labels = deployment.value["metadata"].get("labels")
    return {"name": deployment.name, "spec": spec, **({"label": labels} if labels else {})}


def owned_descriptions(collection: Collection, base: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A description for each served version of each CustomResourceDefinition: that of the base, if it has one."""
    described = {(each["name"], each["version"], each["kind"]): dict(each) for each in base}
    found = []
    for crd in collection.crds:
        for version in served_versions(crd):
            kind = crd.spec["names"]["kind"]
            fresh = {"kind": kind, "name": crd.name, "version": version}
            found.append(described.get((crd.name, version, kind), fresh))
    return found


def _written(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value without what upstream does not write: status, creationTimestamp, empty lists, and a cleanup that is off."""
    result: dict[str, Any] = _without_timestamps({key: each for key, each in value.items() if key != "status"})
    spec = result["spec"]
    if not (spec.get("cleanup") or {}).get("enabled"):
        spec.pop("cleanup", None)
    for name in ("relatedImages", "webhookdefinitions"):
        if not spec.get(name):
            spec.pop(name, None)
    if not spec["customresourcedefinitions"]["owned"]:
        del spec["customresourcedefinitions"]["owned"]
    return result


def _without_timestamps(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_timestamps(each) for key, each in value.items() if key != "creationTimestamp"}
    return [_without_timestamps(each) for each in value] if isinstance(value, list) else value
