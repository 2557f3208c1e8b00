"""The objects of a bundle as the text of their files, in the order and form in which upstream writes them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmctl.authoring.yaml_writer import kubernetes_document
from olmctl.project.collection import SERVICE, Collection, Typed
from olmctl.project.names import crd_file_name, object_file_name
from olmctl.project.permissions import Permissions


def object_files(collection: Collection, permissions: Permissions) -> dict[str, str]:
    """The files of all objects but the ClusterServiceVersion, by name. Of several with one name the later ones begin with dup0_
    and so on. Raises BadInput.
    """
    files: dict[str, str] = {}
    duplicates = 0
    for name, body in _objects(collection, permissions):
        if name in files:
            name, duplicates = f"dup{duplicates}_{name}", duplicates + 1
        files[name] = kubernetes_document(body)
    return files


def _objects(collection: Collection, permissions: Permissions) -> Iterator[tuple[str, dict[str, Any]]]:
    for crd in collection.crds:
        yield crd_file_name(crd.manifest, crd.spec["group"], crd.spec["names"]["plural"]), _typed(crd)
    for service in collection.of(SERVICE):
        yield object_file_name(service.manifest), _typed(service)
    for manifest in collection.others:
        yield object_file_name(manifest), _without_namespace(manifest.body)
    for each in permissions.files:
        yield object_file_name(each.manifest), _typed(each)


def _typed(object_: Typed) -> dict[str, Any]:
    """The body of an object of a Go type, which always has a creationTimestamp."""
    body = _without_namespace(object_.value)
    return {**body, "metadata": {"creationTimestamp": None, **body["metadata"]}}


def _without_namespace(body: Mapping[str, Any]) -> dict[str, Any]:
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return dict(body)
    return {**body, "metadata": {key: value for key, value in metadata.items() if key != "namespace"}}
