"""Looks that spare jobs: answered by one child for all, and never in the way of the job itself. With real processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olmkit.errors import Waiting
from olmkit.jobs import Failed, Finished, Running, Task, probe_pool
from tests.integration.olmkit.jobs.example_jobs import Values, job
from tests.integration.olmkit.jobs.test_scheduler import Desk, desk, end_of

__all__ = ["desk"]


def looking(look: str, log: Path | None = None, **arguments: Any) -> Task[Values, Values]:
    """A job that leaves a letter in `log` when it is run."""
    return Task(job("count"), {"log": str(log), "probe": look, **arguments}, probe=True)


async def result(desk: Desk, key: str, task: Task[Values, Values]) -> Values:
    """What the job, or the look in its place, gave."""
    desk.jobs.ensure(key, "it", task)
    state = await desk.ended(key)
    assert isinstance(state, Finished)
    desk.jobs.forget(key)
    return state.result


async def test_what_a_look_returns_is_the_result_and_the_job_is_not_run(desk: Desk, tmp_path: Path) -> None:
    found = await result(desk, "key", looking("look_up", tmp_path / "log", answer={"digest": "ä"}))
    assert found["digest"] == "ä"
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    "look",
    ["look_up", "look_wrong", "die_looking"],
    ids=["says nothing", "raises what nobody foresaw", "ends the child"],
)
async def test_the_job_is_run_when_the_look(desk: Desk, tmp_path: Path, look: str) -> None:
    assert await result(desk, "key", looking(look, tmp_path / "log")) == {}
    assert (tmp_path / "log").read_text() == "x"


async def test_an_error_of_the_look_is_the_jobs(desk: Desk, tmp_path: Path) -> None:
    desk.jobs.ensure("key", "it", looking("refuse_to_look", tmp_path / "log"))
    state = await desk.ended("key")
    assert isinstance(state, Failed)
    assert isinstance(state.error, Waiting)
    assert state.error.message == "not yet"
    assert not (tmp_path / "log").exists()


async def test_looks_share_a_child_which_is_replaced_after_so_many(desk: Desk) -> None:
    pids = [
        (await result(desk, "key", looking("look_up", answer={})))["pid"]
        for _ in range(probe_pool.PROBES_PER_WORKER + 1)
    ]
    assert len(set(pids[:-1])) == 1
    assert pids[-1] != pids[0]
    await end_of(pids[0])


async def test_looks_do_not_wait_for_one_another(desk: Desk, tmp_path: Path) -> None:
    (until := tmp_path / "until").parent.mkdir(exist_ok=True)
    desk.jobs.ensure("slow", "it", looking("look_again", until=str(until)))
    quick = await result(desk, "quick", looking("look_up", answer={}))
    assert isinstance(desk.jobs.state("slow"), Running)
    until.touch()
    state = await desk.ended("slow")
    assert isinstance(state, Finished)
    assert state.result == {"pid": quick["pid"]}


async def test_a_look_that_was_cancelled_costs_no_other(desk: Desk, tmp_path: Path) -> None:
    desk.jobs.ensure("slow", "it", looking("look_again", until=str(tmp_path / "never")))
    before = await result(desk, "quick", looking("look_up", answer={}))
    desk.jobs.cancel("slow")
    assert await result(desk, "quick", looking("look_up", answer={})) == before


async def test_the_child_ends_with_the_jobs(desk: Desk, tmp_path: Path) -> None:
    desk.jobs.ensure("slow", "it", looking("look_again", until=str(tmp_path / "never")))
    pid = (await result(desk, "quick", looking("look_up", answer={})))["pid"]
    await desk.jobs.close()
    await end_of(pid)
