"""PackageManifests as an API of the real API server, which aggregates catalogd: kubectl, RBAC, and icons by its path."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from devcluster import process_service
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY
from devcluster.suite import NAMESPACE, Suite
from olmkit.api.package_manifests import API_SERVICE_NAME
from tests.cluster.catalogd.conftest import package
from tests.cluster.devcluster.test_cluster import eventually
from tests.integration.catalogd.http.test_package_manifests import DRAWING, PICTURE, icon

CATALOG = "package-manifests"
MANIFESTS = REPOSITORY / "config" / "packagemanifests"
PATH = "/apis/packages.operators.coreos.com/v1/namespaces/default/packagemanifests"
CSV = {
    "displayName": "Drawn operator",
    "provider": {"name": "ACME"},
    "annotations": {"description": "<script>alert(1)</script>"},
    "installModes": [{"type": "AllNamespaces", "supported": True}],
    "crdDescriptions": {"owned": [{"name": "ds.example.com", "kind": "D", "version": "v1"}]},
}


def content() -> str:
    """The packages `drawn` and `evil`, as lines of JSON."""
    drawn = package("drawn", "1.0.0", "1.1.0", icon=icon(DRAWING, "image/png"))
    drawn[-1]["properties"].append({"type": "olm.csv.metadata", "value": CSV})
    evil = package("evil", "1.0.0", icon=icon(b"<html><script>alert(1)</script>", "image/svg+xml"))
    plain = package("plain", "1.0.0", icon=icon(PICTURE, "image/png"))
    return "".join(json.dumps(each) + "\n" for blobs in (drawn, evil, plain) for each in blobs)


@pytest.fixture(scope="module")
def aggregated(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster with catalogd, a Catalog, and the API that config/packagemanifests installs."""
    if process_service.machine_address() is None:
        pytest.skip("the API server reaches no Service on loopback")
    meta = {"name": CATALOG, "namespace": NAMESPACE}
    files = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"catalog.json": content()}}
    source = {"type": "configMaps", "configMaps": [{"configMap": {"name": CATALOG}}]}
    catalog = {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": CATALOG},
        "spec": {"source": source, "displayName": "Shown", "priority": 1_000},
    }
    with Suite(cluster, tmp_path_factory.mktemp("suite")) as suite:
        suite.install()
        cluster.kubectl("apply", "--server-side", "-f", "-", input="\n---\n".join(map(json.dumps, (files, catalog))))
        cluster.kubectl("apply", "--server-side", "-k", str(MANIFESTS))  # before the first check of catalogd
        suite.start("catalogd")
        try:
            cluster.kubectl("wait", "--for=condition=Available", "--timeout=60s", "apiservice", API_SERVICE_NAME)
            eventually(lambda: cluster.api.request("GET", f"{PATH}/drawn")[0] == HTTPStatus.OK)
            yield cluster
        finally:
            cluster.kubectl("delete", "-k", str(MANIFESTS))
            cluster.kubectl("delete", "catalogs.catalogd.operatorframework.io", CATALOG)
            cluster.kubectl("delete", "configmap", CATALOG, f"--namespace={NAMESPACE}")


def kubectl(cluster: Cluster, *arguments: str) -> Any:
    return json.loads(cluster.kubectl(*arguments, "-o", "json"))


def test_kubectl_lists_and_shows_packages(aggregated: Cluster) -> None:
    shown = aggregated.kubectl("get", "packagemanifests", "-n", "default", "-l", f"catalog={CATALOG}")
    heading, *rows = (line.split() for line in shown.splitlines())
    assert (heading, [each[:2] for each in rows]) == (
        ["NAME", "CATALOG", "AGE"],
        [["drawn", CATALOG], ["evil", CATALOG], ["plain", CATALOG]],
    )
    found = kubectl(aggregated, "get", "packagemanifest", "drawn", "-n", "default")
    status = found["status"]
    assert (found["metadata"]["namespace"], status["catalogSource"]) == ("default", CATALOG)
    assert (status["catalogSourceDisplayName"], status["catalogSourceNamespace"]) == ("Shown", "default")
    described = status["channels"][0]["currentCSVDesc"]
    assert (described["version"], described["displayName"], described["provider"]) == (
        "1.1.0",
        "Drawn operator",
        {"name": "ACME"},
    )
    assert described["customresourcedefinitions"] == CSV["crdDescriptions"]
    everywhere = kubectl(aggregated, "get", "packagemanifests", "-A", "-l", f"catalog={CATALOG}")["items"]
    assert {each["metadata"]["namespace"] for each in everywhere} == {NAMESPACE}
    assert "packagemanifests" in aggregated.kubectl("api-resources", "--categories=olm", "-o", "name")
    with pytest.raises(DevclusterError, match=r'packagemanifests.packages.operators.coreos.com "absent" not found'):
        aggregated.kubectl("get", "packagemanifest", "absent", "-n", "default")


def test_who_may_view_a_namespace_may_read_them_there(aggregated: Cluster) -> None:
    aggregated.kubectl("create", "rolebinding", "viewer", "--clusterrole=view", "--user=ann", "-n", "default")
    try:
        eventually(lambda: "drawn" in _as(aggregated, "ann", "default"))
        assert "(Forbidden)" in _as(aggregated, "ann", NAMESPACE)
        assert "(Forbidden)" in _as(aggregated, "bob", "default")
    finally:
        aggregated.kubectl("delete", "rolebinding", "viewer", "-n", "default")


def _as(cluster: Cluster, user: str, namespace: str) -> str:
    try:
        return cluster.kubectl("get", "packagemanifests", "-n", namespace, f"--as={user}")
    except DevclusterError as error:
        return str(error)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("drawn", "image/svg+xml"), ("evil", "application/octet-stream"), ("plain", "image/png")],
)
@pytest.mark.parametrize(
    "base", [PATH, f"/api/v1/namespaces/{NAMESPACE}/services/https:catalogd-catalogserver:https/proxy{PATH}"]
)
def test_icons_by_the_path_of_the_api_server_cannot_act(
    aggregated: Cluster, base: str, name: str, media_type: str
) -> None:
    status, headers = _headers(aggregated, f"{base}/{name}/icon")
    assert (status, headers["content-type"]) == (200, media_type)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].endswith("; sandbox")
    assert ("content-disposition" in headers) is (name == "evil")


def _headers(cluster: Cluster, path: str) -> tuple[int, dict[str, str]]:
    """Status and headers, as a client of the API server gets them."""
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    server, token = config["clusters"][0]["cluster"], config["users"][0]["user"]["token"]
    authority, host = base64.b64decode(server["certificate-authority-data"]).decode(), urlsplit(server["server"]).netloc
    connection = http.client.HTTPSConnection(host, context=ssl.create_default_context(cadata=authority), timeout=30)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def test_namespaces_are_deleted_while_the_api_is_there(aggregated: Cluster) -> None:
    """Nothing of the API can be deleted, so the namespace controller does not ask for it."""
    aggregated.kubectl("create", "namespace", "short-lived")
    aggregated.kubectl("delete", "namespace", "short-lived", "--timeout=60s")
