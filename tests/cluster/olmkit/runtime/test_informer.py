"""The informer through failures of the network and of the API server.

Each test asserts that the store equals the server, that the changes of a subscriber are consecutive and end at the
same state, and that the informer still runs.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.api.meta import Kind
from olmkit.errors import Conflict, Forbidden, Gone, NotFound, Unavailable
from olmkit.runtime import informer as informer_module
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from tests.cluster.olmkit.conftest import CONFIG_MAP, Object, View, config_map, proxied, running, until, versions
from tests.cluster.proxy import Proxy

DEFINITION = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")


def selected(client: Client, namespace: str, **options: bool) -> Informer:
    return Informer(client, CONFIG_MAP, namespace=namespace, label_selector="test=runtime", **options)  # type: ignore[arg-type]


@asynccontextmanager
async def watched(cluster: Cluster, directory: Path, namespace: str) -> AsyncIterator[tuple[Proxy, Informer, View]]:
    """An informer behind a proxy, synced and watching, and its subscriber."""
    async with proxied(cluster, directory) as (between, client):
        informer = selected(client, namespace)
        view = View(informer)
        async with running(informer):
            yield between, informer, view


async def settle(client: Client, namespace: str, informer: Informer, view: View) -> None:
    """Wait until the informer has a last object, then compare everything with the server."""
    await client.apply(CONFIG_MAP, config_map(namespace, "zz-last"), "test")
    await view.until(lambda: "zz-last" in view.objects, "the informer receives the last object")
    truth = versions((await client.list(CONFIG_MAP, namespace, "test=runtime"))[0])
    await view.until(lambda: versions(view.objects) == truth, "the subscriber has the objects of the server")
    assert versions(dict(informer.objects)) == truth
    assert view.gaps == []
    await until(lambda: not informer.stale, "the informer watches: it may have received everything by a list")


async def test_existing_objects_and_all_changes_are_received(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "before"))
    informer = selected(client, namespace)
    view = View(informer)
    async with running(informer):
        assert list(view.objects) == ["before"]
        await client.create(CONFIG_MAP, config_map(namespace, "a", key="1"))
        await client.patch(CONFIG_MAP, "a", {"data": {"key": "2"}}, namespace)
        await client.delete(CONFIG_MAP, "before", namespace)
        await view.until(lambda: "before" not in view.objects, "the deletion is received")
        assert (informer.get("a", namespace) or {})["data"] == {"key": "2"}
        late = View(informer)
        assert versions(late.objects) == versions(view.objects), "a late subscriber receives the known objects"
        await settle(client, namespace, informer, view)


async def test_an_own_write_counts_at_once_and_is_received_once(client: Client, namespace: str) -> None:
    informer = selected(client, namespace)
    view = View(informer)
    async with running(informer):
        written = await client.apply(CONFIG_MAP, config_map(namespace, "a", key="1"), "test")
        informer.record_write(written)
        assert informer.get("a", namespace) == written
        await settle(client, namespace, informer, view)
        assert view.count == 2


async def test_metadata_only(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "a", key="1"))
    informer = selected(client, namespace, metadata_only=True)
    view = View(informer)
    async with running(informer):
        await client.create(CONFIG_MAP, config_map(namespace, "b", key="1"))
        await view.until(lambda: len(view.objects) == 2, "both are received")
        assert [sorted(obj) for obj in informer.objects.values()] == [["apiVersion", "kind", "metadata"]] * 2
        assert {obj["kind"] for obj in informer.objects.values()} == {"ConfigMap"}


async def test_an_object_that_stops_matching_the_selector_is_gone(client: Client, namespace: str) -> None:
    informer = selected(client, namespace)
    view = View(informer)
    async with running(informer):
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await view.until(lambda: "a" in view.objects, "it is received")
        await client.patch(CONFIG_MAP, "a", {"metadata": {"labels": {"test": "other"}}}, namespace)
        await view.until(lambda: "a" not in view.objects, "its removal is received")
        await settle(client, namespace, informer, view)


async def test_an_object_that_transform_cannot_read_is_kept_whole(client: Client, namespace: str) -> None:
    def transform(obj: Object) -> Object:
        return {"key": obj["data"]["key"]}

    informer = Informer(client, CONFIG_MAP, namespace=namespace, label_selector="test=runtime", transform=transform)
    view = View(informer)
    async with running(informer):
        await client.create(CONFIG_MAP, config_map(namespace, "odd"))
        await client.create(CONFIG_MAP, config_map(namespace, "plain", key="1"))
        await view.until(lambda: len(view.objects) == 2, "both are received")
        metadata = view.objects["plain"]["metadata"]
        assert view.objects["plain"] == {"metadata": metadata, "key": "1"}
        assert sorted(metadata) == ["name", "namespace", "resourceVersion", "uid"]
        assert view.objects["odd"]["kind"] == "ConfigMap", "kept whole"


async def test_a_watch_that_is_cut_resumes(cluster: Cluster, client: Client, namespace: str, tmp_path: Path) -> None:
    for number in range(5):
        await client.create(CONFIG_MAP, config_map(namespace, f"a{number}"))
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        for _ in range(5):
            between.cut()
            await client.delete(CONFIG_MAP, random.choice(sorted(view.objects)), namespace)
            await client.apply(CONFIG_MAP, config_map(namespace, "a-new", key=str(random.random())), "test")
            truth = versions((await client.list(CONFIG_MAP, namespace, "test=runtime"))[0])
            await view.until(lambda: versions(view.objects) == truth, "the changes in between are received")  # noqa: B023
        await settle(client, namespace, informer, view)


async def test_objects_are_kept_and_stale_while_the_server_cannot_be_reached(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "a"))
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        between.close()
        between.cut()
        await client.delete(CONFIG_MAP, "a", namespace)
        await until(lambda: informer.stale, "the informer is stale")
        assert informer.get("a", namespace) is not None
        assert informer.synced.is_set()
        await between.open()
        await view.until(lambda: "a" not in view.objects, "the deletion is received afterwards")
        await settle(client, namespace, informer, view)


async def test_an_idle_connection_is_replaced(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olmkit.runtime.client.WATCH_IDLE_TIMEOUT_SECONDS", 1.0)
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        before = between.accepted
        between.silence()
        await client.create(CONFIG_MAP, config_map(namespace, "unheard"))
        await asyncio.wait_for(between.until_accepted(before + 1), 60)
        between.resume()
        await settle(client, namespace, informer, view)
        assert "unheard" in view.objects


async def test_an_invalid_line_closes_the_connection_and_loses_no_event(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        before = between.accepted
        between.touch(lambda chunk: chunk.replace(b'{"type":"ADDED"', b'{"tape":"ADDED"'))
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await asyncio.wait_for(between.until_accepted(before + 2), 60)
        assert "a" not in view.objects
        between.touch(None)
        await settle(client, namespace, informer, view)
        assert "a" in view.objects


async def test_a_version_that_is_too_old_causes_a_new_list(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    """A new API server process has no events from before its start: a real 410."""
    if not cluster.is_managed:
        pytest.skip("restarts the API server, which belongs to the user")
    for name in ("stays", "deleted", "recreated"):
        await client.create(CONFIG_MAP, config_map(namespace, name))
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        old = (await client.list(CONFIG_MAP, namespace))[1]
        uid = view.objects["recreated"]["metadata"]["uid"]
        between.close()
        between.cut()
        await client.delete(CONFIG_MAP, "deleted", namespace)
        await client.delete(CONFIG_MAP, "recreated", namespace)
        await client.create(CONFIG_MAP, config_map(namespace, "recreated"))
        await client.create(CONFIG_MAP, config_map(namespace, "new"))
        await asyncio.to_thread(cluster.restart_apiserver)
        with pytest.raises(Gone):
            async for _ in client.watch(CONFIG_MAP, old, namespace):
                pass
        await between.open()
        await view.until(
            lambda: "new" in view.objects and "deleted" not in view.objects, "the list is received as changes"
        )
        assert view.objects["recreated"]["metadata"]["uid"] != uid
        await settle(client, namespace, informer, view)
        assert set(view.objects) == {"stays", "recreated", "new", "zz-last"}


class Writer:
    """Creates, changes and deletes ConfigMaps as fast as one connection allows, through all failures of the API server."""

    def __init__(self, client: Client, namespace: str, seed: int) -> None:
        self._client = client
        self._namespace = namespace
        self._random = random.Random(seed)
        self._seed = seed
        self.done = 0
        self.refused = 0

    async def run(self) -> None:
        while True:
            name = f"w{self._seed}-{self._random.randrange(30)}"
            try:
                if self._random.random() < 0.3:
                    await self._client.delete(CONFIG_MAP, name, self._namespace)
                else:
                    value = str(self._random.random())
                    await self._client.apply(CONFIG_MAP, config_map(self._namespace, name, key=value), "writer")
                self.done += 1
            except (NotFound, Conflict):
                pass
            except (Unavailable, Forbidden):  # 403 while its admission is not ready yet
                self.refused += 1
                await asyncio.sleep(0.05)


@asynccontextmanager
async def load(client: Client, namespace: str, writers: int = 3) -> AsyncIterator[list[Writer]]:
    """Running writers."""
    made = [Writer(client, namespace, seed) for seed in range(writers)]
    tasks = [asyncio.create_task(writer.run()) for writer in made]
    try:
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        assert task.cancelled(), task


@pytest.mark.parametrize("signal_number", [pytest.param(9, id="killed"), pytest.param(15, id="stopped in order")])
async def test_a_restart_of_the_api_server_under_load_loses_no_change(
    cluster: Cluster, client: Client, namespace: str, signal_number: int
) -> None:
    if not cluster.is_managed:
        pytest.skip("restarts the API server, which belongs to the user")
    informers = [selected(client, namespace), selected(client, namespace, metadata_only=True)]
    views = [View(informer) for informer in informers]
    async with running(informers[0]), running(informers[1]):
        async with load(client, namespace) as writers:
            await views[0].until(lambda: views[0].count > 300, "there is load")
            await asyncio.to_thread(cluster.restart_apiserver, signal_number)
            seen = views[0].count
            await views[0].until(lambda: views[0].count > seen + 300, "there is load again")
        assert sum(writer.refused for writer in writers) > 0, "the restart interrupted the watch"
        for informer, view in zip(informers, views, strict=True):
            await settle(client, namespace, informer, view)


async def test_repeated_cuts_under_load_lose_no_change(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        async with load(client, namespace):
            for round_number in range(20):
                seen = view.count
                await view.until(lambda: view.count > seen + 20, "there is load")  # noqa: B023
                between.cut()
                assert round_number or view.count
        await settle(client, namespace, informer, view)


def closed_watchers(cluster: Cluster) -> float:
    """How many watchers of ConfigMaps the API server has closed since its start."""
    name = 'apiserver_terminated_watchers_total{group="",resource="configmaps"}'
    lines = cluster.kubectl("get", "--raw", "/metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


async def test_a_slow_reader_loses_no_change(cluster: Cluster, client: Client, namespace: str, tmp_path: Path) -> None:
    """The server closes a watch whose client does not read: 200 events of 120 kB exceed all its buffers."""
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        before = closed_watchers(cluster)
        between.silence()
        for number in range(200):
            padded = f"{number:03d}" * 40_000
            await client.apply(CONFIG_MAP, config_map(namespace, f"a{number % 7}", key=padded), "test")
        await client.delete(CONFIG_MAP, "a0", namespace)
        between.resume()
        await settle(client, namespace, informer, view)
        assert "a0" not in view.objects
        assert closed_watchers(cluster) > before


async def test_an_optional_kind_is_empty_until_it_is_served_and_when_it_is_removed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(informer_module, "ABSENT_KIND_RECHECK_SECONDS", 0.2)
    kind = Kind("runtime.example.com", "v1", "Guest", "guests")
    informer = Informer(client, kind, absent_is_empty=True)
    view = View(informer)
    async with running(informer):
        assert not informer.objects
        assert not informer.stale
        await define(client, kind)
        try:
            guest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "a"}}
            await client.create(kind, guest)
            await view.until(lambda: "a" in view.objects, "the kind is found at the next check")
        finally:
            await client.delete(DEFINITION, f"{kind.plural}.{kind.group}")
        await view.until(lambda: not view.objects, "its objects are removed with the kind")


async def test_an_informer_waits_for_a_required_kind(client: Client) -> None:
    kind = Kind("runtime.example.com", "v1", "Host", "hosts")
    informer = Informer(client, kind)
    task = asyncio.create_task(informer.run())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(informer.synced.wait(), 1)
    await define(client, kind)
    try:
        await asyncio.wait_for(informer.synced.wait(), 60)
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait({task})
        await client.delete(DEFINITION, f"{kind.plural}.{kind.group}")


async def define(client: Client, kind: Kind) -> None:
    """Create a CRD without a schema for `kind`; returns when the kind is served."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "apiVersion": DEFINITION.api_version,
        "kind": DEFINITION.kind,
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Cluster",
            "names": {"kind": kind.kind, "plural": kind.plural},
            "versions": [{"name": kind.version, "served": True, "storage": True, "schema": schema}],
        },
    }
    await client.apply(DEFINITION, definition, "test")
    async with asyncio.timeout(30):
        while True:
            try:
                await client.list(kind)
                return
            except NotFound:
                await asyncio.sleep(0.1)
