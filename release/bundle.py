"""Writes the suite as a registry+v1 bundle, and a catalog with it, for clusters with OLM v0.

    <directory>/bundle/manifests/       the ClusterServiceVersion, the CRDs and what else registry+v1 supports
    <directory>/bundle/metadata/        annotations.yaml
    <directory>/bundle.Dockerfile       the image of the bundle
    <directory>/catalog/olm-suite/      the file-based catalog: package olm-suite, channel alpha
    <directory>/prerequisites.yaml      objects that registry+v1 cannot contain: namespaces, Roles in other namespaces, and
    webhooks

rukpak refuses this bundle: a bundle must not bring objects of the suite itself. docs/install.md describes how it is used.
Never connects to a cluster.
"""

from __future__ import annotations

import base64
import copy
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from olmctl.object_text import as_yaml
from olmctl.suite.manifests import SYSTEM_NAMESPACE, Manifests
from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api.meta import Object
from release.suite import CONFIG, SUITE

CHANNEL = "alpha"
SAMPLES = ("sample-catalog.yaml", "hello-operator.yaml", "message-board.yaml")
"""Files of config/samples whose objects are the alm-examples."""
EXAMPLE_NAMES = frozenset({"Catalog", "Operator", "BundleDeployment"})
COPIED_KINDS = frozenset(
    {"Service", "PodDisruptionBudget", "NetworkPolicy", "ConfigMap", "ClusterRole", "Role", "RoleBinding"}
)
"""Kinds that registry+v1 supports. Roles are copied and not `permissions` of the CSV: OLM makes those ClusterRoles for all
namespaces, and the controllers may read Secrets in their own namespace only."""
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="12" fill="#326ce5"/>'
    '<path d="M32 12 50 22v20L32 52 14 42V22z" fill="none" stroke="#fff" stroke-width="5"/></svg>'
)
DESCRIPTION = """\
Installs and upgrades operators from catalogs: catalogd unpacks file-based catalogs and serves them, rukpak installs bundles and
keeps them installed, operator-controller resolves what Operators request.

Apply `prerequisites.yaml` of the release first: it has the namespaces of the suite and the Roles in other namespaces, which a
bundle cannot contain. The OperatorGroup of `olm-suite-system` selects all namespaces.
"""
_DOCKERFILE = """\
FROM scratch
{labels}
COPY bundle/manifests /manifests/
COPY bundle/metadata /metadata/
"""


def image_labels() -> dict[str, str]:
    """metadata/annotations.yaml, which are also the labels of the image."""
    prefix = "operators.operatorframework.io.bundle"
    return {
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.metadata.v1": "metadata/",
        f"{prefix}.package.v1": SUITE,
        f"{prefix}.channels.v1": CHANNEL,
        f"{prefix}.channel.default.v1": CHANNEL,
    }


def bundle_objects(manifests: Manifests) -> list[Object]:
    """The manifests of the bundle."""
    accounts = {f"{SUITE}-{each['metadata']['name']}" for each in manifests.objects if each["kind"] == "ServiceAccount"}
    copied = [
        copy.deepcopy(each)
        for each in manifests.objects
        if each["kind"] in COPIED_KINDS
        and (_is_own(each) or (each["kind"] == "ClusterRole" and each["metadata"]["name"] not in accounts))
    ]
    for each in copied:
        each["metadata"].pop("namespace", None)
    return [_csv(manifests), *manifests.crds, *copied]


def prerequisites(objects: Iterable[Object]) -> list[Object]:
    """The objects that the bundle cannot contain: OLM would put Roles into the namespace of the bundle, and it supports no
    webhook configurations other than those that it makes itself."""
    kinds = ("Role", "RoleBinding", WEBHOOK_CONFIGURATIONS.kind)
    outside = [each for each in objects if each["kind"] in kinds and not _is_own(each)]
    return [*(each for each in objects if each["kind"] == "Namespace"), *outside]


def _is_own(obj: Object) -> bool:
    return bool(obj["metadata"].get("namespace") == SYSTEM_NAMESPACE)


def _version(manifests: Manifests) -> str:
    """The version as a ClusterServiceVersion has it."""
    return manifests.version.removeprefix("v")


def _csv(manifests: Manifests) -> Object:
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{SUITE}.v{_version(manifests)}",
            "annotations": {
                "alm-examples": json.dumps(_examples(), indent=2),
                "capabilities": "Seamless Upgrades",
                "categories": "Integration & Delivery",
                "containerImage": manifests.image,
                "description": "Installs operators from catalogs, resolves what they require and keeps them installed.",
                "operatorframework.io/suggested-namespace": SYSTEM_NAMESPACE,
            },
        },
        "spec": {
            "displayName": "OLM Suite",
            "description": DESCRIPTION,
            "version": _version(manifests),
            "maturity": "alpha",
            "minKubeVersion": "1.28.0",
            "provider": {"name": SUITE},
            "keywords": ["operator", "catalog", "lifecycle", "olm"],
            "icon": [{"base64data": base64.b64encode(ICON.encode()).decode(), "mediatype": "image/svg+xml"}],
            "installModes": [
                {"type": mode, "supported": mode == "AllNamespaces"}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "customresourcedefinitions": {"owned": [_owned(each) for each in manifests.crds]},
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": _cluster_permissions(manifests.objects),
                    "deployments": [_deployment(each) for each in manifests.deployments],
                },
            },
        },
    }


def _examples() -> list[Object]:
    found = [each for name in SAMPLES for each in yaml.safe_load_all((CONFIG / "samples" / name).read_text())]
    by_kind = {each["kind"]: each for each in reversed(found) if each and each["kind"] in EXAMPLE_NAMES}
    return [by_kind[kind] for kind in sorted(by_kind)]


def _owned(crd: Object) -> Object:
    spec = crd["spec"]
    version = next(each for each in spec["versions"] if each["storage"])
    return {
        "name": crd["metadata"]["name"],
        "version": version["name"],
        "kind": spec["names"]["kind"],
        "displayName": spec["names"]["kind"],
        "description": version["schema"]["openAPIV3Schema"].get("description", spec["names"]["kind"]),
    }


def _cluster_permissions(objects: Sequence[Object]) -> list[Object]:
    """The rules of each account, as ClusterRoleBindings give them."""
    roles = {each["metadata"]["name"]: each for each in objects if each["kind"] == "ClusterRole"}
    rules: dict[str, list[Any]] = {}
    for each in objects:
        if each["kind"] == "ClusterRoleBinding":
            for subject in each["subjects"]:
                rules.setdefault(subject["name"], []).extend(roles[each["roleRef"]["name"]]["rules"])
    return [{"serviceAccountName": name, "rules": found} for name, found in sorted(rules.items())]


def _deployment(obj: Object) -> Object:
    return {"name": obj["metadata"]["name"], "label": obj["metadata"].get("labels", {}), "spec": obj["spec"]}


def write_bundle(directory: Path, manifests: Manifests, bundle_image: str) -> list[Path]:
    """Write everything; `bundle_image` is the image that the bundle will be pushed as. Returns the paths of the files.

    Raises OSError and subprocess.CalledProcessError.
    """
    bundle, name = directory / "bundle", f"{SUITE}.v{_version(manifests)}"
    labels = "\n".join(f"LABEL {key}={value}" for key, value in image_labels().items())
    files = {
        bundle / "manifests" / f"{each['metadata']['name']}.{each['kind'].lower()}.yaml": as_yaml(each)
        for each in bundle_objects(manifests)
    }
    files[bundle / "metadata" / "annotations.yaml"] = as_yaml({"annotations": image_labels()})
    files[directory / "bundle.Dockerfile"] = _DOCKERFILE.format(labels=labels)
    files[directory / "prerequisites.yaml"] = _documents(prerequisites(manifests.objects))
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = (sys.executable, "-m", "olmctl", "catalog", "render", str(bundle), "--image", bundle_image, "--migrate")
    rendered = subprocess.run((*command, "-o", "yaml"), check=True, capture_output=True, text=True).stdout
    head: list[Object] = [
        {"schema": "olm.package", "name": SUITE, "defaultChannel": CHANNEL},
        {"schema": "olm.channel", "package": SUITE, "name": CHANNEL, "entries": [{"name": name}]},
    ]
    catalog = directory / "catalog" / SUITE / "catalog.yaml"
    catalog.parent.mkdir(parents=True, exist_ok=True)
    catalog.write_text(_documents(head) + rendered)
    return [*files, catalog]


def _documents(objects: Iterable[Object]) -> str:
    return "".join(f"---\n{as_yaml(each)}" for each in objects)
