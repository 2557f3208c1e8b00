"""Custom resources that are counted on request, and before a deletion goes on."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundledeployments
from olmkit.api.bundledeployment_status import COUNT_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundledeployment import count_schedule
from rukpak.bundledeployment.cluster.rest_mapper import CRDS
from rukpak.setup import build
from tests.cluster import killable_process
from tests.cluster.killable_process import first
from tests.cluster.rukpak.harness import (
    READY,
    Harness,
    Object,
    config_map,
    definition,
    gone,
    kind_of,
    namespace,
    plain,
    rukpak,
    says,
    settings,
    thing,
)


async def request(at: Harness) -> str:
    """Request a count; returns the value of the request."""
    value = uuid.uuid4().hex
    await annotate(at, value)
    return value


async def annotate(at: Harness, value: str | None) -> None:
    patch = {"metadata": {"annotations": {COUNT_ANNOTATION: value}}}
    await at.client.patch(bundledeployments.KIND, at.name, patch)


def handled(value: str) -> Callable[[Object | None], bool]:
    """The request was handled."""
    return lambda raw: raw is not None and raw["status"].get("lastHandledCount") == value


class NotesLists(Client):
    """Notes of which kinds of a group objects are listed that have no label."""

    group = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.listed: list[str] = []

    async def pages(self, kind: Kind, *args: Any, **options: Any) -> AsyncIterator[Any]:
        if kind.group == self.group and not (options.get("label_selector") or args[1:]):
            self.listed.append(kind.kind)
        async for page in super().pages(kind, *args, **options):
            yield page


async def test_custom_resources_are_counted_when_it_is_requested_and_only_then(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path, NotesLists) as client:
        assert isinstance(client, NotesLists)
        client.group, boats = at.group, kind_of(at.group)
        installed = thing(boats, "installed", at.name)
        await at.install(
            at.push(plain(namespace(at.name), definition(at.group), definition(at.group, "Raft"), installed))
        )
        raw = await at.until(READY)
        assert "customResources" not in raw["status"]
        before = set(client.listed)
        for name in ("one", "two"):
            await at.create(boats, thing(boats, name, at.name))
        raw = await at.until(handled(await request(at)))
        assert raw["status"]["customResources"] == [
            {"group": at.group, "kind": "Boat", "plural": "boats", "count": 2},
            {"group": at.group, "kind": "Raft", "plural": "rafts", "count": 0},
        ]
        await annotate(at, None)
        raw = await at.until(lambda raw: raw is not None and "lastHandledCount" not in raw["status"])
        assert "customResources" not in raw["status"]
        assert before == set()
        assert set(client.listed) == {"Boat", "Raft"}


async def test_a_label_makes_no_custom_resource_a_part_of_the_bundle(
    at: Harness, running: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is all but what this BundleDeployment applied, whatever labels it has, and whoever else brings it."""
    monkeypatch.setattr(count_schedule, "MIN_COUNT_INTERVAL", timedelta(seconds=0.5))
    boats, other = kind_of(at.group), f"{at.name}-b"
    sample, shared, stripped = (thing(boats, name, at.name) for name in ("sample", "shared", "stripped"))
    await at.install(at.push(plain(namespace(at.name), definition(at.group), sample, shared, stripped)))
    raw = await at.until(READY)
    await at.install(at.push(plain(thing(boats, "brought", at.name)), "b"), other)
    await at.until(READY, other)
    brought = {"group": at.group, "kind": "Boat", "plural": "boats"}
    raw = await at.until(handled(await request(at)))
    assert raw["status"]["customResources"] == [{**brought, "count": 1}]

    applied = await at.client.get(boats, "sample", at.name)
    copied = {name: applied["metadata"][name] for name in ("labels", "namespace", "managedFields")}
    await at.create(boats, {**applied, "metadata": {**copied, "name": "copy"}})
    await at.client.apply(boats, thing(boats, "shared", at.name, labels={"fleet": "mine"}), "kubectl")
    raw = await at.until(handled(await request(at)))
    assert raw["status"]["customResources"] == [{**brought, "count": 2}]

    await at.client.patch(boats, "stripped", {"metadata": {"managedFields": [{}]}}, at.name)
    raw = await at.until(handled(await request(at)))
    assert raw["status"]["customResources"] == [{**brought, "count": 3}]
    for name in ("copy", "brought"):
        assert "deletionTimestamp" not in (await at.client.get(boats, name, at.name))["metadata"]


async def test_a_request_of_a_time_when_rukpak_was_down_is_handled_when_it_starts(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(namespace(at.name), definition(at.group))))
        await at.until(READY)
        before = await request(at)
        await at.until(handled(before))
    boats = kind_of(at.group)
    await at.create(boats, thing(boats, "dinghy", at.name))
    second = await request(at)
    assert handled(before)(await at.find(bundledeployments.KIND, at.name))
    async with rukpak(at.cluster, tmp_path):
        raw = await at.until(handled(second))
    assert raw["status"]["customResources"] == [{"group": at.group, "kind": "Boat", "plural": "boats", "count": 1}]


@pytest.mark.crash
async def test_a_kill_after_any_write_does_not_lose_a_request(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(namespace(at.name), definition(at.group))))
        await at.until(READY)
    kills = 0
    for number in range(1, 9):
        value = await request(at)
        async with killable_process.run_killable("rukpak", settings(at.cluster, tmp_path), build) as kill_switch:
            kill_switch.writes_left = number
            await first(kill_switch.killed.wait(), at.until(handled(value)))
            was_killed = kill_switch.was_killed
        async with rukpak(at.cluster, tmp_path):
            raw = await at.until(handled(value))
        assert raw["status"]["customResources"] == [{"group": at.group, "kind": "Boat", "plural": "boats", "count": 0}]
        kills += was_killed
        if not was_killed:
            break
    assert kills
    assert not was_killed


async def test_a_request_is_handled_while_the_bundle_deployment_is_blocked(at: Harness, running: Client) -> None:
    ref = at.push(plain(namespace(at.name), definition(at.group)))
    await at.install(ref)
    await at.until(READY)
    body = at.body(ref)
    body["spec"]["provisionerClassName"] = "core-rukpak-io-none"
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(says("Stalled", "True", "Blocked"))
    raw = await at.until(handled(await request(at)))
    assert raw["status"]["customResources"] == [{"group": at.group, "kind": "Boat", "plural": "boats", "count": 0}]


async def test_custom_resources_that_cannot_be_listed_are_unknown_and_never_none(at: Harness, tmp_path: Path) -> None:
    """The API server has to convert the object that is stored in another version, and the webhook does not answer."""
    boats, raft, log = kind_of(at.group), definition(at.group, "Raft"), config_map("log", at.name)
    moved = definition(at.group, "Boat", "v1", "v2")
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"}}
    moved["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(namespace(at.name), definition(at.group), raft, log)))
        await at.until(READY)
        await at.create(boats, thing(boats, "dinghy", at.name))
        await at.install(at.push(plain(namespace(at.name), moved, raft, log), "v2"))
        await at.until(READY)
        raw = await at.until(handled(await request(at)))
        boat, none = raw["status"]["customResources"]
        assert "count" not in boat
        assert boat["message"]
        assert none == {"group": at.group, "kind": "Raft", "plural": "rafts", "count": 0}
    # A kind that cannot be listed keeps every Namespace of the cluster from being deleted.
    await at.client.patch(CRDS, f"boats.{at.group}", {"spec": {"conversion": {"strategy": "None", "webhook": None}}})


async def test_custom_resources_are_counted_before_a_deletion_goes_on(at: Harness, running: Client) -> None:
    boats = kind_of(at.group)
    await at.install(at.push(plain(namespace(at.name), definition(at.group), thing(boats, "installed", at.name))))
    await at.until(READY)
    for name in ("one", "two"):
        await at.create(boats, thing(boats, name, at.name))
    await at.create(boats, thing(boats, "held", at.name, finalizers=["test.example.com/hold"]))
    await at.remove()
    raw = await at.until(says("Ready", "False", "Removing", "test.example.com/hold"))
    assert raw["status"]["customResources"] == [{"group": at.group, "kind": "Boat", "plural": "boats", "count": 3}]
    assert "lastHandledCount" not in raw["status"]
    await at.client.patch(boats, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.until(gone)
