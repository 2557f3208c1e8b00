"""BundleDeployments on the real API server: installed, repaired, and with kinds that come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.api import bundles
from olmkit.api.bundledeployments import INVENTORY_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.namespace_info import member_label
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    OWNER,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    deployment,
    gone,
    kind_of,
    namespace,
    plain,
    rukpak,
    says,
    thing,
    version_of,
)
from tests.conditions import triple
from tests.e2e.packages import registry_bundle


async def test_a_registry_bundle_is_installed_upgraded_and_removed(at: Harness, running: Client) -> None:
    package = at.name
    await at.install(at.push(registry_bundle(package, "1.0.0")), provisioner=REGISTRY)
    first = await at.until(READY)
    uid = first["metadata"]["uid"]
    kinds = (CRDS, CLUSTER_ROLES, DEPLOYMENTS)
    assert (await at.owned(uid, kinds)).keys() >= {
        f"CustomResourceDefinition things.{package}.example.com",
        f"Deployment {package}",
    }
    assert first["status"]["installNamespace"] == f"{package}-system"
    assert triple(first, "Installed") == (
        "True",
        "InstallationSucceeded",
        f"Instantiated bundle {first['status']['activeBundle']} successfully",
    )
    annotation = first["metadata"]["annotations"][INVENTORY_ANNOTATION]
    assert "CustomResourceDefinition.apiextensions.k8s.io" in annotation
    space = await at.find(NAMESPACES, f"{package}-system")
    assert space is not None
    assert member_label(uid) in space["metadata"]["labels"]
    assert first["status"]["createdNamespaces"] == [{"name": f"{package}-system", "uid": space["metadata"]["uid"]}]

    await at.install(at.push(registry_bundle(package, "2.0.0"), "v2"), provisioner=REGISTRY)
    second = await at.until(READY)
    assert second["status"]["activeBundle"] != first["status"]["activeBundle"]
    workload = await at.find(DEPLOYMENTS, package, f"{package}-system")
    assert workload is not None
    assert workload["spec"]["template"]["spec"]["containers"][0]["image"].endswith("v2.0.0")
    await at.when(bundles.KIND, first["status"]["activeBundle"], "", gone)

    await at.remove()
    await at.until(gone)
    assert await at.owned(uid, kinds) == {}
    assert await at.find(NAMESPACES, f"{package}-system") is None


async def test_a_registry_bundle_as_a_plain_one_is_stalled_and_installed_as_its_message_says(
    at: Harness, running: Client
) -> None:
    ref = at.push(registry_bundle(at.name, "1.0.0"))
    await at.install(ref)
    advice = f"set spec.template.spec.provisionerClassName to {REGISTRY}"
    await at.until(says("Stalled", "True", "Blocked", advice))
    assert await at.find(CRDS, f"things.{at.name}.example.com") is None
    await at.install(ref, provisioner=REGISTRY)
    await at.until(READY)


async def test_definitions_and_their_objects_come_in_one_bundle(at: Harness, running: Client) -> None:
    boats = kind_of(at.group)
    objects = (
        thing(boats, "dinghy", at.name),
        config_map("log", at.name, text="{{ not a template }}"),
        definition(at.group),
        namespace(at.name, team="blue"),
    )
    await at.install(at.push(plain(*objects)))
    await at.until(READY)
    dinghy = await at.find(boats, "dinghy", at.name)
    assert dinghy is not None
    assert dinghy["spec"] == {"color": "red"}
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"text": "{{ not a template }}"}
    space = await at.find(NAMESPACES, at.name)
    assert space is not None
    assert space["metadata"]["labels"]["team"] == "blue"


async def test_labels_of_the_bundle_are_kept_and_what_only_a_server_may_set_is_dropped(
    at: Harness, running: Client
) -> None:
    body = config_map("log", at.name)
    body["metadata"] |= {"labels": {"a": "b"}, "finalizers": ["x.example.com/never"], "ownerReferences": [_owner()]}
    await at.install(at.push(plain(namespace(at.name), body)))
    raw = await at.until(READY)
    found = await at.find(CONFIG_MAPS, "log", at.name)
    assert found is not None
    assert found["metadata"]["labels"] == {"a": "b", OWNER: raw["metadata"]["uid"]}
    assert not {"finalizers", "ownerReferences"} & found["metadata"].keys()


def _owner() -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "11111111-2222-3333-4444-555555555555"}


async def test_what_others_change_is_changed_back_and_what_they_add_is_theirs(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, ours="1"))))
    await at.until(READY)
    patch = {"metadata": {"annotations": {"mine": "x"}}, "data": {"ours": "2", "theirs": "3"}}
    await at.client.patch(CONFIG_MAPS, "log", patch, at.name)
    found = await at.when(CONFIG_MAPS, "log", at.name, lambda found: data(found).get("ours") == "1")
    assert found is not None
    assert found["data"] == {"ours": "1", "theirs": "3"}
    assert found["metadata"]["annotations"] == {"mine": "x"}

    uid = found["metadata"]["uid"]
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    again = await at.when(
        CONFIG_MAPS, "log", at.name, lambda found: found is not None and found["metadata"]["uid"] != uid
    )
    assert data(again) == {"ours": "1"}


@pytest.mark.parametrize("replicas", [3, 0])
async def test_replicas_that_somebody_else_sets_stay(at: Harness, running: Client, replicas: int) -> None:
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name, replicas=1))))
    await at.until(READY)
    path = DEPLOYMENTS.path(at.name, "engine") + "/scale"
    patch = {"spec": {"replicas": replicas}}
    await at.client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
    changed = deployment("engine", at.name, replicas=1, image="registry.example.com/x:v2")
    await at.install(at.push(plain(namespace(at.name), changed), "v2"))
    await at.until(READY)
    found = await at.find(DEPLOYMENTS, "engine", at.name)
    assert found is not None
    assert found["spec"]["replicas"] == replicas
    assert found["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":v2")


async def test_a_restart_writes_nothing_but_what_somebody_changed_meanwhile(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path):
        objects = (namespace(at.name), definition(at.group), deployment("engine", at.name))
        await at.install(at.push(plain(*objects)))
        await at.until(READY)
    before = await _versions(at)
    await at.client.patch(
        DEPLOYMENTS, "engine", {"metadata": {"labels": {"a": "b"}}, "spec": {"paused": True}}, at.name
    )
    json_patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "x"}]
    await at.client.patch(DEPLOYMENTS, "engine", json_patch, at.name, content_type="application/json-patch+json")
    async with rukpak(at.cluster, tmp_path):
        # The Deployment is of the last phase: once it is repaired, every phase before it was applied again.
        await at.when(DEPLOYMENTS, "engine", at.name, lambda raw: _image(raw) == "registry.example.com/x:v1")
    assert await _versions(at) == before


def _image(raw: Object | None) -> str:
    return str(raw["spec"]["template"]["spec"]["containers"][0]["image"]) if raw else ""


async def _versions(at: Harness) -> dict[str, str]:
    return {
        "namespace": version_of(await at.find(NAMESPACES, at.name)),
        "crd": version_of(await at.find(CRDS, f"boats.{at.group}")),
    }


async def test_monitors_are_left_out_until_their_kind_is_there(at: Harness, running: Client) -> None:
    """Of a group that the session's cluster has no CRD of; the CRD goes with the test."""
    monitors = Kind("console.openshift.io", "v1", "ConsoleLink", "consolelinks")
    link = {"apiVersion": "console.openshift.io/v1", "kind": "ConsoleLink", "metadata": {"name": at.name}, "spec": {}}
    await at.install(at.push(plain(namespace(at.name), link)))
    raw = await at.until(READY)
    assert raw["status"]["leftOut"] == [{"group": "console.openshift.io", "kind": "ConsoleLink", "name": at.name}]
    assert (
        "left out, because the cluster lacks their kinds: ConsoleLink.console.openshift.io" in triple(raw, "Ready")[2]
    )
    crd = definition("console.openshift.io", "ConsoleLink")
    crd["spec"]["scope"] = "Cluster"
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, testing-only"}
    await at.create(CRDS, crd)
    await at.when(monitors, at.name, "", lambda found: found is not None)
    await at.until(lambda raw: READY(raw) and "leftOut" not in (raw or {})["status"])
    await at.client.delete(CRDS, crd["metadata"]["name"])
    await at.until(lambda raw: READY(raw) and "leftOut" in (raw or {})["status"])


async def test_a_kind_that_is_needed_is_waited_for(at: Harness, running: Client) -> None:
    boats = kind_of(at.group)
    await at.install(at.push(plain(namespace(at.name), thing(boats, "dinghy", at.name))))
    raw = await at.until(says("Reconciling", "True", "WaitingForKind", f"Boat ({at.group}/v1)"))
    assert triple(raw, "Installed")[:2] == ("Unknown", "InstallPending")
    assert await at.find(NAMESPACES, at.name) is None
    await at.create(CRDS, definition(at.group))
    await at.until(READY)
    assert await at.find(boats, "dinghy", at.name) is not None
