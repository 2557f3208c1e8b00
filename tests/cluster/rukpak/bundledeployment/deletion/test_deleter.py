"""What is pruned on a real API server while others create objects in it: nothing that the API server accepted is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from olmkit.api.bundledeployments import INVENTORY_ANNOTATION
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    READY,
    Harness,
    config_map,
    definition,
    gone,
    kind_of,
    namespace,
    plain,
    rukpak,
    thing,
)


def is_pruned(raw: Object | None) -> bool:
    """Whether it is ready and no CustomResourceDefinition is in its inventory."""
    if raw is None:
        return False
    kinds = (raw["metadata"].get("annotations") or {}).get(INVENTORY_ANNOTATION, "")
    return bool(READY(raw)) and "ConfigMap" in kinds and "CustomResourceDefinition" not in kinds


async def test_a_definition_is_deleted_with_the_custom_resource_of_the_same_bundle(
    at: Harness, running: Client
) -> None:
    crd, log = definition(at.group), config_map("log", at.name)
    boat = thing(kind_of(at.group), "dinghy", at.name)
    await at.install(at.push(plain(namespace(at.name), crd, log, boat)))
    await at.until(READY)
    assert await at.find(kind_of(at.group), "dinghy", at.name) is not None
    await at.install(at.push(plain(namespace(at.name), log), "v2"))
    raw = await at.until(is_pruned)
    assert not raw["status"].get("released")
    await at.when(CRDS, crd["metadata"]["name"], "", gone)


class CreatesDuringPrune(Client):
    """Another client creates a custom resource when the first ConfigMap is pruned."""

    group = ""
    namespace = ""
    has_created = False

    async def delete(self, kind: Kind, name: str, *args: Any, **options: Any) -> Any:
        if kind.kind == "ConfigMap" and self.group and not self.has_created:
            self.has_created = True
            boat = kind_of(self.group)
            await self.create(boat, thing(boat, "dinghy", self.namespace))
        return await super().delete(kind, name, *args, **options)


async def test_a_custom_resource_that_is_created_during_the_prune_is_kept(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path, CreatesDuringPrune) as client:
        assert isinstance(client, CreatesDuringPrune)
        crd, log, old = definition(at.group), config_map("log", at.name), config_map("old", at.name)
        await at.install(at.push(plain(namespace(at.name), crd, log, old)))
        await at.until(READY)
        client.namespace, client.group = at.name, at.group
        await at.install(at.push(plain(namespace(at.name), log), "v2"))
        raw = await at.until(lambda raw: is_pruned(raw) and bool((raw or {})["status"].get("released")))
        assert client.has_created
        assert [one["kind"] for one in raw["status"]["released"]] == ["CustomResourceDefinition"]
        assert await at.find(kind_of(at.group), "dinghy", at.name) is not None


class CreatesDuringList(Client):
    """Another client creates a ConfigMap in the Namespace `first` when the objects in the Namespace `second` are listed."""

    first = second = ""
    outcome = ""

    async def pages(self, kind: Kind, namespace: str | None = None, *args: Any, **options: Any) -> AsyncIterator[Any]:
        if self.second and namespace == self.second and not self.outcome:
            try:
                await self.create(CONFIG_MAPS, config_map("precious", self.first))
                self.outcome = "created"
            except ApiError as error:
                self.outcome = error.message
        async for page in super().pages(kind, namespace, *args, **options):
            yield page


async def test_an_object_that_is_created_while_another_namespace_is_listed_is_kept(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path, CreatesDuringList) as client:
        assert isinstance(client, CreatesDuringList)
        first, second = f"{at.name}-a", f"{at.name}-b"
        await at.install(at.push(plain(namespace(at.name), namespace(first), namespace(second))))
        await at.until(READY)
        client.first, client.second = first, second
        await at.install(at.push(plain(namespace(at.name)), "v2"))
        await at.when(NAMESPACES, second, "", gone)
        assert client.outcome == "created"
        assert await at.find(CONFIG_MAPS, "precious", first) is not None
