"""Packages for scenarios of OLM v1: bundles of a CRD, a Deployment, a ConfigMap and a NetworkPolicy, and the blobs of a catalog.

Unlike those of tests.e2e.packages, a package has several channels and no default channel. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from tests.e2e.packages import Files, definition, group, registry_bundle, service_version

Object = dict[str, Any]
Blob = dict[str, Any]

_DESCRIPTION = "A field that is described at length, so that the definition is large. " * 60


@dataclass(frozen=True)
class Contents:
    """What differs between the bundles of the scenarios."""

    install_modes: tuple[str, ...] = ("AllNamespaces", "SingleNamespace")
    fields_of_crd: int = 0
    """Fields of 4 KB that its CRD has in addition."""


PLAIN = Contents()


@dataclass(frozen=True)
class Entry:
    """An entry of a channel. Without `contents` its bundle is that of an earlier entry of the version; `image_of` is the version
    whose image it has."""

    version: str
    channel: str = "beta"
    replaces: str = ""
    contents: Contents | None = PLAIN
    image_of: str = ""


def bundle(package: str, version: str, contents: Contents = PLAIN) -> Files:
    """The files of a bundle. All its objects but the CRD have names that begin with that of the package."""
    files = dict(registry_bundle(package, version, others=(config_map(package, version), network_policy(package))))
    csv = service_version(package, version)
    for mode in csv["spec"]["installModes"]:
        mode["supported"] = mode["type"] in contents.install_modes
    csv["spec"]["install"]["spec"]["deployments"][0]["label"] = {"app.kubernetes.io/name": package}
    files["manifests/csv.yaml"] = yaml.safe_dump(csv).encode()
    if contents.fields_of_crd:
        files["manifests/crd.yaml"] = yaml.safe_dump(_large(definition(package), contents.fields_of_crd)).encode()
    return files


def config_map(package: str, version: str) -> Object:
    """The ConfigMap of a bundle, which has its version."""
    metadata = {"name": f"{package}-settings"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"version": version}}


def network_policy(package: str) -> Object:
    """The NetworkPolicy of a bundle."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": f"{package}-ingress"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
    }


def installed_objects(package: str, namespace: str) -> dict[str, str]:
    """Paths of the API, by kind, of what a bundle of the package is installed as."""
    return {
        "CustomResourceDefinition": (
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group(package)}"
        ),
        "Deployment": f"/apis/apps/v1/namespaces/{namespace}/deployments/{package}",
        "ConfigMap": f"/api/v1/namespaces/{namespace}/configmaps/{package}-settings",
        "NetworkPolicy": f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/{package}-ingress",
        "ServiceAccount": f"/api/v1/namespaces/{namespace}/serviceaccounts/{package}",
    }


def package_blobs(package: str, entries: Sequence[Entry], images: Mapping[str, str]) -> list[Blob]:
    """The blobs of a package of these entries; `images` is version to reference."""
    blobs: list[Blob] = [{"schema": "olm.package", "name": package}]
    for channel in dict.fromkeys(each.channel for each in entries):
        listed = [_channel_entry(package, each) for each in entries if each.channel == channel]
        blobs.append({"schema": "olm.channel", "package": package, "name": channel, "entries": listed})
    return [*blobs, *(_bundle_blob(package, version, images[version]) for version in versions(entries))]


def versions(entries: Iterable[Entry]) -> list[str]:
    """The versions of these entries, each once."""
    return list(dict.fromkeys(each.version for each in entries))


def bundle_name(package: str, version: str) -> str:
    """The name of a bundle."""
    return f"{package}.{version}"


def _channel_entry(package: str, entry: Entry) -> dict[str, str]:
    replaced = {"replaces": bundle_name(package, entry.replaces)} if entry.replaces else {}
    return {"name": bundle_name(package, entry.version), **replaced}


def _bundle_blob(package: str, version: str, image: str) -> Blob:
    property_ = {"type": "olm.package", "value": {"packageName": package, "version": version}}
    name = bundle_name(package, version)
    return {"schema": "olm.bundle", "package": package, "name": name, "image": image, "properties": [property_]}


def _large(crd: Object, fields: int) -> Object:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    described = {"type": "string", "description": _DESCRIPTION}
    schema["properties"]["spec"] = {
        "type": "object",
        "properties": {f"field{number:04d}": dict(described) for number in range(fields)},
    }
    return crd
