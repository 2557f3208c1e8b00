"""The informer through everything a network and an API server can do to a watch.

What is asserted each time: the store is what the server has, what a subscriber was told joins up without a gap and ends at the
same, and the informer still runs.
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
async def watched(cluster: Cluster, folder: Path, namespace: str) -> AsyncIterator[tuple[Proxy, Informer, View]]:
    """An informer behind a proxy, synced and watching, and its subscriber."""
    async with proxied(cluster, folder) as (between, client):
        informer = selected(client, namespace)
        view = View(informer)
        async with running(informer):
            yield between, informer, view


async def settle(client: Client, namespace: str, informer: Informer, view: View) -> None:
    """Wait until the informer knows a last object, then compare everything with the server."""
    await client.apply(CONFIG_MAP, config_map(namespace, "zz-last"), "test")
    await view.until(lambda: "zz-last" in view.objects, "the informer hears of the last object")
    truth = versions((await client.list(CONFIG_MAP, namespace, "test=runtime"))[0])
    await view.until(lambda: versions(view.objects) == truth, "the subscriber knows what the server has")
    assert versions(dict(informer.objects)) == truth
    assert view.gaps == []
    await until(lambda: not informer.stale, "the informer watches: it may have heard of it all by a list")


async def test_everything_is_known_at_once_and_every_change_is_told(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "before"))
    informer = selected(client, namespace)
    view = View(informer)
    async with running(informer):
        assert list(view.objects) == ["before"]
        await client.create(CONFIG_MAP, config_map(namespace, "a", key="1"))
        await client.patch(CONFIG_MAP, "a", {"data": {"key": "2"}}, namespace)
        await client.delete(CONFIG_MAP, "before", namespace)
        await view.until(lambda: "before" not in view.objects, "the deletion is told")
        assert (informer.get("a", namespace) or {})["data"] == {"key": "2"}
        late = View(informer)
        assert versions(late.objects) == versions(view.objects), "who subscribes late is told what is known"
        await settle(client, namespace, informer, view)


async def test_an_own_write_counts_at_once_and_is_told_once(client: Client, namespace: str) -> None:
    informer = selected(client, namespace)
    view = View(informer)
    async with running(informer):
        written = await client.apply(CONFIG_MAP, config_map(namespace, "a", key="1"), "test")
        informer.record_write(written)
        assert informer.get("a", namespace) == written
        await settle(client, namespace, informer, view)
        assert view.count == 2


async def test_metadata_alone_comes_when_that_was_asked_for(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "a", key="1"))
    informer = selected(client, namespace, metadata_only=True)
    view = View(informer)
    async with running(informer):
        await client.create(CONFIG_MAP, config_map(namespace, "b", key="1"))
        await view.until(lambda: len(view.objects) == 2, "both are told")
        assert [sorted(obj) for obj in informer.objects.values()] == [["apiVersion", "kind", "metadata"]] * 2
        assert {obj["kind"] for obj in informer.objects.values()} == {"ConfigMap"}


async def test_an_object_that_stops_matching_the_selector_is_gone(client: Client, namespace: str) -> None:
    informer = selected(client, namespace)
    view = View(informer)
    async with running(informer):
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await view.until(lambda: "a" in view.objects, "it is told")
        await client.patch(CONFIG_MAP, "a", {"metadata": {"labels": {"test": "other"}}}, namespace)
        await view.until(lambda: "a" not in view.objects, "it is told to be gone")
        await settle(client, namespace, informer, view)


async def test_one_object_that_cannot_be_trimmed_stops_nothing(client: Client, namespace: str) -> None:
    def transform(obj: Object) -> Object:
        return {"key": obj["data"]["key"]}

    informer = Informer(client, CONFIG_MAP, namespace=namespace, label_selector="test=runtime", transform=transform)
    view = View(informer)
    async with running(informer):
        await client.create(CONFIG_MAP, config_map(namespace, "odd"))
        await client.create(CONFIG_MAP, config_map(namespace, "plain", key="1"))
        await view.until(lambda: len(view.objects) == 2, "both are told")
        metadata = view.objects["plain"]["metadata"]
        assert view.objects["plain"] == {"metadata": metadata, "key": "1"}
        assert sorted(metadata) == ["name", "namespace", "resourceVersion", "uid"]
        assert view.objects["odd"]["kind"] == "ConfigMap", "kept whole"


async def test_a_watch_that_is_cut_goes_on_where_it_was(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    for number in range(5):
        await client.create(CONFIG_MAP, config_map(namespace, f"a{number}"))
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        for _ in range(5):
            between.cut()
            await client.delete(CONFIG_MAP, random.choice(sorted(view.objects)), namespace)
            await client.apply(CONFIG_MAP, config_map(namespace, "a-new", key=str(random.random())), "test")
            truth = versions((await client.list(CONFIG_MAP, namespace, "test=runtime"))[0])
            await view.until(lambda: versions(view.objects) == truth, "what happened meanwhile is told")  # noqa: B023
        await settle(client, namespace, informer, view)


async def test_a_server_out_of_reach_leaves_what_is_known_and_says_that_it_is_old(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "a"))
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        between.close()
        between.cut()
        await client.delete(CONFIG_MAP, "a", namespace)
        await until(lambda: informer.stale, "the informer notices")
        assert informer.get("a", namespace) is not None
        assert informer.synced.is_set()
        await between.open()
        await view.until(lambda: "a" not in view.objects, "the deletion is told after all")
        await settle(client, namespace, informer, view)


async def test_a_connection_that_falls_silent_is_replaced(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olmkit.runtime.client.WATCH_IDLE_TIMEOUT_SECONDS", 1.0)
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        before = between.accepted
        between.silence()
        await client.create(CONFIG_MAP, config_map(namespace, "unheard"))
        await asyncio.wait_for(between.until_accepted(before + 1), 20)
        between.resume()
        await settle(client, namespace, informer, view)
        assert "unheard" in view.objects


async def test_a_line_that_is_no_event_costs_a_connection_and_no_event(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        before = between.accepted
        between.touch(lambda chunk: chunk.replace(b'{"type":"ADDED"', b'{"tape":"ADDED"'))
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await asyncio.wait_for(between.until_accepted(before + 2), 20)
        assert "a" not in view.objects
        between.touch(None)
        await settle(client, namespace, informer, view)
        assert "a" in view.objects


async def test_a_version_that_is_too_old_lists_again_and_finds_what_went(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    """A new API server process knows no event from before its start: a real 410."""
    if not cluster.is_managed:
        pytest.skip("restarts the API server, which is not ours")
    for name in ("stays", "goes", "anew"):
        await client.create(CONFIG_MAP, config_map(namespace, name))
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        old = (await client.list(CONFIG_MAP, namespace))[1]
        uid = view.objects["anew"]["metadata"]["uid"]
        between.close()
        between.cut()
        await client.delete(CONFIG_MAP, "goes", namespace)
        await client.delete(CONFIG_MAP, "anew", namespace)
        await client.create(CONFIG_MAP, config_map(namespace, "anew"))
        await client.create(CONFIG_MAP, config_map(namespace, "new"))
        await asyncio.to_thread(cluster.restart_apiserver)
        with pytest.raises(Gone):
            async for _ in client.watch(CONFIG_MAP, old, namespace):
                pass
        await between.open()
        await view.until(lambda: "new" in view.objects and "goes" not in view.objects, "the list is told as changes")
        assert view.objects["anew"]["metadata"]["uid"] != uid
        await settle(client, namespace, informer, view)
        assert set(view.objects) == {"stays", "anew", "new", "zz-last"}


class Writer:
    """Makes, changes and deletes ConfigMaps as fast as one connection can, whatever the API server does."""

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
    """Writers at work."""
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
async def test_an_api_server_that_is_restarted_under_load_loses_nothing(
    cluster: Cluster, client: Client, namespace: str, signal_number: int
) -> None:
    if not cluster.is_managed:
        pytest.skip("restarts the API server, which is not ours")
    informers = [selected(client, namespace), selected(client, namespace, metadata_only=True)]
    views = [View(informer) for informer in informers]
    async with running(informers[0]), running(informers[1]):
        async with load(client, namespace) as writers:
            await views[0].until(lambda: views[0].count > 300, "there is load")
            await asyncio.to_thread(cluster.restart_apiserver, signal_number)
            heard = views[0].count
            await views[0].until(lambda: views[0].count > heard + 300, "there is load again")
        assert sum(writer.refused for writer in writers) > 0, "the restart was felt"
        for informer, view in zip(informers, views, strict=True):
            await settle(client, namespace, informer, view)


async def test_watches_that_are_cut_all_the_time_under_load_lose_nothing(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        async with load(client, namespace):
            for round_number in range(20):
                heard = view.count
                await view.until(lambda: view.count > heard + 20, "there is load")  # noqa: B023
                between.cut()
                assert round_number or view.count
        await settle(client, namespace, informer, view)


def given_up(cluster: Cluster) -> float:
    """How many watchers of ConfigMaps the API server has given up since its start."""
    name = 'apiserver_terminated_watchers_total{group="",resource="configmaps"}'
    lines = cluster.kubectl("get", "--raw", "/metrics").splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


async def test_a_reader_too_slow_for_the_server_loses_nothing(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    """The server gives up a watcher that does not read: 200 events of 120 kB are more than all its buffers hold."""
    async with watched(cluster, tmp_path, namespace) as (between, informer, view):
        await settle(client, namespace, informer, view)
        before = given_up(cluster)
        between.silence()
        for number in range(200):
            padded = f"{number:03d}" * 40_000
            await client.apply(CONFIG_MAP, config_map(namespace, f"a{number % 7}", key=padded), "test")
        await client.delete(CONFIG_MAP, "a0", namespace)
        between.resume()
        await settle(client, namespace, informer, view)
        assert "a0" not in view.objects
        assert given_up(cluster) > before


async def test_a_kind_that_may_be_absent_is_empty_until_it_is_there_and_again_when_it_went(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(informer_module, "ABSENT_KIND_RECHECK_SECONDS", 600.0)
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
            informer.recheck()
            await view.until(lambda: "a" in view.objects, "the kind is found when poked")
        finally:
            await client.delete(DEFINITION, f"{kind.plural}.{kind.group}")
        await view.until(lambda: not view.objects, "its objects go with the kind")


async def test_a_kind_of_ours_that_is_absent_is_waited_for(client: Client) -> None:
    kind = Kind("runtime.example.com", "v1", "Host", "hosts")
    informer = Informer(client, kind)
    task = asyncio.create_task(informer.run())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(informer.synced.wait(), 1)
    await define(client, kind)
    try:
        await asyncio.wait_for(informer.synced.wait(), 20)
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait({task})
        await client.delete(DEFINITION, f"{kind.plural}.{kind.group}")


async def define(client: Client, kind: Kind) -> None:
    """A CRD without a schema for `kind`; returns when the kind is served."""
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
