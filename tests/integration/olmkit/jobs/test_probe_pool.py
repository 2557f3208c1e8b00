"""Probes: one worker process answers them, and a failed probe never prevents the job. With real processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olmkit.errors import Waiting
from olmkit.jobs import probe_pool
from olmkit.jobs.job import Task
from olmkit.jobs.state import Failed, Finished, Running
from tests.integration.olmkit.jobs.example_jobs import Values, job
from tests.integration.olmkit.jobs.test_scheduler import JobRunner, process_end, runner

__all__ = ["runner"]


def probing_task(probe: str, log: Path | None = None, **arguments: Any) -> Task[Values, Values]:
    """A task with a probe; its job appends a letter to `log`."""
    return Task(job("append_to_log"), {"log": str(log), "probe": probe, **arguments}, probe=True)


async def result(runner: JobRunner, key: str, task: Task[Values, Values]) -> Values:
    """The result of the job or of its probe."""
    runner.jobs.ensure(key, "it", task)
    state = await runner.wait_for_end(key)
    assert isinstance(state, Finished)
    runner.jobs.forget(key)
    return state.result


async def test_the_result_of_the_probe_replaces_the_job(runner: JobRunner, tmp_path: Path) -> None:
    found = await result(runner, "key", probing_task("probe_answer", tmp_path / "log", answer={"digest": "ä"}))
    assert found["digest"] == "ä"
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    "probe",
    ["probe_answer", "probe_unexpected", "probe_exit"],
    ids=["has no answer", "fails unexpectedly", "ends the worker"],
)
async def test_the_job_runs_if_the_probe(runner: JobRunner, tmp_path: Path, probe: str) -> None:
    assert await result(runner, "key", probing_task(probe, tmp_path / "log")) == {}
    assert (tmp_path / "log").read_text() == "x"


async def test_an_error_of_the_probe_is_that_of_the_job(runner: JobRunner, tmp_path: Path) -> None:
    runner.jobs.ensure("key", "it", probing_task("probe_waiting", tmp_path / "log"))
    state = await runner.wait_for_end("key")
    assert isinstance(state, Failed)
    assert isinstance(state.error, Waiting)
    assert state.error.message == "not yet"
    assert not (tmp_path / "log").exists()


async def test_the_worker_is_replaced_after_a_number_of_probes(runner: JobRunner) -> None:
    pids = [
        (await result(runner, "key", probing_task("probe_answer", answer={})))["pid"]
        for _ in range(probe_pool.PROBES_PER_PROCESS + 1)
    ]
    assert len(set(pids[:-1])) == 1
    assert pids[-1] != pids[0]
    await process_end(pids[0])


async def test_probes_run_concurrently(runner: JobRunner, tmp_path: Path) -> None:
    (until := tmp_path / "until").parent.mkdir(exist_ok=True)
    runner.jobs.ensure("slow", "it", probing_task("probe_until", until=str(until)))
    quick = await result(runner, "quick", probing_task("probe_answer", answer={}))
    assert isinstance(runner.jobs.state("slow"), Running)
    until.touch()
    state = await runner.wait_for_end("slow")
    assert isinstance(state, Finished)
    assert state.result == {"pid": quick["pid"]}


async def test_a_cancelled_probe_does_not_affect_others(runner: JobRunner, tmp_path: Path) -> None:
    runner.jobs.ensure("slow", "it", probing_task("probe_until", until=str(tmp_path / "never")))
    before = await result(runner, "quick", probing_task("probe_answer", answer={}))
    runner.jobs.cancel("slow")
    assert await result(runner, "quick", probing_task("probe_answer", answer={})) == before


async def test_close_ends_the_worker(runner: JobRunner, tmp_path: Path) -> None:
    runner.jobs.ensure("slow", "it", probing_task("probe_until", until=str(tmp_path / "never")))
    pid = (await result(runner, "quick", probing_task("probe_answer", answer={})))["pid"]
    await runner.jobs.close()
    await process_end(pid)
