"""What fails is rolled back to the last good revision, on the real API server."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api import bundledeployments, bundles
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.bundledeployment.delays import RETRIED
from rukpak.setup import build
from tests.cluster import killable_process
from tests.cluster.killable_process import KillSwitch, first
from tests.cluster.rukpak.bundledeployment.revisions.test_history import outcomes
from tests.cluster.rukpak.bundledeployment.test_reconciler_active_bundle import replaced
from tests.cluster.rukpak.bundledeployment.test_report import event_that, mentions
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    deployment,
    gone,
    namespace,
    plain,
    says,
    settings,
)
from tests.conditions import triple
from tests.e2e.packages import registry_bundle

QUOTAS = Kind("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
ON_FAILURE = {"rollback": "OnFailure"}
SOON = {"progressDeadline": "3s"}
"""For what never becomes healthy: what does is given the time that it needs."""
MAX_WRITES = 40
"""More writes than an upgrade and its rollback take."""


async def install(at: Harness, ref: str, name: str = "", provisioner: str = "", **spec: Any) -> None:
    """Ask for a bundle, with other fields of spec than the harness sets."""
    body = at.body(ref, name, *filter(None, [provisioner]))
    body["spec"] |= ON_FAILURE | spec
    await at.client.apply(bundledeployments.KIND, body, "test")


def stuck(name: str, namespace: str) -> Object:
    """A Deployment whose pods no node can run."""
    body = deployment(name, namespace, image="registry.example.com/x:v2")
    body["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/none": "true"}
    return body


def rejected(name: str, namespace: str) -> Object:
    """A Deployment that the API server does not accept."""
    body = deployment(name, namespace)
    body["spec"]["template"]["spec"]["containers"][0]["name"] = "Not A Name"
    return body


def rolled_back(raw: Object | None) -> bool:
    """It was rolled back, and what runs again is healthy."""
    return says("Stalled", "True", "RolledBack")(raw) and says("Healthy", "True")(raw)


async def bundles_of(at: Harness, name: str = "") -> list[str]:
    """The Bundles of the BundleDeployment, when there is one only."""
    prefix = f"{name or at.name}-"
    await at.until(lambda _: sum(known.startswith(prefix) for _, known in at.bundles.objects) == 1, name)
    return [known for _, known in at.bundles.objects if known.startswith(prefix)]


async def test_an_upgrade_that_does_not_become_healthy_is_rolled_back_whole(at: Harness, running: Client) -> None:
    space, engine = namespace(at.name), deployment("engine", at.name)
    old = [config_map("both", at.name, v="1"), config_map("old", at.name)]
    new = [config_map("both", at.name, v="2"), config_map("new", at.name)]
    await install(at, at.push(plain(space, definition(at.group), engine, *old)))
    good = (await at.until(READY))["status"]
    two = (definition(at.group, "Boat", "v1", "v2"), definition(at.group, "Raft"))
    await install(at, at.push(plain(space, *two, stuck("engine", at.name), *new), "v2"), progressDeadline="8s")
    raw = await at.until(
        lambda raw: outcomes(raw) == ["2 InProgress", "1 Succeeded"] and says("Healthy", "Unknown")(raw)
    )
    raw = await at.until(lambda raw: (raw or {})["status"]["revision"] == 2)
    assert raw["status"]["activeBundle"] != good["activeBundle"]
    assert await at.find(CONFIG_MAPS, "old", at.name) is not None  # what a rollback needs is not pruned

    raw = await at.until(rolled_back)
    _assert_reported(raw, good)
    assert await bundles_of(at) == [good["activeBundle"]]
    assert data(await at.find(CONFIG_MAPS, "both", at.name)) == {"v": "1"}
    await at.when(CONFIG_MAPS, "new", at.name, gone)
    found = await at.client.get(DEPLOYMENTS, "engine", at.name)
    assert found["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":v1")
    assert "nodeSelector" not in found["spec"]["template"]["spec"]
    boats = await at.client.get(CRDS, f"boats.{at.group}")
    assert [version["name"] for version in boats["spec"]["versions"]] == ["v1", "v2"]
    assert await at.find(CRDS, f"rafts.{at.group}") is not None
    event = await event_that(at, mentions(f"rolled back to {good['activeBundle']}"))
    assert (event["type"], event["reason"]) == ("Warning", "RolledBack")

    await install(at, at.push(plain(space, *two, engine, *new), "v3"))
    raw = await at.until(READY)
    assert outcomes(raw) == ["3 Succeeded", "2 RolledBack", "1 Succeeded"]
    await at.when(CONFIG_MAPS, "old", at.name, gone)
    assert data(await at.find(CONFIG_MAPS, "both", at.name)) == {"v": "2"}


def _assert_reported(raw: Object, good: Object) -> None:
    """What is reported as installed is what was, and why the other one is not."""
    status = raw["status"]
    assert outcomes(raw) == ["2 RolledBack", "1 Succeeded"]
    assert {key: status[key] for key in ("activeBundle", "installed", "revision")} == {
        key: good[key] for key in ("activeBundle", "installed", "revision")
    }
    assert triple(raw, "Installed")[0] == triple(raw, "Healthy")[0] == triple(raw, "HasValidBundle")[0] == "True"
    ready = triple(raw, "Ready")
    assert ready[:2] == ("False", "RolledBack")
    assert ready[2].startswith(f"rolled back to {good['activeBundle']} (revision 1); ")
    assert "(revision 2) failed: not healthy within 8s: Deployment.apps" in ready[2]


async def test_an_upgrade_that_is_rejected_is_rolled_back(at: Harness, running: Client) -> None:
    space = namespace(at.name)
    await install(at, at.push(plain(space, config_map("log", at.name, v="1"), deployment("engine", at.name))))
    await at.until(READY)
    bad = plain(space, config_map("log", at.name, v="2"), deployment("engine", at.name), rejected("ill", at.name))
    await install(at, at.push(bad, "v2"))
    raw = await at.until(rolled_back)
    assert "(revision 2) failed: Deployment.apps" in triple(raw, "Ready")[2]
    assert RETRIED not in str(raw["status"]), "nothing is retried of what was rolled back"
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}
    assert raw["status"]["revision"] == 1
    await install(at, at.push(bad, "v2"), progressDeadline="4s")  # spec asks for something else: it is tried again
    raw = await at.until(
        lambda raw: outcomes(raw) == ["3 RolledBack", "2 RolledBack", "1 Succeeded"] and rolled_back(raw)
    )
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}

    await at.client.delete(CONFIG_MAPS, "log", at.name)  # what was brought back is repaired
    assert data(await at.when(CONFIG_MAPS, "log", at.name, lambda found: found is not None)) == {"v": "1"}


async def installed_by_tag(at: Harness) -> Object:
    """Version 1 is installed by a tag, which then moves to another content; its Bundle."""
    repository = f"bundles/{at.name}"
    at.push(plain(namespace(at.name), config_map("log", at.name, v="1")), "latest", repository)
    await install(at, f"{at.cluster.registry}/{repository}:latest")
    active = (await at.until(READY))["status"]["activeBundle"]
    at.push(plain(namespace(at.name), config_map("log", at.name, v="moved")), "latest", repository)
    return await at.client.get(bundles.KIND, active)


async def test_a_bundle_that_is_made_again_for_a_rollback_has_its_digest_although_the_tag_has_moved(
    at: Harness, running: Client
) -> None:
    good = await installed_by_tag(at)
    name = good["metadata"]["name"]
    new = (namespace(at.name), config_map("log", at.name, v="2"), stuck("engine", at.name))
    await install(at, at.push(plain(*new), "v2"), progressDeadline="8s")
    await at.until(lambda raw: (raw or {})["status"].get("revision") == 2)
    await at.client.delete(bundles.KIND, name)
    again = await at.when(bundles.KIND, name, "", partial(replaced, good["metadata"]["uid"]))
    assert again is not None
    assert again["status"]["resolvedSource"] == good["status"]["resolvedSource"]
    raw = await at.until(rolled_back)
    assert raw["status"]["activeBundle"] == name
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}


async def test_a_bundle_whose_first_installation_was_cut_short_is_made_again_with_its_digest(
    at: Harness, running: Client
) -> None:
    repository = f"bundles/{at.name}"
    at.push(plain(namespace(at.name), config_map("log", at.name), rejected("engine", at.name)), "latest", repository)
    await install(at, f"{at.cluster.registry}/{repository}:latest")
    raw = await at.until(says("Installed", "False", "InstallFailed"))
    name = raw["status"]["history"][0]["bundle"]
    made = await at.client.get(bundles.KIND, name)
    at.push(plain(namespace(at.name), config_map("log", at.name, v="moved")), "latest", repository)
    await at.client.delete(bundles.KIND, name)
    again = await at.when(bundles.KIND, name, "", partial(replaced, made["metadata"]["uid"]))
    assert again is not None
    assert again["status"]["resolvedSource"] == made["status"]["resolvedSource"]


async def test_a_first_installation_stays_as_it_is(at: Harness, running: Client) -> None:
    await install(at, at.push(plain(namespace(at.name), stuck("engine", at.name))), **SOON)
    raw = await at.until(says("Ready", "False", "Unhealthy", "it is not rolled back"))
    assert triple(raw, "Ready")[2].endswith("; it is not rolled back: there is no earlier revision that succeeded")
    assert triple(raw, "Stalled")[:2] == ("True", "Unhealthy")
    assert outcomes(raw) == ["1 Failed"]
    assert await at.find(DEPLOYMENTS, "engine", at.name) is not None


async def test_without_rollback_what_fails_stays(at: Harness, running: Client) -> None:
    await install(at, at.push(plain(namespace(at.name), deployment("engine", at.name))), rollback="Never")
    await at.until(READY)
    await install(at, at.push(plain(namespace(at.name), stuck("engine", at.name)), "v2"), rollback="Never", **SOON)
    raw = await at.until(says("Stalled", "True", "Unhealthy"))
    assert outcomes(raw) == ["2 Failed", "1 Succeeded"]
    assert raw["status"]["revision"] == 2
    assert "not rolled back" not in triple(raw, "Ready")[2]
    engine = {"group": "apps", "kind": "Deployment", "namespace": at.name, "name": "engine"}
    assert raw["status"]["failed"] == {"objects": [{**engine, "late": True}]}
    assert raw["status"]["failure"]["reason"] == "DeadlineExceeded"
    assert raw["status"]["failure"]["objects"] == [engine]
    await install(at, at.push(plain(namespace(at.name), deployment("engine", at.name)), "v3"), rollback="Never", **SOON)
    assert "failed" not in (await at.until(READY))["status"]


async def test_it_is_not_rolled_back_if_a_version_is_not_served_any_more(at: Harness, running: Client) -> None:
    space, engine = namespace(at.name), deployment("engine", at.name)
    await install(at, at.push(plain(space, definition(at.group, "Boat", "v1", "v2"), engine)))
    await at.until(READY)
    without = definition(at.group, "Boat", "v1", "v2")
    without["spec"]["versions"][0]["served"] = False
    ref = at.push(plain(space, without, stuck("engine", at.name)), "v2")
    await install(at, ref, crdUpgradeSafety={"policy": "None"}, **SOON)
    raw = await at.until(says("Ready", "False", "Unhealthy", "it is not rolled back"))
    assert f"are not served any more: v1 of boats.{at.group}" in triple(raw, "Ready")[2]
    assert outcomes(raw) == ["2 Failed", "1 Succeeded"]
    assert raw["status"]["revision"] == 2


async def test_a_change_of_how_it_is_installed_is_rolled_back(at: Harness, running: Client) -> None:
    """Nothing can run in the other namespace."""
    home, full = f"{at.name}-home", f"{at.name}-full"
    await at.create(NAMESPACES, namespace(full))
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": full}}
    await at.create(QUOTAS, {**quota, "spec": {"hard": {"pods": "0"}}})
    ref = at.push(registry_bundle(at.name))
    await install(at, ref, provisioner="core-rukpak-io-registry", installNamespace=home)
    raw = await at.until(READY)
    assert raw["status"]["installNamespace"] == home
    await install(at, ref, provisioner="core-rukpak-io-registry", installNamespace=full, **SOON)
    raw = await at.until(rolled_back)
    assert raw["status"]["installNamespace"] == home
    assert outcomes(raw) == ["2 RolledBack", "1 Succeeded"]
    assert [one["bundle"] for one in raw["status"]["history"]] == [raw["status"]["activeBundle"]] * 2
    found, _ = await at.client.list(DEPLOYMENTS, label_selector=f"core.rukpak.io/owner-uid={raw['metadata']['uid']}")
    assert {one["metadata"]["namespace"] for one in found} == {home}


def _run_killable(cluster: Cluster, cache: Path) -> AbstractAsyncContextManager[KillSwitch]:
    return killable_process.run_killable("rukpak", settings(cluster, cache), build)


async def _install_first(at: Harness, name: str) -> None:
    objects = namespace(name), config_map("old", name), config_map("both", name, v="1"), deployment("engine", name)
    await install(at, at.push(plain(*objects), f"{name}-v1"), name)
    await at.until(READY, name)


@pytest.mark.crash
@pytest.mark.timeout(900)
async def test_a_kill_after_any_write_of_an_upgrade_and_its_rollback_leads_to_the_same_world(
    at: Harness, tmp_path: Path
) -> None:
    """While one BundleDeployment is removed, which takes as long as its Namespace, the next one is installed."""
    kills, names = 0, [f"{at.name}-{number}" for number in range(1, MAX_WRITES + 1)]
    async with _run_killable(at.cluster, tmp_path):
        await _install_first(at, names[0])
    for number, (name, next_name) in enumerate(pairwise(names), 1):
        new, ill = config_map("new", name), rejected("ill", name)
        two = plain(namespace(name), new, config_map("both", name, v="2"), deployment("engine", name), ill)
        async with _run_killable(at.cluster, tmp_path) as kill_switch:
            kill_switch.writes_left = number
            await install(at, at.push(two, f"{name}-v2"), name)
            await first(kill_switch.killed.wait(), at.until(rolled_back, name))
            was_killed = kill_switch.was_killed
        async with _run_killable(at.cluster, tmp_path):
            raw = await at.until(rolled_back, name)
            assert outcomes(raw) == ["2 RolledBack", "1 Succeeded"], number
            assert await bundles_of(at, name) == [raw["status"]["activeBundle"]]
            await at.when(CONFIG_MAPS, "new", name, gone)
            assert data(await at.find(CONFIG_MAPS, "both", name)) == {"v": "1"}, number
            assert await at.find(CONFIG_MAPS, "old", name) is not None
            await at.remove(name)
            await asyncio.gather(at.until(gone, name), *([_install_first(at, next_name)] if was_killed else []))
        kills += was_killed
        if not was_killed:
            break
    assert kills > 8
    assert not was_killed
