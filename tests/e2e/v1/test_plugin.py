"""What the `olmv1` commands of kubectl-operator request and wait for, request by request."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from devcluster.watch import CATALOGS, OPERATORS, Event, Object
from tests.conditions import triple
from tests.e2e.stage import CLUSTER_CATALOGS, CLUSTER_EXTENSIONS
from tests.e2e.v1.bundles import Entry, bundle_name
from tests.e2e.v1.scene import Scene, installed_bundle
from tests.e2e.v1.test_install import SERVICE_ACCOUNT_WARNING

pytestmark = pytest.mark.v1

VERSIONS = (Entry("1.0.0"), Entry("1.1.0", replaces="1.0.0"))


def created(scene: Scene, collection: str, object_: Object, query: str = "") -> Object:
    """Create an object, which the end of the scenario deletes."""
    if not query:
        scene.also_delete(object_["kind"], object_["metadata"]["name"])
    found: Object = scene.cluster.api.call("POST", f"{collection}{query}", object_)
    return found


def updated(scene: Scene, path: str, **spec: Any) -> Object:
    """Write the whole object as it was read, with these fields of its spec changed."""
    read = scene.cluster.api.call("GET", path)
    read["spec"] |= spec
    found: Object = scene.cluster.api.call("PUT", path, read)
    return found


def catalog(scene: Scene, **spec: Any) -> Object:
    """The ClusterCatalog that `create catalog` makes, of a catalog that exists."""
    image = {"ref": scene.push(VERSIONS)}
    scene.catalogs["test"] = scene.name
    metadata = {"name": scene.name, "labels": {"team": scene.name}}
    source = {"type": "Image", "image": image}
    return {
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": metadata,
        "spec": {"source": source, **spec},
    }


def test_create_catalog_sees_that_a_new_catalog_does_not_serve_and_then_serves(scene: Scene) -> None:
    watch = scene.watch(CLUSTER_CATALOGS)
    watch.until_listed()
    created(scene, CLUSTER_CATALOGS, catalog(scene))
    serving: list[tuple[str, str]] = []

    def note(event: Event) -> None:
        state = triple(event.object, "Serving")[:2]
        if event.name == scene.name and state != ("", "") and state not in serving:
            serving.append(state)

    watch.until("it serves", lambda found: triple(found.get(scene.name), "Serving")[0] == "True", seen=note)
    # Without --available the command waits for False, and deletes a ClusterCatalog that is never False.
    assert serving == [("False", "Unavailable"), ("True", "Available")]


def test_create_catalog_available_false_serves_nothing(scene: Scene) -> None:
    created(scene, CLUSTER_CATALOGS, catalog(scene, availabilityMode="Unavailable"))

    text = "Catalog availability mode is set to Unavailable"
    found = scene.until(
        CLUSTER_CATALOGS,
        "its state is the desired one",
        lambda o: (
            one if (one := o.get(scene.name)) and triple(one, "Progressing") == ("True", "Succeeded", text) else None
        ),
    )
    assert triple(found, "Serving") == ("False", "UserSpecifiedUnavailable", text)
    assert found["status"].keys() == {"conditions"}


def test_update_catalog_writes_the_whole_object(scene: Scene) -> None:
    created(scene, CLUSTER_CATALOGS, catalog(scene))
    scene.serving_catalog()
    updated(scene, f"{CLUSTER_CATALOGS}/{scene.name}", priority=7)
    scene.until(CATALOGS, "its Catalog has the priority", lambda o: o[scene.name]["spec"].get("priority") == 7)
    updated(scene, f"{CLUSTER_CATALOGS}/{scene.name}", availabilityMode="Unavailable")
    scene.until(
        CLUSTER_CATALOGS, "it serves no more", lambda o: triple(o[scene.name], "Serving")[1].startswith("UserSpecified")
    )
    updated(scene, f"{CLUSTER_CATALOGS}/{scene.name}", availabilityMode="Available")
    scene.serving_catalog()


def test_delete_catalog_waits_until_it_is_gone(scene: Scene) -> None:
    created(scene, CLUSTER_CATALOGS, catalog(scene))
    scene.serving_catalog()
    scene.delete("ClusterCatalog", scene.name)
    assert scene.read(f"{CATALOGS}/{scene.name}") is None


def test_get_catalog_finds_its_columns(scene: Scene) -> None:
    created(scene, CLUSTER_CATALOGS, catalog(scene))
    scene.serving_catalog()
    (found,) = scene.cluster.api.call("GET", f"{CLUSTER_CATALOGS}?labelSelector=team%3D{scene.name}")["items"]
    assert (found["spec"]["availabilityMode"], found["spec"]["priority"]) == ("Available", 0)
    assert found["status"]["lastUnpacked"].endswith("Z")


def test_install_update_and_delete_extension(scene: Scene) -> None:
    scene.create_namespace()
    created(scene, CLUSTER_CATALOGS, catalog(scene))
    scene.serving_catalog()
    wanted = scene.extension(version="1.0.0", serviceAccount={"name": "default"})
    scene.also_delete("ClusterExtension", scene.name)
    done = scene.cluster.finished_kubectl("create", "--filename=-", input=yaml.safe_dump(wanted))
    assert (done.returncode, done.stderr.strip()) == (0, SERVICE_ACCOUNT_WARNING)

    def is_installed(found: Object) -> bool:
        """Whether the command ends: Progressing is absent or Succeeded, and Installed is True."""
        return triple(found, "Progressing")[1] in ("", "Succeeded") and triple(found, "Installed")[0] == "True"

    ended = scene.until(
        CLUSTER_EXTENSIONS, "install ends", lambda o: o.get(scene.name) if is_installed(o.get(scene.name, {})) else None
    )
    assert installed_bundle(ended) == (bundle_name(scene.package, "1.0.0"), "1.0.0")
    assert scene.read(scene.objects["Deployment"]) is not None

    path = f"{CLUSTER_EXTENSIONS}/{scene.name}"
    source = {**ended["spec"]["source"], "catalog": {**ended["spec"]["source"]["catalog"], "version": "1.1.0"}}
    updated(scene, path, source=source, install={"preflight": {"crdUpgradeSafety": {"enforcement": "Strict"}}})
    scene.rolled_out("1.1.0")
    scene.delete("ClusterExtension", scene.name)
    assert scene.read(f"{OPERATORS}/{scene.name}") is None
    assert scene.read(scene.objects["Deployment"]) is None


def test_get_extension_finds_its_columns(scene: Scene) -> None:
    scene.create_namespace()
    scene.cluster_catalog(VERSIONS)
    found = scene.install()
    assert found["spec"]["source"]["sourceType"] == "Catalog"
    printed = scene.cluster.run_kubectl("get", "clusterextension", scene.name).splitlines()
    assert printed[0].split("  ")[0] == "NAME"
    assert "INSTALLED BUNDLE" in printed[0]
    assert printed[1].split()[:5] == [scene.name, bundle_name(scene.package, "1.1.0"), "1.1.0", "True", "True"]


def test_dry_run_of_all_commands_stores_nothing(scene: Scene) -> None:
    made = created(scene, CLUSTER_CATALOGS, catalog(scene), "?dryRun=All")
    assert (made["spec"]["availabilityMode"], made["spec"]["priority"]) == ("Available", 0)
    made = created(scene, CLUSTER_EXTENSIONS, scene.extension(), "?dryRun=All")
    assert made["spec"]["source"]["catalog"]["upgradeConstraintPolicy"] == "CatalogProvided"
    assert [scene.read(f"{each}/{scene.name}") for each in (CLUSTER_CATALOGS, CLUSTER_EXTENSIONS)] == [None, None]


def test_search_catalog_reads_the_content_through_the_service(scene: Scene) -> None:
    created(scene, CLUSTER_CATALOGS, catalog(scene))
    check_search(scene, scene.serving_catalog())


def check_search(scene: Scene, name: str) -> None:
    """`search catalog` finds the Service, the port and the pods of a ClusterCatalog, and its content."""
    namespace = scene.suite.namespace
    status = scene.cluster.api.call("GET", f"{CLUSTER_CATALOGS}/{name}")["status"]
    assert "@sha256:" in status["resolvedSource"]["image"]["ref"]
    assert status["urls"]["base"] == f"https://catalogd-service.{namespace}.svc/catalogs/{name}"
    base = urlsplit(status["urls"]["base"])
    service = scene.cluster.api.call("GET", f"/api/v1/namespaces/{namespace}/services/catalogd-service")
    ports = {each["port"]: each["targetPort"] for each in service["spec"]["ports"]}
    assert isinstance(ports[base.port or 443], int), "the command cannot read the name of a port"
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    found = scene.cluster.api.call("GET", f"{slices}?labelSelector=kubernetes.io/service-name%3Dcatalogd-service")
    targets = [each["targetRef"]["kind"] for one in found["items"] for each in one["endpoints"]]
    assert set(targets) == {"Pod"}

    host, _, port = (scene.suite.addresses["catalogd"].catalogs or "").rpartition(":")
    assert host == "127.0.0.1"
    check_content(scene, int(port), base.path)


def check_content(scene: Scene, port: int, path: str) -> None:
    """catalogd offers the package at a forwarded port, to a client that trusts the CAs in the Secrets alone."""
    secrets = scene.cluster.api.call("GET", f"/api/v1/namespaces/{scene.suite.namespace}/secrets")["items"]
    found = [
        each
        for each in secrets
        if each["metadata"]["name"].startswith("catalogd") and "ca.crt" in (each.get("data") or {})
    ]
    trusted = "".join(base64.b64decode(each["data"]["ca.crt"]).decode() for each in found)
    lines = content(port, ssl.create_default_context(cadata=trusted), f"{path}/api/v1/all").splitlines()
    blobs = list(map(json.loads, lines))
    assert [each["name"] for each in blobs if each["schema"] == "olm.package"] == [scene.package]


def content(port: int, context: ssl.SSLContext, path: str) -> bytes:
    """What catalogd answers at a port of this machine, which the client calls localhost."""
    with closing(http.client.HTTPSConnection("localhost", port, context=context)) as connection:
        connection.request("GET", path)
        with connection.getresponse() as answer:
            assert answer.status == http.client.OK
            return answer.read()
