"""No decision is made from informers that are not up to date: after a change of leaders, and while a list and a watch fail."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from prometheus_client import REGISTRY

from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from olmkit.runtime.controller import ConsecutivePasses, Controller
from olmkit.runtime.manager import Manager, Settings
from tests.cluster.olmkit.conftest import CONFIG_MAP, config_map, until
from tests.cluster.olmkit.example import names
from tests.cluster.proxy import run_as
from tests.cluster.refusing_proxy import RefusingProxy

CONFIG_MAPS = "GET /api/v1/namespaces/[^/]+/configmaps"


def stale_informers() -> float | None:
    """The metric of the replica that was made last."""
    return REGISTRY.get_sample_value("stale_informers", {"reader": "fresh"})


class Replica:
    """A process with one controller, in the process of the test and behind a proxy; records what each of its passes saw."""

    def __init__(self, client: Client, namespace: str, *, leader_elect: bool) -> None:
        settings = Settings(
            cache_dir=Path("unused"),
            system_namespace=namespace,
            metrics_bind_address="0",
            health_probe_bind_address="0",
            leader_elect=leader_elect,
        )
        self.manager = Manager("fresh", settings, client)
        self.informer = self.manager.informer(CONFIG_MAP, namespace=namespace, label_selector="test=runtime")
        self.seen: list[dict[str, str]] = []
        self._namespace = namespace
        rules = ConsecutivePasses(max_passes=3)
        self.controller = Controller("fresh", self._reconcile, workers=2, consecutive=rules)
        self.controller.watch(self.informer, names)
        self.manager.add_controller(self.controller)

    async def _reconcile(self, key: str) -> None:
        obj = self.informer.get(key, self._namespace)
        self.seen.append({key: obj["data"]["version"] if obj is not None else "none"})


@contextlib.asynccontextmanager
async def replica(
    cluster: Cluster, namespace: str, directory: Path, *, leader_elect: bool = True
) -> AsyncIterator[tuple[Replica, RefusingProxy]]:
    """A replica that runs, and the proxy that it reaches the API server by."""
    await asyncio.to_thread(directory.mkdir)
    async with (
        run_as(RefusingProxy, cluster.kubeconfig, directory) as between,
        await Client.connect(str(between.kubeconfig)) as client,
    ):
        made = Replica(client, namespace, leader_elect=leader_elect)
        run = asyncio.create_task(made.manager.run())
        try:
            yield made, between
        finally:
            between.allow()
            made.manager.stop()
            await run


async def test_a_follower_whose_informers_failed_makes_no_pass_from_what_it_knew_when_it_takes_over(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    for name in ("changed", "deleted"):
        await client.create(CONFIG_MAP, config_map(namespace, name, version="1"))
    async with contextlib.AsyncExitStack() as stack:
        leader, _ = await stack.enter_async_context(replica(cluster, namespace, tmp_path / "leader"))
        await until(lambda: len(leader.seen) >= 2, "the first replica leads")
        async with replica(cluster, namespace, tmp_path / "follower") as (follower, between):
            await until(lambda: not follower.informer.stale, "the other replica knows the objects")
            between.refuse(CONFIG_MAPS)
            await client.patch(CONFIG_MAP, "changed", {"data": {"version": "2"}}, namespace)
            await client.delete(CONFIG_MAP, "deleted", namespace)
            await stack.aclose()
            await until(lambda: follower.manager.is_leading, "the other replica takes over")
            await between.until_refused(between.refused + 3)
            assert follower.seen == []
            assert len(follower.informer.objects) == 2, "it still knows what was"
            assert stale_informers() == 1
            between.allow()
            await until(lambda: {"changed": "2"} in follower.seen, "it works once it has listed them")
            assert [each for each in follower.seen if each not in ({"changed": "2"}, {"deleted": "none"})] == []
            assert stale_informers() == 0


async def test_what_was_written_before_a_term_is_known_to_its_first_pass(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "changed", version="1"))
    async with contextlib.AsyncExitStack() as stack:
        leader, _ = await stack.enter_async_context(replica(cluster, namespace, tmp_path / "leader"))
        await until(lambda: bool(leader.seen), "the first replica leads")
        async with replica(cluster, namespace, tmp_path / "follower") as (follower, between):
            await until(lambda: not follower.informer.stale, "the other replica knows the object")
            between.silence_watches()
            await client.patch(CONFIG_MAP, "changed", {"data": {"version": "2"}}, namespace)
            await stack.aclose()
            await until(lambda: bool(follower.seen), "the other replica works")
            assert follower.seen[0] == {"changed": "2"}


async def test_passes_wait_while_a_list_and_watch_fail(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "a", version="1"))
    async with replica(cluster, namespace, tmp_path / "only", leader_elect=False) as (only, between):
        await until(lambda: only.seen == [{"a": "1"}], "it works")
        between.refuse(CONFIG_MAPS)
        await client.patch(CONFIG_MAP, "a", {"data": {"version": "2"}}, namespace)
        await until(lambda: only.informer.stale, "its informer is stale")
        only.controller.enqueue("a")
        await between.until_refused(3)
        assert only.seen == [{"a": "1"}]
        between.allow()
        # A watch that resumes is fresh when it opens, and its events may come a moment later.
        await until(lambda: only.seen[-1] == {"a": "2"}, "it works again")
