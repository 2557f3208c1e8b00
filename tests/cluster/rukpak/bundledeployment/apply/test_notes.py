"""A restart with everything installed writes nothing, and repairs what changed meanwhile; a killed upgrade is not forgotten."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from devcluster.cluster import Cluster
from olmkit.api import bundledeployments
from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.api.ownership import manager_name
from olmkit.errors import ApiError, Unavailable
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from rukpak.setup import build
from tests.cluster import killable_process
from tests.cluster.killable_process import KillSwitch, first
from tests.cluster.rukpak import boats
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    OWNER,
    READY,
    Harness,
    Object,
    cluster_role,
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
    settings,
    thing,
)

MAX_WRITES = 30
"""More writes than an upgrade of two objects takes."""


class Recording(Client):
    """Records requests that write, dry runs included, as `VERB path`."""

    sent: list[str]

    async def request(self, method: str, path: str, **options: Any) -> Object:
        if method != "GET":
            self.sent.append(f"{method} {path}")
        return await super().request(method, path, **options)


async def request_count(at: Harness, name: str) -> str:
    """Request a count; returns the value of the request."""
    request = uuid.uuid4().hex
    patch = {"metadata": {"annotations": {COUNT_ANNOTATION: request}}}
    await at.client.patch(bundledeployments.KIND, name, patch)
    return request


def is_counted(request: str, raw: Object | None) -> bool:
    """Whether the request was handled."""
    return raw is not None and raw["status"].get("lastHandledCount") == request


async def restarted(at: Harness, cache: Path, *names: str) -> list[str]:
    """What rukpak writes about objects of this test from its start until each of these BundleDeployments was observed completely.

    Counts are requested meanwhile: the status that has them is written after a pass that had nothing to wait for.
    """
    Recording.sent = []
    requests = {name: await request_count(at, name) for name in names}
    async with rukpak(at.cluster, cache, Recording):
        for name, request in requests.items():
            await at.until(partial(is_counted, request), name)
    statuses = {f"PATCH {bundledeployments.KIND.path(name=name)}/status" for name in names}
    return [sent for sent in Recording.sent if at.name in sent and sent not in statuses]


async def scale(at: Harness, replicas: int) -> None:
    path = DEPLOYMENTS.path(at.name, "engine") + "/scale"
    patch = {"spec": {"replicas": replicas}}
    await at.client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")


async def test_a_restart_with_everything_installed_applies_nothing_and_dry_runs_nothing(
    at: Harness, tmp_path: Path
) -> None:
    """With a shared Namespace, a CRD with an object, and a Deployment that somebody else scales."""
    second, boats = f"{at.name}-b", kind_of(at.group)
    objects = (definition(at.group), deployment("engine", at.name), thing(boats, "dinghy", at.name))
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(namespace(at.name), *objects)))
        await at.install(at.push(plain(namespace(at.name), config_map("log", at.name)), "b"), second)
        await at.until(READY)
        await at.until(READY, second)
        before = (await at.client.get(bundledeployments.KIND, at.name))["status"]["appliedDigest"]
        await scale(at, 3)
        await at.until(lambda raw: raw is not None and raw["status"].get("appliedDigest") not in (None, before))
    assert await restarted(at, tmp_path, at.name, second) == []
    unpacked_again = await restarted(at, tmp_path / "empty", at.name, second)
    assert [sent for sent in unpacked_again if "/bundles/" not in sent and "/events" not in sent] == []
    found = await at.client.get(DEPLOYMENTS, "engine", at.name)
    assert found["spec"]["replicas"] == 3


async def test_a_restart_writes_nothing_about_certificates(at: Harness, tmp_path: Path, address: str) -> None:
    """Of webhooks, a conversion and an API service, which are served all the while."""
    async with AsyncExitStack() as serving:
        async with rukpak(at.cluster, tmp_path):
            await boats.install(at, boats.operator(at))
            await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
            server = boats.server_of(at, tmp_path)
            await serving.enter_async_context(server.running(address, boats.service_name(at), boats.PORT))
            await at.until(READY)
        before = await boats.secret_of(at)
        assert await restarted(at, tmp_path, at.name) == []
        assert await boats.secret_of(at) == before


class Rejected(Client):
    """A client that reports when a request to apply something is rejected."""

    heard = asyncio.Event()

    async def apply(self, *arguments: Any, **options: Any) -> Object:
        try:
            return await super().apply(*arguments, **options)
        except ApiError:
            self.heard.set()
            raise


async def test_what_is_stalled_is_tried_again_after_a_restart_and_its_status_is_not_written(
    at: Harness, tmp_path: Path
) -> None:
    await at.create(CLUSTER_ROLES, cluster_role(at.name, rules=[]))
    async with rukpak(at.cluster, tmp_path):
        objects = (namespace(at.name), definition(at.group), cluster_role(at.name, rules=[]))
        await at.install(at.push(plain(*objects)))
        before = await at.until(says("Stalled", "True", "Blocked", "already exists"))
    Rejected.heard.clear()
    async with rukpak(at.cluster, tmp_path, Rejected), asyncio.timeout(60):
        await Rejected.heard.wait()  # the pass ends before the process does
    after = await at.client.get(bundledeployments.KIND, at.name)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


@pytest.mark.parametrize("drift", ["changed", "deleted", "joined"])
async def test_what_somebody_changed_while_rukpak_was_down_is_repaired(at: Harness, tmp_path: Path, drift: str) -> None:
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(namespace(at.name), config_map("a", at.name, v="1"), config_map("b", at.name))))
        await at.until(READY)
    match drift:
        case "changed":
            await at.client.patch(CONFIG_MAPS, "a", {"data": {"v": "2"}}, at.name)
        case "deleted":
            await at.client.delete(CONFIG_MAPS, "a", at.name)
        case _:  # another one of this name, which is not ours
            await at.client.delete(CONFIG_MAPS, "a", at.name)
            await at.client.create(CONFIG_MAPS, config_map("a", at.name, v="2"))
    async with rukpak(at.cluster, tmp_path):
        if drift == "joined":
            await at.until(lambda raw: "already exists" in str(raw))
            return
        await at.when(CONFIG_MAPS, "a", at.name, lambda raw: data(raw) == {"v": "1"})
        # The digest of before the repair may be seen still, but not with a request of after it.
        counted = partial(is_counted, await request_count(at, at.name))
        await at.until(lambda raw: READY(raw) and counted(raw) and bool((raw or {})["status"].get("appliedDigest")))
    assert await restarted(at, tmp_path, at.name) == []


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_an_upgrade_that_was_killed_and_taken_back_leaves_nothing_of_it(at: Harness, tmp_path: Path) -> None:
    """The objects of both bundles differ in values alone: the names of the fields that were applied do not tell them apart. While
    one BundleDeployment is removed, which takes as long as its Namespace, the next one is installed."""
    kills, names = 0, [f"{at.name}-{number}" for number in range(1, MAX_WRITES + 1)]

    async def install(name: str, version: str) -> None:
        objects = [namespace(name), *(config_map(each, name, v=version) for each in ("a", "b"))]
        await at.install(at.push(plain(*objects), f"{name}-v{version}"), name)

    async def install_first(name: str) -> None:
        await install(name, "1")
        await at.until(READY, name)

    async with rukpak(at.cluster, tmp_path):
        await install_first(names[0])
    for number, (name, next_name) in enumerate(pairwise(names), 1):
        async with _run_killable(at.cluster, tmp_path) as kill_switch:
            kill_switch.writes_left = number
            await install(name, "2")
            await first(kill_switch.killed.wait(), at.until(READY, name))
            was_killed = kill_switch.was_killed
        await install(name, "1")
        async with rukpak(at.cluster, tmp_path):
            await at.until(READY, name)
            for each in ("a", "b"):
                assert data(await at.find(CONFIG_MAPS, each, name)) == {"v": "1"}, (number, each)
            await at.remove(name)
            await asyncio.gather(at.until(gone, name), *([install_first(next_name)] if was_killed else []))
        assert await at.find(NAMESPACES, name) is None
        kills += was_killed
        if not was_killed:
            break
    assert kills > 5
    assert not was_killed


class Losing(Client):
    """Loses the answers to all applies of ConfigMaps of the second version from the first one on, which is carried out."""

    is_lost: asyncio.Event

    async def request(self, method: str, path: str, **options: Any) -> Object:
        is_apply = method == "PATCH" and not (options.get("query") or {}).get("dryRun")
        if not (is_apply and "/configmaps/" in path and data(orjson.loads(options["body"])).get("v") == "2"):
            return await super().request(method, path, **options)
        if not self.is_lost.is_set():
            await super().request(method, path, **options)
            self.is_lost.set()
        raise Unavailable(0, "", "the connection was lost")


async def test_an_apply_whose_answer_was_lost_is_not_forgotten_when_the_upgrade_is_taken_back(
    at: Harness, tmp_path: Path
) -> None:
    """The objects of both bundles differ in values alone."""
    Losing.is_lost = asyncio.Event()
    first_ref, second_ref = (
        at.push(plain(namespace(at.name), config_map("log", at.name, v=version)), f"v{version}") for version in "12"
    )
    async with rukpak(at.cluster, tmp_path, Losing):
        await at.install(first_ref)
        await at.until(READY)
        await at.install(second_ref)
        await Losing.is_lost.wait()
        assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "2"}
        await at.install(first_ref)
        await at.until(READY)
        assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "1"}


async def test_what_another_client_applies_as_our_field_manager_is_changed_back(at: Harness, tmp_path: Path) -> None:
    """So does a process whose lease has ended, with a request that was under way; the names of the fields are the same."""
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="1"))))
        raw = await at.until(READY)
        await asyncio.sleep(1)  # the time of an apply is recorded in whole seconds
        body = config_map("log", at.name, v="0")
        body["metadata"]["labels"] = {OWNER: raw["metadata"]["uid"]}
        await at.client.apply(CONFIG_MAPS, body, manager_name(at.name))
        await at.when(CONFIG_MAPS, "log", at.name, lambda raw: data(raw) == {"v": "1"})


def _run_killable(cluster: Cluster, cache: Path) -> AbstractAsyncContextManager[KillSwitch]:
    return killable_process.run_killable("rukpak", settings(cluster, cache), build)
