"""What is true of an upgrade before its first write, between its writes, and when others write at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olmkit.api import bundledeployments
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change
from rukpak.bundledeployment.cluster.rest_mapper import CRDS
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
    namespace,
    plain,
    rukpak,
    says,
    version_of,
)
from tests.conditions import triple


async def test_an_upgrade_that_fails_before_its_first_write_has_changed_nothing(at: Harness, running: Client) -> None:
    """Its first phase with changes is dry-run as a whole: one of two CustomResourceDefinitions is not valid."""
    engine = deployment("engine", at.name)
    await at.install(
        at.push(plain(namespace(at.name), definition(at.group), config_map("log", at.name, v="1"), engine))
    )
    first = (await at.until(READY))["status"]["activeBundle"]
    before = await _versions(at)
    invalid = definition(at.group, "Raft")
    invalid["spec"]["names"]["plural"] = "Not A Plural"
    two = (definition(at.group, "Boat", "v1", "v2"), invalid)
    await at.install(at.push(plain(namespace(at.name), *two, config_map("log", at.name, v="2"), engine), "v2"))
    raw = await at.until(says("Stalled", "True", "Blocked", "rafts"))
    assert await _versions(at) == before
    message = triple(raw, "Ready")[2]
    assert message.startswith("cannot upgrade to ")
    assert "already new" not in message
    assert raw["status"]["activeBundle"] == raw["status"]["installed"]["bundle"] == first
    assert {name for _, name in at.bundles.objects if name.startswith(f"{at.name}-")} > {first}


async def _versions(at: Harness) -> dict[str, str]:
    """What a write to one of the objects changes; the status of the Deployment has another writer."""
    engine = await at.client.get(DEPLOYMENTS, "engine", at.name)
    return {
        "crd": version_of(await at.find(CRDS, f"boats.{at.group}")),
        "log": version_of(await at.find(CONFIG_MAPS, "log", at.name)),
        "engine": str(engine["metadata"]["generation"]),
    }


async def test_an_upgrade_is_never_reported_as_ready_before_its_last_object(at: Harness, running: Client) -> None:
    """Each status in between names the Bundle before as installed, and both Bundles exist."""
    space, log = namespace(at.name), config_map("log", at.name, v="1")
    await at.install(at.push(plain(space, log, deployment("engine", at.name))))
    before = await at.until(READY)
    first = before["status"]["activeBundle"]
    heard: list[tuple[Object, set[str]]] = []

    def hear(change: Change) -> None:
        if change.new is not None and change.new["metadata"]["name"] == at.name:
            heard.append((change.new, {name for _, name in at.bundles.objects}))

    at.deployments.subscribe(hear)
    changed = deployment("engine", at.name, image="registry.example.com/x:v2")
    await at.install(at.push(plain(space, {**log, "data": {"v": "2"}}, changed), "v2"))
    last = (await at.until(READY))["status"]["activeBundle"]
    asked = [(raw, names) for raw, names in heard if raw["metadata"]["generation"] > before["metadata"]["generation"]]
    between = [(raw, names) for raw, names in asked if raw["status"]["activeBundle"] == first]
    assert last != first
    assert between
    for raw, bundles in between:
        assert first in bundles
        assert raw["status"]["installed"]["bundle"] == first
        assert triple(raw, "Ready")[0] == "False" or (
            raw["status"]["observedGeneration"] < raw["metadata"]["generation"]  # it tells of the spec before
        )


class WritesFirst(Client):
    """Another client creates the ConfigMap `name` immediately before this one applies it."""

    name = ""

    async def request(self, method: str, path: str, **options: Any) -> Object:
        name, type(self).name = self.name, ""
        if not name or method != "PATCH" or not path.endswith(f"/configmaps/{name}"):
            type(self).name = name
            return await super().request(method, path, **options)
        namespace = path.split("/")[-3]
        await self.create(CONFIG_MAPS, config_map(name, namespace, theirs="1"))
        return await super().request(method, path, **options)


async def test_an_object_that_others_create_at_the_same_time_is_not_taken_over(at: Harness, tmp_path: Path) -> None:
    """Also if it is equal: an apply of an absent object only creates."""
    WritesFirst.name = f"{at.name}-raced"
    async with rukpak(at.cluster, tmp_path, WritesFirst):
        await at.install(at.push(plain(namespace(at.name), config_map(f"{at.name}-raced", at.name, theirs="1"))))
        raw = await at.until(says("Stalled", "True", "Blocked", "already exists and is not managed by olm-suite"))
        assert f"ConfigMap {at.name}/{at.name}-raced" in triple(raw, "Ready")[2]
        found = await at.client.get(CONFIG_MAPS, f"{at.name}-raced", at.name)
        assert bundledeployments.OWNER_UID_LABEL not in found["metadata"].get("labels", {})
        await at.client.delete(CONFIG_MAPS, f"{at.name}-raced", at.name)
        await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, f"{at.name}-raced", at.name)) == {"theirs": "1"}
