"""Leader election with two real processes: one works; when it ends, the other one does; never both."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from olmkit.runtime.client import Client
from olmkit.runtime.election import Election, LeaseDurations, Term
from olmkit.runtime.informer import Informer
from olmkit.runtime.lease_holder import LEASE
from tests.cluster.olmkit.conftest import CONFIG_MAP, View, proxied, running
from tests.cluster.olmkit.processes import Asker, Process, example
from tests.cluster.proxy import Proxy

DURATION = LeaseDurations().duration


@pytest.fixture
async def asker(client: Client, namespace: str) -> AsyncIterator[Asker]:
    """Sends requests to the example processes of the test's namespace."""
    informer = Informer(client, CONFIG_MAP, namespace=namespace, label_selector="test=runtime")
    view = View(informer)
    async with running(informer):
        yield Asker(client, namespace, view)


@pytest.fixture
async def pair(cluster: Cluster, namespace: str) -> AsyncIterator[tuple[Process, Process]]:
    """The process that holds the lease, and the other candidate."""
    async with (
        example(cluster.kubeconfig, namespace, "first") as first,
        example(cluster.kubeconfig, namespace, "second") as second,
    ):
        _, pending = await asyncio.wait(
            {asyncio.create_task(one.logged("lease acquired"), name=one.who) for one in (first, second)},
            return_when=asyncio.FIRST_COMPLETED,
        )
        (other,) = pending
        other.cancel()
        leader, follower = (first, second) if other.get_name() == "second" else (second, first)
        await ready(follower)
        yield leader, follower


async def ready(process: Process) -> None:
    """Wait until /readyz succeeds: no log line reports that the informer has synced."""
    async with asyncio.timeout(30):
        while (await process.get("probes", "/readyz"))[0] != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def master_status(process: Process) -> str:
    _, text = await process.get("metrics", "/metrics")
    (line,) = [line for line in text.splitlines() if line.startswith('leader_election_master_status{name="example"}')]
    return line.split()[-1]


async def test_only_the_leader_works_and_both_are_ready(asker: Asker, pair: tuple[Process, Process]) -> None:
    leader, follower = pair
    for _ in range(5):
        assert await asker.answered(await asker.ask()) == leader.who
    assert [await master_status(leader), await master_status(follower)] == ["1.0", "0.0"]
    assert (await leader.get("probes", "/readyz"))[0] == (await follower.get("probes", "/readyz"))[0] == 200


async def test_a_killed_leader_is_replaced_when_its_lease_has_expired(
    asker: Asker, pair: tuple[Process, Process], client: Client, namespace: str
) -> None:
    leader, follower = pair
    assert await asker.answered(await asker.ask()) == leader.who
    leader.send(signal.SIGKILL)
    await leader.ended()
    lease = await client.get(LEASE, "example", namespace)
    assert (lease["spec"]["holderIdentity"] != "", lease["spec"]["leaseDurationSeconds"]) == (True, DURATION)
    await asker.until_answer_of(follower.who)


async def test_a_leader_that_shuts_down_gives_up_its_lease(
    asker: Asker, pair: tuple[Process, Process], client: Client, namespace: str
) -> None:
    leader, follower = pair
    assert await asker.answered(await asker.ask()) == leader.who
    leader.send(signal.SIGTERM)
    await leader.logged("lease released")
    await asker.until_answer_of(follower.who)
    assert await leader.ended() == 0
    lease = await client.get(LEASE, "example", namespace)
    assert lease["spec"]["leaseTransitions"] == 1


async def test_the_current_pass_ends_before_the_lease_is_released(asker: Asker, pair: tuple[Process, Process]) -> None:
    leader, follower = pair
    slow = await asker.ask("slow", seconds="3")
    quick = await asker.ask("quick")
    assert await asker.answered(quick) == leader.who, "the slow pass has started as well"
    leader.send(signal.SIGTERM)
    assert await asker.answered(slow) == leader.who
    assert await leader.ended() == 0
    assert await asker.answered(await asker.ask()) == follower.who


async def test_a_crashed_leader_releases_the_lease(
    asker: Asker, client: Client, cluster: Cluster, namespace: str
) -> None:
    async with example(cluster.kubeconfig, namespace, "first") as first:
        await first.logged("lease acquired")
        await asker.ask("crash")
        assert await first.ended() == 1
        await first.logged("lease released")
        crash = await first.logged("a task crashed: exiting")
        assert "a task that crashes" in crash["stacktrace"]
        await client.delete(CONFIG_MAP, "crash", namespace)
        async with example(cluster.kubeconfig, namespace, "second") as second:
            await second.logged("listening", server="metrics")
            await second.logged("lease acquired")


async def test_a_suspended_leader_is_replaced_and_does_not_work_when_it_resumes(
    asker: Asker, pair: tuple[Process, Process]
) -> None:
    leader, follower = pair
    assert await asker.answered(await asker.ask()) == leader.who
    leader.send(signal.SIGSTOP)
    await asker.until_answer_of(follower.who)
    leader.send(signal.SIGCONT)
    for _ in range(20):
        assert await asker.answered(await asker.ask()) == follower.who


async def test_a_blocked_leader_exits_before_the_other_works(asker: Asker, pair: tuple[Process, Process]) -> None:
    leader, follower = pair
    await asker.ask("blocking", blocked="600")
    assert await leader.ended(within=60) == 1
    exited = await leader.logged("the work has not ended before the lease can expire: exiting")
    won = await follower.logged("lease acquired")
    assert exited["ts"] <= won["ts"]


async def test_a_disconnected_leader_stops_work_keeps_running_and_can_lead_again(
    asker: Asker, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    async with proxied(cluster, tmp_path) as (between, _), example(between.kubeconfig, namespace, "cut off") as first:
        assert await asker.answered(await asker.ask()) == first.who
        between.close()
        between.cut()
        await first.logged("lease lost, trying to acquire it again")
        assert (await first.get("probes", "/healthz")) == (200, "ok")
        assert await master_status(first) == "0.0"
        async with example(cluster.kubeconfig, namespace, "second") as second:
            assert await asker.answered(await asker.ask(), within=60) == second.who
            await between.open()
            await first.logged("watch works again")
            for _ in range(10):
                assert await asker.answered(await asker.ask()) == second.who
            second.send(signal.SIGTERM)
            await second.logged("lease released")
            await asker.until_answer_of(first.who)
        assert first.child.returncode is None


class Work:
    """The work of a candidate in this process: records when it runs, and takes `ending` seconds to end."""

    def __init__(self, ending: float = 0.0) -> None:
        self.active = False
        self.started = asyncio.Event()
        self.has_ended = False
        self._ending = ending

    async def __call__(self) -> None:
        self.active = True
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(self._ending)
            self.active = False
            self.has_ended = True


QUICK = LeaseDurations(duration=9, renew_deadline=4, renew_period=0.3, observe_period=0.1)
"""The deadline and the duration are not that short: work that has not ended in the time between them ends this process."""


async def test_the_lease_is_held_until_cancelled_work_has_ended(client: Client, namespace: str) -> None:
    work, next_work = Work(ending=1.0), Work()
    first = asyncio.create_task(Election(client, "held", namespace, durations=QUICK).run(work))
    await work.started.wait()
    second = asyncio.create_task(Election(client, "held", namespace, durations=QUICK).run(next_work))
    first.cancel()
    await next_work.started.wait()
    assert not work.active
    await asyncio.wait({first}, timeout=60)  # the lease can be acquired before the response to its release arrives
    assert first.done()
    second.cancel()
    await asyncio.wait({second})


async def test_disconnected_work_ends_before_another_starts(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    work, next_work = Work(ending=0.5), Work()

    async def cut_off(between: Proxy) -> None:
        between.close()
        between.cut()

    async with proxied(cluster, tmp_path) as (between, disturbed):
        first = asyncio.create_task(Election(disturbed, "cut", namespace, durations=QUICK).run(work))
        await work.started.wait()
        second = asyncio.create_task(Election(client, "cut", namespace, durations=QUICK).run(next_work))
        await cut_off(between)
        await next_work.started.wait()
        assert not work.active
        assert work.has_ended
        assert not first.done(), "it is a candidate again"
        for task in (first, second):
            task.cancel()
        await asyncio.wait({first, second})


async def test_a_lost_response_to_a_renewal_does_not_lose_the_lease(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    work = Work()

    async def renewed() -> str:
        return str((await client.get(LEASE, "lost", namespace))["spec"]["renewTime"])

    async with proxied(cluster, tmp_path) as (between, disturbed):
        lost = asyncio.Event()

        def lose(_: bytes) -> bytes:
            between.touch(None)
            between.cut()
            lost.set()
            return b""

        election = asyncio.create_task(Election(disturbed, "lost", namespace, durations=QUICK).run(work))
        await work.started.wait()
        async with asyncio.timeout(60):
            for _ in range(5):
                lost.clear()
                between.touch(lose)
                await lost.wait()  # a response: the renewal was written
                last = await renewed()
                while await renewed() == last:  # noqa: ASYNC110 the lease is read, not watched
                    await asyncio.sleep(0.02)
        assert work.active
        assert not work.has_ended, "without interruption"
        election.cancel()
        await asyncio.wait({election})


async def test_a_deleted_lease_is_lost_and_acquired_again(client: Client, namespace: str) -> None:
    work = Work()
    election = asyncio.create_task(Election(client, "deleted", namespace, durations=QUICK).run(work))
    await work.started.wait()
    work.started.clear()
    await client.delete(LEASE, "deleted", namespace)
    await asyncio.wait_for(work.started.wait(), 60)
    assert work.has_ended
    election.cancel()
    await asyncio.wait({election})


async def test_exceptions_of_the_work_are_raised(client: Client, namespace: str) -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await Election(client, "raises", namespace, durations=QUICK).run(work)
    lease = await client.get(LEASE, "raises", namespace)
    assert lease["spec"]["holderIdentity"] == ""


async def test_candidates_read_the_annotations_of_the_holder(client: Client, namespace: str) -> None:
    work, next_work = Work(), Work()
    first = Election(client, "annotations", namespace, durations=QUICK, annotations={"test/address": "first"})
    second = Election(client, "annotations", namespace, durations=QUICK, annotations={"test/address": "second"})
    leading = asyncio.create_task(first.run(work))
    await work.started.wait()
    await client.patch(LEASE, "annotations", {"metadata": {"annotations": {"test/foreign": "stays"}}}, namespace)
    candidate = asyncio.create_task(second.run(next_work))
    async with asyncio.timeout(30):
        while second.holder_annotations != {"test/address": "first", "test/foreign": "stays"}:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert first.holder_annotations == {}
    before = first.term
    assert before is not None
    assert second.term == before
    leading.cancel()
    await next_work.started.wait()
    assert second.holder_annotations == {}
    assert second.term == Term.of(await client.get(LEASE, "annotations", namespace)) != before
    lease = await client.get(LEASE, "annotations", namespace)
    assert lease["metadata"]["annotations"] == {"test/address": "second", "test/foreign": "stays"}
    candidate.cancel()
    await asyncio.wait({leading, candidate})
