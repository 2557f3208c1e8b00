"""The controller on real informers: every key is processed, whatever passes over other keys do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from olmkit.errors import Conflict, Unavailable
from olmkit.runtime import metrics
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Change, Informer
from tests.cluster.olmkit.conftest import CONFIG_MAP, config_map, running, until

Reconcile = Callable[[str], Awaitable[timedelta | None]]


def name_of(change: Change) -> Iterable[str]:
    obj = change.new or change.old
    assert obj is not None
    return [obj["metadata"]["name"]]


@asynccontextmanager
async def informed(client: Client, namespace: str, *names: str) -> AsyncIterator[Informer]:
    """A synced informer of ConfigMaps with these names."""
    for name in names:
        await client.create(CONFIG_MAP, config_map(namespace, name))
    async with running(Informer(client, CONFIG_MAP, namespace=namespace, label_selector="test=runtime")) as informer:
        yield informer


@asynccontextmanager
async def working(controller: Controller) -> AsyncIterator[asyncio.Task[None]]:
    """The running controller; cancelled at the end if it still runs."""
    task = asyncio.create_task(controller.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_slow_reconciler_gets_the_last_state_of_every_object(client: Client, namespace: str) -> None:
    """400 changes of 20 objects while a pass takes as long as four of them: keys are deduplicated, no last state is missed."""
    async with informed(client, namespace) as informer:
        seen: dict[str, str] = {}
        passes = 0
        changes = asyncio.Semaphore(0)
        informer.subscribe(lambda _: changes.release())

        async def reconcile(key: str) -> None:
            nonlocal passes
            passes += 1
            obj = informer.get(key, namespace)
            for _ in range(4):
                await changes.acquire()
            seen[key] = obj["data"]["key"] if obj is not None else "gone"

        controller = Controller("slow", reconcile, workers=1)
        controller.watch(informer, name_of)
        async with working(controller):
            for number in range(400):
                await client.apply(CONFIG_MAP, config_map(namespace, f"a{number % 20}", key=str(number)), "test")
            for number in range(0, 20, 2):
                await client.delete(CONFIG_MAP, f"a{number}", namespace)
            truth = {f"a{number % 20}": "gone" if number % 2 == 0 else str(number) for number in range(380, 400)}
            kept = {name: key for name, key in truth.items() if key != "gone"}

            def known() -> dict[str, str]:
                return {obj["metadata"]["name"]: obj["data"]["key"] for obj in informer.objects.values()}

            await until(lambda: known() == kept, "the informer has received every change")
            # No change follows: the current pass and one more for each object must not wait for one.
            for _ in range(4 * 21):
                changes.release()
            await until(lambda: seen == truth, "the last state of each object was reconciled")
        assert passes < 400


async def test_passes_over_one_key_never_overlap_and_over_others_do(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a", "b", "c") as informer:
        active: list[str] = []
        together = 0
        everyone = asyncio.Barrier(3)

        async def reconcile(key: str) -> None:
            nonlocal together
            assert key not in active
            active.append(key)
            together = max(together, len(active))
            await everyone.wait()
            active.remove(key)

        controller = Controller("parallel", reconcile, workers=3)
        controller.watch(informer, name_of)
        async with working(controller), asyncio.timeout(60):
            for _ in range(3):
                await until(lambda: together == 3 and not active, "a pass over each key")
                for key in ("a", "b", "c"):
                    controller.enqueue(key)
                    controller.enqueue(key)


@pytest.mark.parametrize(
    ("failure", "logged", "result"),
    [
        pytest.param(
            Conflict(409, "Conflict", "changed by another client"), None, "requeue", id="a conflict is not logged"
        ),
        pytest.param(
            Unavailable(503, "", "try later"), "WARNING", "error", id="an API server that is busy is a log line"
        ),
        pytest.param(KeyError("bug"), "ERROR", "error", id="a bug is a log line with its stack"),
    ],
)
async def test_a_failed_pass_is_retried_and_other_keys_are_processed(
    client: Client,
    namespace: str,
    caplog: pytest.LogCaptureFixture,
    failure: Exception,
    logged: str | None,
    result: str,
) -> None:
    name = f"failing-{result}-{logged}"
    async with informed(client, namespace, "bad", "good") as informer:
        passes = {"bad": 0, "good": 0}

        async def reconcile(key: str) -> None:
            passes[key] += 1
            if key == "bad" and passes[key] <= 3:
                raise failure

        controller = Controller(name, reconcile, workers=1)
        controller.watch(informer, name_of)
        async with working(controller):
            await until(lambda: passes["bad"] == 4 and passes["good"] == 1, "three failures and a success")
    lines = [
        record
        for record in caplog.records
        if record.name == "olmkit.runtime.controller" and record.levelno > logging.DEBUG
    ]
    assert [record.levelname for record in lines] == [logged] * (3 if logged else 0)
    assert all(bool(record.exc_info) is (logged == "ERROR") for record in lines)
    assert metrics.RECONCILE_TOTAL.labels(name, result)._value.get() == 3
    assert metrics.RECONCILE_TOTAL.labels(name, "success")._value.get() == 2


async def test_a_cancellation_inside_a_pass_does_not_end_the_worker(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a") as informer:
        passes = 0

        async def reconcile(key: str) -> None:
            nonlocal passes
            passes += 1
            if passes < 4:
                job = asyncio.ensure_future(asyncio.sleep(60))
                job.cancel()
                await job

        controller = Controller("job", reconcile, workers=1)
        controller.watch(informer, name_of)
        async with working(controller) as task:
            await until(lambda: passes == 4, "the only worker still works")
            assert not task.done()


async def test_a_pass_that_hangs_is_cancelled_at_its_deadline_and_retried(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "stuck") as informer:
        passes = 0
        ended = 0

        async def reconcile(key: str) -> None:
            nonlocal passes, ended
            passes += 1
            try:
                if passes < 3:  # the third ends, so that the number of passes does not depend on timing
                    await asyncio.Event().wait()
            finally:
                ended += 1

        controller = Controller("hanging", reconcile, deadline=timedelta(seconds=0.2))
        controller.watch(informer, name_of)
        async with working(controller):
            await until(lambda: passes == 3, "it is retried")
    assert ended == passes
    assert metrics.RECONCILE_TIMEOUTS.labels("hanging")._value.get() == 2


async def test_the_next_pass_follows_after_the_returned_time(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a") as informer:
        moments: list[float] = []

        async def reconcile(key: str) -> timedelta:
            moments.append(asyncio.get_running_loop().time())
            return timedelta(seconds=0.3)

        controller = Controller("again", reconcile)
        controller.watch(informer, name_of)
        async with working(controller):
            await until(lambda: len(moments) >= 3, "three passes")
    assert moments[2] - moments[0] >= 0.6


async def test_every_key_is_processed_again_each_resync(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a", "b") as informer:
        passes = {"a": 0, "b": 0}

        async def reconcile(key: str) -> None:
            passes[key] += 1

        controller = Controller("resync", reconcile, resync=timedelta(seconds=0.5))
        controller.watch(informer, name_of)
        async with working(controller):
            await until(lambda: min(passes.values()) >= 3, "processed again without an event")


async def test_stop_lets_current_passes_finish_and_starts_no_other(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a", "b") as informer:
        begun: list[str] = []
        finished: list[str] = []
        started, release = asyncio.Event(), asyncio.Event()

        async def reconcile(key: str) -> None:
            begun.append(key)
            started.set()
            await release.wait()
            finished.append(key)

        controller = Controller("stopped", reconcile, workers=1)
        controller.watch(informer, name_of)
        async with working(controller) as task:
            await started.wait()
            controller.stop()
            release.set()
            await asyncio.wait_for(task, 60)
        assert begun == finished
        assert len(begun) == 1


async def test_cancellation_cancels_and_awaits_passes_and_it_can_run_again(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a") as informer:
        begun, cleaned = 0, 0
        started = asyncio.Event()

        async def reconcile(key: str) -> None:
            nonlocal begun, cleaned
            begun += 1
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.1)
                cleaned += 1

        controller = Controller("leader", reconcile)
        controller.watch(informer, name_of)
        for expected in (1, 2):
            started.clear()
            async with working(controller):
                await asyncio.wait_for(started.wait(), 60)
            assert (begun, cleaned) == (expected, expected), "a new run starts with all known keys"


async def test_it_starts_with_known_objects_and_enqueued_keys(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a", "b") as informer:
        passes: set[str] = set()

        async def reconcile(key: str) -> None:
            passes.add(key)

        controller = Controller("early", reconcile)
        controller.watch(informer, name_of)
        controller.enqueue("early")
        async with working(controller):
            await until(lambda: passes == {"a", "b", "early"}, "all keys were processed")


async def test_the_first_pass_waits_until_all_informers_have_synced(client: Client, namespace: str) -> None:
    async with informed(client, namespace, "a") as informer:
        other = Informer(client, CONFIG_MAP, namespace=namespace, label_selector="test=other")
        passes: list[str] = []

        async def reconcile(key: str) -> None:
            assert other.synced.is_set()
            passes.append(key)

        controller = Controller("patient", reconcile)
        controller.watch(informer, name_of)
        controller.watch(other, name_of)
        async with working(controller):
            await client.apply(CONFIG_MAP, config_map(namespace, "b"), "test")
            assert passes == []
            async with running(other):
                await until(lambda: set(passes) == {"a", "b"}, "the passes start")


async def test_a_change_that_cannot_be_mapped_does_not_affect_others(client: Client, namespace: str) -> None:
    def by_data(change: Change) -> Iterable[str]:
        assert change.new is not None
        return [change.new["data"]["key"]]

    async with informed(client, namespace, "odd") as informer:
        passes: list[str] = []

        async def reconcile(key: str) -> None:
            passes.append(key)

        controller = Controller("mapping", reconcile)
        controller.watch(informer, by_data)
        async with working(controller):
            await client.create(CONFIG_MAP, config_map(namespace, "plain", key="found"))
            await until(lambda: passes == ["found"], "the other object is processed")
