"""The command `olm` against the session's API server. No controller runs, so each test writes the status that it needs."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.api_client import MERGE
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from olmctl.main import main
from olmkit.api import clusterextensions, operators
from olmkit.api.bundle_annotations import PACKAGE_ANNOTATION
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.api.clusterextensions import operator_name
from olmkit.api.crd import CRD_DEFINITIONS
from olmkit.api.meta import controller_reference
from olmkit.api.operators import INSTALLED_FOR_LABEL
from olmkit.api.ownership import OPERATOR_CONTROLLER, manager_name
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from tests.cluster.conftest import read_kind

Object = dict[str, Any]
OPERATORS = "operators.operators.operatorframework.io"
NO_CONTROLLER = (
    "warning: operator-controller does not run, it has no Lease in namespace no-suite: what Operators report may be out of date "
    "(olm suite status)\n"
)
NO_RUKPAK = NO_CONTROLLER.replace("operator-controller", "rukpak").replace("Operators", "BundleDeployments")
NO_SUITE = "--system-namespace=no-suite"
"""A namespace that does not exist."""
TIME = "2026-01-01T00:00:00Z"

_COLLECTIONS = {
    f"{name}.{each.kind.group}": each.kind.path()
    for each in CRD_DEFINITIONS
    for name in (each.kind.plural, each.kind.kind.lower())
}
"""The paths of the objects of the suite's kinds: requests to them take no process of kubectl."""


class Desk:
    """Objects of one test, which its end deletes, and the command. Names begin with `prefix`."""

    def __init__(self, cluster: Cluster, prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster = cluster
        self.prefix = prefix
        self._capsys = capsys
        self._made: list[tuple[str, ...]] = []
        self._owners: dict[str, str] = {}
        """uid -> name of BundleDeployments."""

    def olm(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, stdout and stderr of `olm`."""
        status = main([*arguments, "--kubeconfig", str(self.cluster.kubeconfig)])
        return status, *self._capsys.readouterr()

    def apply(self, body: Object, status: Object | None = None, *, uid: str = "", manager: str = "") -> str:
        """Create the object, then write its status; returns its name. `uid`: of the BundleDeployment that applies it; `manager`:
        the field manager if it is another controller."""
        name = str(body["metadata"]["name"])
        if uid:
            body["metadata"] |= {"labels": {OWNER_UID_LABEL: uid}}
            manager = manager_name(self._owners[uid])
        if manager or not self._created(body):
            as_owner = ("--server-side", f"--field-manager={manager}") if manager else ()
            self.cluster.kubectl("apply", *as_owner, "-f", "-", input=json.dumps(body))
        resource = (
            f"{body['kind'].lower()}.{body['apiVersion'].partition('/')[0]}"
            if "/" in body["apiVersion"]
            else body["kind"]
        )
        self._made.append(
            (resource, name, *(["-n", body["metadata"]["namespace"]] if "namespace" in body["metadata"] else []))
        )
        if status is not None:
            self.set_status(resource, name, status)
        return name

    def _created(self, body: Object) -> bool:
        """Create an object of the suite's kinds without a process of kubectl; False if it is there, or of another kind."""
        path = _COLLECTIONS.get(f"{body['kind'].lower()}.{body['apiVersion'].partition('/')[0]}")
        if path is None:
            return False
        status, answer = self.cluster.api.request("POST", f"{path}?fieldManager=kubectl-client-side-apply", body)
        if status not in (http.client.CREATED, http.client.CONFLICT):
            raise DevclusterError(str(answer))
        return status == http.client.CREATED

    def set_status(self, resource: str, name: str, status: Object) -> None:
        """Write the status for the current generation."""
        generation = self.get(resource, name)["metadata"]["generation"]
        body = {"status": {"observedGeneration": generation, **status}}
        if path := _COLLECTIONS.get(resource):
            self.cluster.api.call("PATCH", f"{path}/{name}/status", body, MERGE)
        else:
            self.cluster.kubectl(
                "patch", resource, name, "--subresource=status", "--type=merge", "-p", json.dumps(body)
            )

    def operator(self, name: str, status: Object | None = None, *, is_dependency: bool = False, **spec: Any) -> str:
        """Create an Operator; returns its name. `is_dependency`: as operator-controller does for those that require it."""
        metadata: Object = {"name": f"{self.prefix}-{name}"}
        if is_dependency:
            metadata["labels"] = {INSTALLED_FOR_LABEL: ""}
        body = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": metadata}
        manager = OPERATOR_CONTROLLER if is_dependency else ""
        return self.apply({**body, "spec": {"packageName": name, **spec}}, status, manager=manager)

    def extension(self, name: str, package: str = "a") -> str:
        """Create a ClusterExtension of the package; returns its name."""
        spec = {"namespace": "default", "source": {"sourceType": "Catalog", "catalog": {"packageName": package}}}
        head = {"apiVersion": clusterextensions.KIND.api_version, "kind": clusterextensions.KIND.kind}
        return self.apply({**head, "metadata": {"name": f"{self.prefix}-{name}"}, "spec": spec})

    def operator_of(self, extension: str, status: Object | None = None, package: str = "a") -> str:
        """Create the Operator of a ClusterExtension, as operator-controller does; returns its name."""
        uid = self.get(f"clusterextension.{clusterextensions.KIND.group}", extension)["metadata"]["uid"]
        owner = controller_reference(clusterextensions.KIND, extension, uid)
        head = {"apiVersion": operators.KIND.api_version, "kind": operators.KIND.kind}
        metadata = {"name": operator_name(extension), "ownerReferences": [owner]}
        return self.apply({**head, "metadata": metadata, "spec": {"packageName": package}}, status)

    def catalog(self, *packages: str, name: str = "c", **spec: Any) -> str:
        """Create a Catalog that serves these packages; returns its name."""
        status = {
            **{"contentURL": "https://example.com/catalogs/c/all.json", "contentDigest": "sha256:" + "0" * 64},
            **{"packages": ",".join(packages), "packageCount": len(packages)},
            "conditions": [condition("Serving", "True", "Available")],
        }
        source = {"type": "image", "image": {"ref": "example.com/a@sha256:" + "0" * 64}}
        body = {"apiVersion": "catalogd.operatorframework.io/v1alpha1", "kind": "Catalog"}
        return self.apply({**body, "metadata": {"name": name}, "spec": {"source": source, **spec}}, status)

    def package(self, name: str, *channels: str, catalog: str = "c", versions: str = "") -> str:
        """Create a Package with these channels that lists these versions; returns the name of the package."""
        full = f"{self.prefix}-{name}"
        entries = [{"name": channel, "entries": [{"name": f"{full}.v1.0.0"}]} for channel in channels]
        metadata = {
            "name": f"{self.prefix}-{catalog}-{name}",
            "labels": {"catalog": catalog, "package": full},
            "annotations": {VERSIONS_ANNOTATION: versions} if versions else {},
        }
        body = {"apiVersion": "catalogd.operatorframework.io/v1alpha1", "kind": "Package", "metadata": metadata}
        self.apply({**body, "spec": {"catalog": {"name": catalog}, "packageName": full, "channels": entries}})
        return full

    def requiring(self, *operators: str) -> list[Object]:
        """status.dependencies of an Operator that requires the packages of these Operators."""
        packages = [name.removeprefix(f"{self.prefix}-") for name in operators]
        return [
            {
                **{"package": package, "version": "1.0.0", "bundle": f"{package}.v1", "operator": name},
                **{"installed": True, "requirement": f"it requires {package}"},
            }
            for package, name in zip(packages, operators, strict=True)
        ]

    def bundle_deployment(self, operator: str, *kinds: str, status: Object | None = None) -> str:
        """Create the BundleDeployment of an Operator, with objects of these kinds; returns its uid."""
        metadata = {
            "name": operator,
            "ownerReferences": [self._reference(operator)],
            "annotations": {"core.rukpak.io/contains-group-kinds": ",".join(kinds)},
        }
        source = {"type": "image", "image": {"ref": "example.com/a@sha256:" + "0" * 64}}
        template = {"spec": {"provisionerClassName": "core-rukpak-io-registry", "source": source}}
        body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "metadata": metadata}
        self.apply({**body, "spec": {"provisionerClassName": "core-rukpak-io-plain", "template": template}}, status)
        uid = str(self.get("bundledeployments.core.rukpak.io", operator)["metadata"]["uid"])
        self._owners[uid] = operator
        return uid

    def left_installation(
        self,
        name: str,
        package: str,
        *,
        bundle: str = "a.v1",
        manager: str = OPERATOR_CONTROLLER,
        owner: str = "",
        **metadata: Any,
    ) -> str:
        """Create the BundleDeployment of a package that this field manager has made, with version 1.0.0 installed; returns its
        name. `owner`: the Operator that owns it; without one it is as `--cascade=orphan` leaves it."""
        full = f"{self.prefix}-{name}"
        image = "example.com/a@sha256:" + "0" * 64
        spec = {"provisionerClassName": "core-rukpak-io-registry", "source": {"type": "image", "image": {"ref": image}}}
        template = {"metadata": {"annotations": {PACKAGE_ANNOTATION: package}}, "spec": spec}
        if owner:
            metadata["ownerReferences"] = [self._reference(owner)]
        body = {
            "apiVersion": "core.rukpak.io/v1alpha1",
            "kind": "BundleDeployment",
            "metadata": {"name": full, **metadata},
        }
        body["spec"] = {"provisionerClassName": "core-rukpak-io-plain", "template": template}
        record = {"bundle": "a", "name": bundle, "version": "1.0.0", "catalog": "c", "channel": "stable", "spec": spec}
        ready = condition("Ready", "True", "Succeeded")
        return self.apply(body, {"installed": record, "conditions": [ready]}, manager=manager)

    def own(self, operator: str, deployment: str) -> None:
        """Have the Operator own the BundleDeployment, as operator-controller does that takes it over."""
        body = json.dumps({"metadata": {"ownerReferences": [self._reference(operator)]}})
        self.cluster.kubectl("patch", "bundledeployments.core.rukpak.io", deployment, "--type=merge", "-p", body)

    def _reference(self, operator: str) -> Object:
        uid, version = self.get(OPERATORS, operator)["metadata"]["uid"], "operators.operatorframework.io/v1alpha1"
        return {"apiVersion": version, "kind": "Operator", "name": operator, "uid": uid, "controller": True}

    def definition_body(self, plural: str, **properties: Any) -> Object:
        """A CRD of version v1 whose custom resources have these properties beside their metadata."""
        group, kind = f"{self.prefix}.example.com", plural.capitalize()
        schema = {"openAPIV3Schema": {"type": "object", **({"properties": properties} if properties else {})}}
        spec = {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": kind, "listKind": f"{kind}List", "singular": plural},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        }
        metadata = {"name": f"{plural}.{group}"}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": spec,
        }

    def definition(self, uid: str, plural: str, **properties: Any) -> str:
        """Create such a CRD as an object of the BundleDeployment with that uid, if it is one; returns its name when it is
        served."""
        name = self.apply(self.definition_body(plural, **properties), uid=uid)
        self.cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{name}")
        read_kind(self.cluster, f"/apis/{self.prefix}.example.com/v1/{plural}")
        return name

    def custom_resource(self, plural: str, name: str, *, uid: str = "", **metadata: Any) -> str:
        """Create a custom resource of a CRD of definition(); returns its name. `uid`: of the BundleDeployment that applies it."""
        version = f"{self.prefix}.example.com/v1"
        body = {"apiVersion": version, "kind": plural.capitalize(), "metadata": {"name": name, **metadata}}
        return self.apply(body, uid=uid)

    def get(self, resource: str, name: str, *flags: str) -> Object:
        """The object as it is."""
        found: Object
        if path := _COLLECTIONS.get(resource):
            found = self.cluster.api.call("GET", f"{path}/{name}")
        else:
            found = json.loads(self.cluster.kubectl("get", resource, name, "-o", "json", *flags))
        return found

    def close(self) -> None:
        """Delete what was made."""
        for resource, name, *flags in reversed(self._made):
            if not self._deleted(resource, name):
                self.cluster.kubectl("delete", resource, name, "--ignore-not-found", "--timeout=60s", *flags)

    def _deleted(self, resource: str, name: str) -> bool:
        """Delete an object of the suite's kinds; False if something holds it, or if it is of another kind."""
        path = _COLLECTIONS.get(resource)
        if path is None:
            return False
        status, answer = self.cluster.api.request("DELETE", f"{path}/{name}")
        return status == http.client.NOT_FOUND or answer.get("kind") == "Status"


def condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    """A condition of a status."""
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": TIME}


@pytest.fixture
def desk(definitions: Cluster, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    """The Desk of the test."""
    mine = Desk(definitions, f"t{abs(hash(request.node.nodeid)) % 10**8}", capsys)
    try:
        yield mine
    finally:
        mine.close()
