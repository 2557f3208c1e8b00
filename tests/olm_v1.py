"""OLM v1 as it leaves a cluster: its objects of one package, small, with the names, labels, annotations and owner references that
its source and its objects show."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from devcluster.cluster import Cluster
from olmkit.api import clustercatalogs, clusterextensions
from olmkit.api.clusterextensions import UPSTREAM_FINALIZERS, owner_labels
from olmkit.api.meta import Kind, controller_reference
from rukpak.render.rbac import role_name

Object = dict[str, Any]
NAMESPACE = "olmv1-system"
MANAGER = "operator-controller"
"""The field manager of what its Helm writes."""
ROLES = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles")
BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
ACCOUNTS = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
DEPLOYMENTS = Kind("apps", "v1", "Deployment", "deployments", namespaced=True)
DEFINITIONS = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)


COMPONENTS = ("catalogd", "operator-controller")


def part_of(component: str) -> dict[str, str]:
    """The labels of what OLM v1 consists of."""
    return {"app.kubernetes.io/name": component, "app.kubernetes.io/part-of": "olm"}


def extension(name: str = "lamp", namespace: str = "lamps", **changes: Any) -> Object:
    """A ClusterExtension; `bundle`: the version that is installed, "" for none."""
    version = changes.pop("bundle", "1.0.0")
    catalog = {"packageName": name, "upgradeConstraintPolicy": "CatalogProvided", **changes.pop("catalog", {})}
    states = {"Progressing": "True", "Installed": "True" if version else "False", **changes.pop("conditions", {})}
    written = {"reason": "Succeeded", "message": "by OLM v1", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status: Object = {"conditions": [{"type": each, "status": is_so, **written} for each, is_so in states.items()]}
    if version:
        status["install"] = {"bundle": {"name": f"{name}.v{version}", "version": version}}
    return {
        "apiVersion": clusterextensions.KIND.api_version,
        "kind": clusterextensions.KIND.kind,
        "metadata": {
            **{"name": name, "uid": f"uid-{name}", "generation": 1, "finalizers": list(UPSTREAM_FINALIZERS)},
            **changes.pop("metadata", {}),
        },
        "spec": {"namespace": namespace, "source": {"sourceType": "Catalog", "catalog": catalog}, **changes},
        "status": status,
    }


def catalog(name: str = "community", image: str = "quay.io/community/catalog:latest", **metadata: Any) -> Object:
    """A ClusterCatalog that is served."""
    labels = {"olm.operatorframework.io/metadata.name": name}
    return {
        "apiVersion": clustercatalogs.KIND.api_version,
        "kind": clustercatalogs.KIND.kind,
        "metadata": {
            **{"name": name, "uid": f"uid-{name}", "labels": labels, "finalizers": [clustercatalogs.FINALIZER]},
            **metadata,
        },
        "spec": {"source": {"type": "Image", "image": {"ref": image}}},
    }


def marks(owner: Mapping[str, Any], **metadata: Any) -> Object:
    """The metadata of an object that is installed for the ClusterExtension."""
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    release = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": owner["spec"]["namespace"]}
    return {
        "name": name,
        "labels": {**owner_labels(name), "app.kubernetes.io/managed-by": "Helm"},
        "annotations": release,
        "ownerReferences": [controller_reference(clusterextensions.KIND, name, uid)],
        **metadata,
    }


def installed(kind: Kind, owner: Mapping[str, Any], body: Mapping[str, Any] | None = None, **metadata: Any) -> Object:
    """An object that is installed for the ClusterExtension."""
    place = {"namespace": owner["spec"]["namespace"]} if kind.namespaced else {}
    more = {**place, **metadata}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": marks(owner, **more), **(body or {})}


def release(owner: Mapping[str, Any], number: int = 1, status: str = "deployed", **metadata: Any) -> Object:
    """The first Secret of a release."""
    name = owner["metadata"]["name"]
    key = f"sh.helm.release.v1.{name}.v{number}"
    labels = {"name": name, "owner": MANAGER, "status": status, "version": str(number), "key": key, "type": "index"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "operatorframework.io/index.v1",
        "metadata": {
            **{"name": key, "namespace": NAMESPACE, "labels": labels},
            "ownerReferences": [controller_reference(clusterextensions.KIND, name, owner["metadata"]["uid"])],
            **metadata,
        },
        "data": {"chunk": "c2VjcmV0", "extraChunks": "W10="},
    }


def controller(component: str, replicas: int = 1, **annotations: str) -> Object:
    """The Deployment of a controller: of catalogd, or operator-controller."""
    name, labels = f"{component}-controller-manager", part_of(component)
    pod = {"serviceAccountName": name, "containers": [{"name": "manager", "image": f"quay.io/olm/{component}:v1"}]}
    selector = {"control-plane": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": annotations},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": {**selector, **labels}}, "spec": pod},
        },
    }


@dataclass
class OlmV1:
    """OLM v1 on a cluster of a test: what it has made is deleted by close()."""

    cluster: Cluster
    _made: list[str] = field(default_factory=list)

    def install(self) -> None:
        """Create its controllers, which do nothing, with their permissions."""
        self.create(Kind("", "v1", "Namespace", "namespaces"), {"metadata": {"name": NAMESPACE}})
        for component in COMPONENTS:
            name = f"{component}-controller-manager"
            self.create(ACCOUNTS, {"metadata": {"name": name, "namespace": NAMESPACE}})
            subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
            role = {"apiGroup": ROLES.group, "kind": "ClusterRole", "name": "cluster-admin"}
            metadata = {"name": f"{component}-cluster-admin-rolebinding", "labels": part_of(component)}
            self.create(BINDINGS, {"metadata": metadata, "roleRef": role, "subjects": [subject]})
            self.create(DEPLOYMENTS, controller(component))

    def create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """Create an object as its controller does, with its status; returns it."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        metadata = {name: value for name, value in body["metadata"].items() if name != "uid"}
        path = kind.path(metadata.get("namespace"))
        made: Object = self.cluster.api.call("POST", f"{path}?fieldManager={MANAGER}", {**body, "metadata": metadata})
        self._made.append(f"{path}/{metadata['name']}")
        if "status" in body:
            whole = {**made, "status": body["status"]}
            made = self.cluster.api.call("PUT", f"{path}/{metadata['name']}/status?fieldManager={MANAGER}", whole)
        return made

    def close(self) -> None:
        """Delete everything, also what waits for a controller that does not run."""
        for path in reversed(self._made):
            status, found = self.cluster.api.request("GET", path)
            if status != http.client.OK:
                continue
            if found["metadata"].get("finalizers") and not path.startswith("/api/v1/namespaces/"):
                patch = {"metadata": {"finalizers": None}}
                self.cluster.api.request("PATCH", path, patch, "application/merge-patch+json")
            self.cluster.api.request("DELETE", path)


def install(olm: OlmV1, version: Mapping[str, Any], definition: Mapping[str, Any], namespace: str) -> Object:
    """Leave what OLM v1 leaves when the bundle with this ClusterServiceVersion is installed; returns the ClusterExtension."""
    name, number = definition["spec"]["group"].partition(".")[0], version["spec"]["version"]
    olm.create(Kind("", "v1", "Namespace", "namespaces"), {"metadata": {"name": namespace}})
    asked = extension(name, namespace, bundle=number)
    asked["status"]["install"]["bundle"]["name"] = version["metadata"]["name"]
    made = olm.create(clusterextensions.KIND, asked)
    details = version["spec"]["install"]["spec"]
    for each in details.get("clusterPermissions", ()):
        account, role = each["serviceAccountName"], role_name(version["metadata"]["name"], each)
        olm.create(ACCOUNTS, installed(ACCOUNTS, made, name=account))
        olm.create(ROLES, installed(ROLES, made, {"rules": each["rules"]}, name=role))
        body = {
            "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }
        olm.create(BINDINGS, installed(BINDINGS, made, body, name=role))
    olm.create(DEFINITIONS, {**definition, "metadata": marks(made, **definition["metadata"])})
    for each in details["deployments"]:
        spec = json.loads(json.dumps(each["spec"]))
        given = {**version["metadata"].get("annotations", {}), **spec["template"]["metadata"].get("annotations", {})}
        own = {"olm.targetNamespaces": "", "olm.operatorNamespace": namespace}
        spec["template"]["metadata"]["annotations"] = {**given, **own}
        olm.create(
            DEPLOYMENTS, installed(DEPLOYMENTS, made, {"spec": {**spec, "revisionHistoryLimit": 1}}, name=each["name"])
        )
    olm.create(SECRETS, release(made))
    return made
