"""BundleDeployments on the real API server: installed, upgraded, repaired, refused, shared and removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import CREATED_LABEL, INVENTORY_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.client import Client
from rukpak.install.kinds import CRDS, NAMESPACES
from rukpak.install.world import ABANDON_ANNOTATION, RELEASED_ANNOTATION, member_label
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    OWNER,
    READY,
    SECRETS,
    Harbour,
    condition,
    config_map,
    definition,
    deployment,
    gone,
    harbour,
    kind_of,
    namespace,
    plain,
    rukpak,
    says,
    thing,
)
from tests.e2e.packages import registry_bundle

Object = dict[str, Any]


@pytest.fixture
async def at(cluster: Cluster) -> AsyncIterator[Harbour]:
    async with harbour(cluster) as ours:
        yield ours


@pytest.fixture
async def running(at: Harbour, tmp_path: Path) -> AsyncIterator[Client]:
    async with rukpak(at.cluster, tmp_path) as client:
        yield client


def data(raw: Object | None) -> Object:
    return (raw or {}).get("data") or {}


def version_of(raw: Object | None) -> str:
    return str((raw or {}).get("metadata", {}).get("resourceVersion", ""))


# --- the main road


async def test_a_registry_bundle_is_installed_upgraded_and_removed(at: Harbour, running: Client) -> None:
    package = at.name
    await at.install(at.push(registry_bundle(package, "1.0.0")), provisioner=bundles.REGISTRY)
    first = await at.until(READY)
    uid = first["metadata"]["uid"]
    kinds = (CRDS, CLUSTER_ROLES, DEPLOYMENTS)
    assert (await at.owned(uid, kinds)).keys() >= {
        f"CustomResourceDefinition things.{package}.example.com",
        f"Deployment {package}",
    }
    assert first["status"]["installNamespace"] == f"{package}-system"
    assert condition(first, "Installed") == (
        "True",
        "InstallationSucceeded",
        f"Instantiated bundle {first['status']['activeBundle']} successfully",
    )
    annotation = first["metadata"]["annotations"][INVENTORY_ANNOTATION]
    assert "CustomResourceDefinition.apiextensions.k8s.io" in annotation
    space = await at.find(NAMESPACES, f"{package}-system")
    assert space is not None
    assert {member_label(uid), CREATED_LABEL} <= space["metadata"]["labels"].keys()

    await at.install(at.push(registry_bundle(package, "2.0.0"), "v2"), provisioner=bundles.REGISTRY)
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


async def test_definitions_and_their_objects_come_in_one_bundle(at: Harbour, running: Client) -> None:
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


async def test_labels_of_the_bundle_are_kept_and_what_only_a_server_may_say_is_dropped(
    at: Harbour, running: Client
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


# --- upgrades


async def test_what_left_the_bundle_goes_and_the_inventory_shrinks(at: Harbour, running: Client) -> None:
    space = namespace(at.name)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": at.name},
        "rules": [],
    }
    await at.install(at.push(plain(space, config_map("old", at.name), config_map("both", at.name), role)))
    await at.until(READY)
    await at.install(at.push(plain(space, config_map("new", at.name), config_map("both", at.name)), "v2"))
    await at.until(READY)
    await at.until(lambda raw: raw is not None and raw["metadata"]["annotations"][INVENTORY_ANNOTATION] == "ConfigMap")
    assert await at.find(CONFIG_MAPS, "old", at.name) is None
    assert await at.find(CLUSTER_ROLES, at.name) is None
    assert await at.find(CONFIG_MAPS, "new", at.name) is not None


async def test_a_new_bundle_that_does_not_unpack_leaves_the_old_one_in_place(at: Harbour, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="1"))))
    first = await at.until(READY)
    active = first["status"]["activeBundle"]
    await at.install(f"{at.cluster.registry}/bundles/{at.name}:nothing")
    raw = await at.until(says("HasValidBundle", "False", "UnpackFailed"))
    assert condition(raw, "Installed")[:2] == ("True", "InstallationSucceeded")
    assert raw["status"]["activeBundle"] == active
    assert condition(raw, "Ready")[:2] == ("False", "Upgrading")
    assert condition(raw, "Ready")[2].startswith("upgrading to ")
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    assert data(await at.when(CONFIG_MAPS, "log", at.name, lambda found: found is not None)) == {"v": "1"}
    failed = condition(raw, "HasValidBundle")[2]
    assert failed.startswith(f"Failed to unpack the {at.name}-")

    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="3")), "v3"))
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "3"}
    await at.when(bundles.KIND, active, "", gone)
    assert len([name for _, name in at.bundles.objects if name.startswith(f"{at.name}-")]) == 1


async def test_an_upgrade_that_the_server_refuses_changes_nothing_of_that_phase(at: Harbour, running: Client) -> None:
    space, ill = namespace(at.name), deployment("b-ill", at.name)
    await at.install(at.push(plain(space, config_map("log", at.name, v="1"), deployment("a-well", at.name))))
    await at.until(READY)
    ill["spec"]["template"]["spec"]["containers"][0]["name"] = "Not A Name"
    changed = deployment("a-well", at.name, image="registry.example.com/x:v2")
    await at.install(at.push(plain(space, config_map("log", at.name, v="2"), changed, ill), "v2"))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    assert condition(raw, "Installed")[0] == "True"
    assert condition(raw, "Reconciling") == ("", "", "")
    message = condition(raw, "Ready")[2]
    assert message.startswith("cannot upgrade to ")
    assert "Deployment.apps" in message
    assert "b-ill" in message
    assert message.endswith(f"already new: ConfigMap {at.name}/log")
    well = await at.find(DEPLOYMENTS, "a-well", at.name)
    assert well is not None
    assert well["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":v1")
    assert await at.find(DEPLOYMENTS, "b-ill", at.name) is None

    await at.install(at.push(plain(space, config_map("log", at.name, v="3"), changed), "v3"))
    await at.until(READY)


async def test_a_first_installation_that_is_refused_says_so(at: Harbour, running: Client) -> None:
    body = config_map("log", at.name)
    body["dat"] = {"a": "b"}
    await at.install(at.push(plain(namespace(at.name), body)))
    raw = await at.until(says("Stalled", "True", "Blocked", "field not declared in schema"))
    assert condition(raw, "Installed")[:2] == ("False", "InstallFailed")
    assert condition(raw, "Ready")[:2] == ("False", "NotInstalled")
    assert "activeBundle" not in raw["status"]


async def test_a_definition_that_left_the_bundle_stays_while_it_is_used_and_another_takes_it_over(
    at: Harbour, running: Client
) -> None:
    used, unused = definition(at.group), definition(at.group, "Raft")
    log = config_map("log", at.name)
    await at.install(at.push(plain(namespace(at.name), used, unused, log)))
    await at.until(READY)
    await at.create(kind_of(at.group), thing(kind_of(at.group), "dinghy", at.name))
    await at.install(at.push(plain(namespace(at.name), log), "v2"))
    raw = await at.until(lambda raw: READY(raw) and bool((raw or {})["status"].get("released")))
    name = used["metadata"]["name"]
    assert raw["status"]["released"] == [{"group": CRDS.group, "kind": CRDS.kind, "name": name}]
    released = await at.find(CRDS, name)
    assert released is not None
    assert OWNER not in released["metadata"].get("labels", {})
    assert RELEASED_ANNOTATION in released["metadata"]["annotations"]
    await at.when(CRDS, unused["metadata"]["name"], "", gone)

    other = await at.install(at.push(plain(used), "other"), f"{at.name}-b")
    taken = await at.until(READY, other)
    crd = await at.find(CRDS, name)
    assert crd is not None
    assert crd["metadata"]["labels"][OWNER] == taken["metadata"]["uid"]
    await at.until(lambda raw: raw is not None and "released" not in raw["status"])
    assert await at.find(kind_of(at.group), "dinghy", at.name) is not None


async def test_a_namespace_that_left_the_bundle_goes_only_if_it_is_empty(at: Harbour, running: Client) -> None:
    empty, used = f"{at.name}-empty", f"{at.name}-used"
    objects = [namespace(empty), deployment("engine", empty), namespace(used), config_map("log", used)]
    await at.install(at.push(plain(namespace(at.name), *objects)))
    await at.until(READY)
    await at.create(CONFIG_MAPS, config_map("somebodys", used))
    await at.install(at.push(plain(namespace(at.name)), "v2"))
    await at.when(NAMESPACES, empty, "", gone)
    raw = await at.until(lambda raw: READY(raw) and bool((raw or {})["status"].get("released")))
    assert raw["status"]["released"] == [{"group": "", "kind": "Namespace", "name": used}]
    space = await at.find(NAMESPACES, used)
    assert space is not None
    assert space["metadata"]["labels"] == {"kubernetes.io/metadata.name": used}
    await at.remove()
    await at.until(gone)
    assert await at.find(CONFIG_MAPS, "somebodys", used) is not None


async def test_an_upgrade_that_moves_a_storage_version_is_announced_first(at: Harbour, running: Client) -> None:
    crd = f"boats.{at.group}"
    await at.install(at.push(plain(definition(at.group))))
    await at.until(READY)
    moved = asyncio.create_task(at.when(CRDS, crd, "", lambda found: _stored(found) == "v2"))
    said = asyncio.create_task(
        at.until(lambda raw: f"it moves the storage version of {crd} from v1 to v2" in condition(raw, "Ready")[2])
    )
    await at.install(at.push(plain(definition(at.group, "Boat", "v1", "v2")), "v2"))
    assert int(version_of(await said)) < int(version_of(await moved))
    await at.until(READY)


def _stored(crd: Object | None) -> str:
    versions = (crd or {}).get("spec", {}).get("versions") or ()
    return next((version["name"] for version in versions if version["storage"]), "")


# --- drift


async def test_what_others_change_is_changed_back_and_what_they_add_is_theirs(at: Harbour, running: Client) -> None:
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


async def test_replicas_that_somebody_else_sets_stay(at: Harbour, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name, replicas=1))))
    await at.until(READY)
    path = DEPLOYMENTS.path(at.name, "engine") + "/scale"
    patch = {"spec": {"replicas": 3}}
    await at.client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
    changed = deployment("engine", at.name, replicas=1, image="registry.example.com/x:v2")
    await at.install(at.push(plain(namespace(at.name), changed), "v2"))
    await at.until(READY)
    found = await at.find(DEPLOYMENTS, "engine", at.name)
    assert found is not None
    assert found["spec"]["replicas"] == 3
    assert found["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":v2")


async def test_a_restart_writes_nothing_but_what_somebody_changed_meanwhile(at: Harbour, tmp_path: Path) -> None:
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
        # The Deployment is of the last stage: once it is repaired, every stage before it was applied again.
        await at.when(DEPLOYMENTS, "engine", at.name, lambda raw: _image(raw) == "registry.example.com/x:v1")
    assert await _versions(at) == before


def _image(raw: Object | None) -> str:
    return str(raw["spec"]["template"]["spec"]["containers"][0]["image"]) if raw else ""


async def _versions(at: Harbour) -> dict[str, str]:
    return {
        "namespace": version_of(await at.find(NAMESPACES, at.name)),
        "crd": version_of(await at.find(CRDS, f"boats.{at.group}")),
    }


# --- others


async def test_what_is_there_already_is_not_taken_and_it_is_said_who_has_it(at: Harbour, running: Client) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    await at.create(CONFIG_MAPS, config_map("log", at.name, whose="mine"))
    await at.install(
        at.push(plain(namespace(at.name), config_map("log", at.name, whose="bundle"), config_map("x", at.name)))
    )
    raw = await at.until(says("Stalled", "True", "Blocked"))
    message = condition(raw, "Ready")[2]
    assert message.startswith(f"ConfigMap {at.name}/log is there already and not managed by olm-suite (written by ")
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"whose": "mine"}
    assert await at.find(CONFIG_MAPS, "x", at.name) is None

    await at.client.delete(CONFIG_MAPS, "log", at.name)
    await at.client.patch(bundledeployments.KIND, at.name, {"metadata": {"annotations": {"look": "again"}}})
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"whose": "bundle"}


async def test_what_another_has_is_free_when_that_one_is_gone(at: Harbour, running: Client) -> None:
    one, two = f"{at.name}-a", f"{at.name}-b"
    await at.install(at.push(plain(definition(at.group))), one)
    await at.until(READY, one)
    await at.install(at.push(plain(definition(at.group), config_map("log", "default")), "v2"), two)
    raw = await at.until(says("Stalled", "True"), two)
    assert condition(raw, "Ready")[2] == (
        f"CustomResourceDefinition.apiextensions.k8s.io boats.{at.group} is there already and belongs to "
        f"BundleDeployment {one}"
    )
    await at.remove(one)
    raw = await at.until(READY, two)
    await at.remove(two)
    await at.until(gone, two)


async def test_a_namespace_is_shared_and_goes_with_its_last_member(at: Harbour, running: Client) -> None:
    one, two = f"{at.name}-a", f"{at.name}-b"
    level = "pod-security.kubernetes.io/enforce"
    await at.install(at.push(plain(namespace(at.name, **{level: "privileged"}), config_map("a", at.name)), "a"), one)
    await at.until(READY, one)
    await at.install(at.push(plain(namespace(at.name, **{level: "baseline"}), config_map("b", at.name)), "b"), two)
    raw = await at.until(READY, two)
    assert condition(raw, "Ready")[2].endswith(
        f"; Namespace {at.name} keeps {level}: privileged; the bundle asks for baseline"
    )
    await at.remove(one)
    await at.until(gone, one)
    space = await at.find(NAMESPACES, at.name)
    assert space is not None
    assert "deletionTimestamp" not in space["metadata"]
    assert [label for label in space["metadata"]["labels"] if label.startswith("member.")] == [
        member_label(raw["metadata"]["uid"])
    ]
    assert await at.find(CONFIG_MAPS, "a", at.name) is None
    assert await at.find(CONFIG_MAPS, "b", at.name) is not None
    await at.remove(two)
    await at.until(gone, two)
    assert await at.find(NAMESPACES, at.name) is None


async def test_two_members_that_leave_at_once_leave_no_namespace(at: Harbour, running: Client) -> None:
    members = [f"{at.name}-{number}" for number in range(4)]
    for name in members:
        await at.install(at.push(plain(namespace(at.name), config_map(name, at.name)), name), name)
    for name in members:
        await at.until(READY, name)
    await asyncio.gather(*(at.remove(name) for name in members))
    for name in members:
        await at.until(gone, name)
    assert await at.find(NAMESPACES, at.name) is None


async def test_a_namespace_that_was_there_before_stays_as_it_was(at: Harbour, running: Client) -> None:
    await at.create(NAMESPACES, namespace(at.name, team="red"))
    before = await at.find(NAMESPACES, at.name)
    await at.install(at.push(plain(namespace(at.name, team="blue", extra="x"), config_map("log", at.name))))
    raw = await at.until(READY)
    assert "keeps team: red; the bundle asks for blue" in condition(raw, "Ready")[2]
    joined = await at.find(NAMESPACES, at.name)
    assert before is not None
    assert joined is not None
    assert joined["metadata"]["labels"] == {
        **before["metadata"]["labels"],
        "extra": "x",
        member_label(raw["metadata"]["uid"]): "true",
    }
    await at.remove()
    await at.until(gone)
    after = await at.find(NAMESPACES, at.name)
    assert after is not None
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


async def test_a_namespace_that_is_going_is_waited_for(at: Harbour, running: Client) -> None:
    space = namespace(at.name)
    await at.create(NAMESPACES, space)
    held = config_map("held", at.name)
    held["metadata"]["finalizers"] = ["test.example.com/hold"]
    await at.create(CONFIG_MAPS, held)
    await at.client.delete(NAMESPACES, at.name)
    await at.install(at.push(plain(space, config_map("log", at.name))))
    raw = await at.until(says("Reconciling", "True", "Retrying", f"until it is gone: Namespace {at.name}"))
    assert condition(raw, "Stalled") == ("", "", "")
    await at.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.until(READY)


async def test_a_bundle_of_the_wanted_name_that_is_another_s_is_not_used(at: Harbour, running: Client) -> None:
    ref = at.push(plain(namespace(at.name)))
    await at.install(ref)
    active = (await at.until(READY))["status"]["activeBundle"]
    await at.remove()
    await at.until(gone)
    await at.when(bundles.KIND, active, "", gone)
    spec = at.body(ref)["spec"]["template"]["spec"]
    body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": active}, "spec": spec}
    await at.create(bundles.KIND, body)
    await at.install(ref)
    await at.until(says("Stalled", "True", "Blocked", f"the Bundle {active} belongs to nobody"))
    await at.client.delete(bundles.KIND, active)
    await at.until(READY)


async def test_a_bundle_that_somebody_deletes_comes_back(at: Harbour, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name))))
    active = (await at.until(READY))["status"]["activeBundle"]
    uid = (at.bundles.get(active) or {})["metadata"]["uid"]
    await at.client.delete(bundles.KIND, active)
    await at.when(bundles.KIND, active, "", lambda raw: raw is not None and raw["metadata"]["uid"] != uid)
    raw = await at.until(READY)
    assert raw["status"]["activeBundle"] == active


async def test_an_unknown_provisioner_is_said(at: Harbour, running: Client) -> None:
    body = at.body("registry.example.com/x")
    body["spec"]["provisionerClassName"] = "core-rukpak-io-helm"
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(says("Stalled", "True", "Blocked", "set spec.provisionerClassName to core-rukpak-io-plain"))


# --- kinds that come and go


async def test_monitors_are_left_out_until_their_kind_is_there(at: Harbour, running: Client) -> None:
    """Of a group that the session's cluster has no CRD of; the CRD goes with the test."""
    monitors = Kind("console.openshift.io", "v1", "ConsoleLink", "consolelinks")
    link = {"apiVersion": "console.openshift.io/v1", "kind": "ConsoleLink", "metadata": {"name": at.name}, "spec": {}}
    await at.install(at.push(plain(namespace(at.name), link)))
    raw = await at.until(READY)
    assert raw["status"]["leftOut"] == [{"group": "console.openshift.io", "kind": "ConsoleLink", "name": at.name}]
    assert (
        "left out, because the cluster lacks their kinds: ConsoleLink.console.openshift.io"
        in condition(raw, "Ready")[2]
    )
    crd = definition("console.openshift.io", "ConsoleLink")
    crd["spec"]["scope"] = "Cluster"
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, testing-only"}
    await at.create(CRDS, crd)
    await at.when(monitors, at.name, "", lambda found: found is not None)
    await at.until(lambda raw: READY(raw) and "leftOut" not in (raw or {})["status"])
    await at.client.delete(CRDS, crd["metadata"]["name"])
    await at.until(lambda raw: READY(raw) and "leftOut" in (raw or {})["status"])


async def test_a_kind_that_is_needed_is_waited_for(at: Harbour, running: Client) -> None:
    boats = kind_of(at.group)
    await at.install(at.push(plain(namespace(at.name), thing(boats, "dinghy", at.name))))
    raw = await at.until(says("Reconciling", "True", "WaitingForKind", f"Boat ({at.group}/v1)"))
    assert condition(raw, "Installed")[:2] == ("Unknown", "InstallPending")
    assert await at.find(NAMESPACES, at.name) is None
    await at.create(CRDS, definition(at.group))
    await at.until(READY)
    assert await at.find(boats, "dinghy", at.name) is not None


# --- removal


async def test_custom_resources_go_before_their_operator_and_what_is_stuck_can_be_left(
    at: Harbour, running: Client
) -> None:
    boats = kind_of(at.group)
    objects = (namespace(at.name), definition(at.group), deployment("engine", at.name))
    await at.install(at.push(plain(*objects)))
    await at.until(READY)
    await at.create(boats, thing(boats, "held", at.name, finalizers=["test.example.com/hold"]))
    await at.remove()
    await at.until(says("Ready", "False", "Removing", "removing custom resources"))
    assert (await at.find(DEPLOYMENTS, "engine", at.name) or {})["metadata"].get("deletionTimestamp") is None
    held = await at.find(boats, "held", at.name)
    assert held is not None
    assert held["metadata"]["deletionTimestamp"]
    patch = {"metadata": {"annotations": {ABANDON_ANNOTATION: "true"}}}
    await at.client.patch(bundledeployments.KIND, at.name, patch)
    await at.until(gone)
    assert await at.find(DEPLOYMENTS, "engine", at.name) is None
    await at.client.patch(boats, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.when(NAMESPACES, at.name, "", gone)


async def test_removal_needs_neither_content_nor_definitions(at: Harbour, tmp_path: Path) -> None:
    boats = kind_of(at.group)
    objects = (namespace(at.name), definition(at.group), thing(boats, "dinghy", at.name), config_map("log", at.name))
    async with rukpak(at.cluster, tmp_path / "one"):
        await at.install(at.push(plain(*objects)))
        active = (await at.until(READY))["status"]["activeBundle"]
    await at.client.delete(CRDS, f"boats.{at.group}")
    await at.client.delete(bundles.KIND, active)
    await at.remove()
    async with rukpak(at.cluster, tmp_path / "two"):
        await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None


async def test_what_never_was_installed_is_let_go(at: Harbour, running: Client) -> None:
    await at.install(f"{at.cluster.registry}/bundles/nothing:{at.name}")
    await at.until(says("HasValidBundle", "False", "UnpackFailed"))
    await at.remove()
    await at.until(gone)


async def test_installed_and_content_nowhere_stays_installed(at: Harbour, tmp_path: Path) -> None:
    """The image is gone from the registry too: only what runs is left."""
    async with rukpak(at.cluster, tmp_path / "one"):
        ref = at.push(plain(namespace(at.name), config_map("log", at.name)), "v1", f"bundles/{at.name}/gone")
        await at.install(ref)
        await at.until(READY)
    registry, _, rest = ref.partition("/")
    repository, _, digest = rest.partition("@")
    await asyncio.to_thread(_delete_manifest, registry, repository, digest)
    async with rukpak(at.cluster, tmp_path / "two"):
        raw = await at.until(says("HasValidBundle", "False", "UnpackFailed"))
        assert condition(raw, "Installed")[0] == "True"
        assert condition(raw, "Healthy")[0] == "True"
        assert condition(raw, "Ready")[2].startswith("cannot repair: content unavailable")
        assert await at.find(SECRETS, "none", at.name) is None


def _delete_manifest(registry: str, repository: str, digest: str) -> None:
    import urllib.request

    request = urllib.request.Request(f"http://{registry}/v2/{repository}/manifests/{digest}", method="DELETE")
    with urllib.request.urlopen(request, timeout=30):
        pass
