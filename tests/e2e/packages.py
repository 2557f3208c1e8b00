"""Small packages made for a test: the files of one bundle, and a catalog of one package that offers it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from devcluster.images import Registry, labels_of
from tests.e2e.stage import Stage

Files = dict[str, bytes]
Property = dict[str, Any]


def registry_bundle(
    package: str, version: str = "1.0.0", *, namespace: str | None = None, others: Sequence[Mapping[str, Any]] = ()
) -> Files:
    """A registry+v1 bundle: one CRD, one Deployment and `others`; `namespace` is what it suggests to be installed into."""
    manifests = {"csv": service_version(package, version, namespace), "crd": definition(package)}
    manifests |= {f"other-{number}": dict(other) for number, other in enumerate(others)}
    files = {f"manifests/{name}.yaml": yaml.safe_dump(body).encode() for name, body in manifests.items()}
    files["metadata/annotations.yaml"] = yaml.safe_dump({"annotations": labels(package)}).encode()
    return files


def labels(package: str) -> dict[str, str]:
    """The labels of a bundle image of the package."""
    prefix = "operators.operatorframework.io.bundle"
    return {
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.metadata.v1": "metadata/",
        f"{prefix}.package.v1": package,
        f"{prefix}.channels.v1": "stable",
    }


def service_version(package: str, version: str = "1.0.0", namespace: str | None = None) -> dict[str, Any]:
    """Its ClusterServiceVersion; AllNamespaces."""
    pod_labels = {"app": package}
    container = {"name": "manager", "image": f"registry.example.com/{package}:v{version}"}
    template = {"metadata": {"labels": pod_labels}, "spec": {"serviceAccountName": package, "containers": [container]}}
    deployment = {"replicas": 1, "selector": {"matchLabels": pod_labels}, "template": template}
    rules = [{"apiGroups": [group(package)], "resources": ["things"], "verbs": ["get", "list", "watch"]}]
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    annotations = {"operatorframework.io/suggested-namespace": namespace} if namespace else {}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{package}.v{version}", "annotations": annotations},
        "spec": {
            "displayName": package,
            "version": version,
            "installModes": [{"type": mode, "supported": mode == "AllNamespaces"} for mode in modes],
            "customresourcedefinitions": {
                "owned": [{"name": f"things.{group(package)}", "kind": "Thing", "version": "v1"}]
            },
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": [{"serviceAccountName": package, "rules": rules}],
                    "deployments": [{"name": package, "spec": deployment}],
                },
            },
        },
    }


def definition(package: str, kind: str = "Thing") -> dict[str, Any]:
    """Its CRD, things.<package>.example.com, or of another kind; namespaced."""
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    singular = kind.lower()
    plural = f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group(package)}"},
        "spec": {
            "group": group(package),
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": singular},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def group(package: str) -> str:
    """The API group of the package's CRD."""
    return f"{package}.example.com"


def push_bundle(stage: Stage, package: str, files: Files, version: str = "1.0.0") -> str:
    """Push a bundle image; returns its reference by digest."""
    repository = f"bundles/{package}"
    annotations = files.get("metadata/annotations.yaml", b"")
    digest = Registry(stage.cluster.registry).push(repository, f"v{version}", files, labels_of(annotations))
    return f"{stage.cluster.registry}/{repository}@{digest}"


def package_blobs(package: str, images: Mapping[str, str], properties: Sequence[Property] = ()) -> list[dict[str, Any]]:
    """The catalog blobs of a package with a channel `stable` in which each version replaces the one before.

    `images` is version to image, oldest first.
    """
    versions = list(images)
    entries: list[dict[str, str]] = [{"name": f"{package}.v{version}"} for version in versions]
    for entry, before in zip(entries[1:], versions, strict=False):
        entry["replaces"] = f"{package}.v{before}"
    blobs: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries},
    ]
    for version, image in images.items():
        of_package = {"type": "olm.package", "value": {"packageName": package, "version": version}}
        blob = {"schema": "olm.bundle", "package": package, "name": f"{package}.v{version}", "image": image}
        blobs.append({**blob, "properties": [of_package, *properties]})
    return blobs


def catalog_file(*packages: Sequence[Mapping[str, Any]]) -> Files:
    """A catalog's files: one with the blobs of these packages."""
    lines = [json.dumps(blob) for blobs in packages for blob in blobs]
    return {"catalog.json": "\n".join(lines).encode()}


def push_catalog(stage: Stage, *packages: Sequence[Mapping[str, Any]]) -> None:
    """Push a catalog of these packages under the test's tag; a second call moves the tag."""
    stage.repository().push_files(catalog_file(*packages))


def publish(stage: Stage, *packages: Sequence[Mapping[str, Any]]) -> str:
    """Push a catalog of these packages and return the Catalog's name once it is Ready."""
    push_catalog(stage, *packages)
    return stage.ready_catalog(stage.repository().reference)
