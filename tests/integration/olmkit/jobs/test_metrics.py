"""The metrics of jobs that real processes leave: how many wait and run, how they ended, and how long they took."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from prometheus_client import REGISTRY

from olmkit.errors import OlmError
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import JobReason, Limits, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.metrics import Outcome
from olmkit.jobs.worker import Worker
from tests.integration.olmkit.jobs import test_child_parser, test_scheduler
from tests.integration.olmkit.jobs.example_jobs import job
from tests.integration.olmkit.jobs.test_scheduler import JobRunner, task

MEBIBYTE = 1024 * 1024
LIMITS = Limits(memory_bytes=256 * MEBIBYTE, cpu_seconds=1, timeout=timedelta(seconds=20))
OUTCOMES = {str(each) for each in (*Outcome, *JobReason)}
ENDS = [
    pytest.param("echo", Outcome.SUCCEEDED, id="a result"),
    pytest.param("raise_blocked", Outcome.FAILED, id="an error that the function reports"),
    pytest.param("raise_unexpected", JobReason.UNEXPECTED, id="an unexpected error"),
    pytest.param("allocate_memory", JobReason.OUT_OF_MEMORY, id="it exceeds its limit of memory"),
    pytest.param("kill_itself", JobReason.OUT_OF_MEMORY, id="the kernel kills it"),
    pytest.param("use_cpu", JobReason.TOO_LONG, id="it exceeds its limit of CPU time"),
    pytest.param("crash", JobReason.CRASHED, id="it crashes"),
]


@pytest_asyncio.fixture
async def runner() -> AsyncIterator[JobRunner]:
    runner = JobRunner(1, LIMITS)
    yield runner
    await runner.jobs.close()


def value(name: str, function: str, **labels: str) -> float:
    """A sample of the metrics that this process exports; 0 if there is none."""
    return REGISTRY.get_sample_value(name, {"function": function, **labels}) or 0.0


def finished(function: str) -> dict[str, float]:
    """The number of ends of a function by outcome, without those that did not occur."""
    counts = {each: value("olmkit_jobs_finished_total", function, outcome=each) for each in OUTCOMES}
    return {outcome: count for outcome, count in counts.items() if count}


def running_and_queued(function: str) -> tuple[float, float]:
    return value("olmkit_jobs_running", function), value("olmkit_jobs_queued", function)


@pytest.mark.parametrize(("function", "outcome"), ENDS)
async def test_the_end_of_a_job_is_counted(runner: JobRunner, function: str, outcome: str) -> None:
    before, durations = finished(function), value("olmkit_job_duration_seconds_count", function)
    seconds = value("olmkit_job_duration_seconds_sum", function)
    await runner.run(function)
    assert finished(function) == {**before, outcome: before.get(outcome, 0) + 1}
    assert value("olmkit_job_duration_seconds_count", function) == durations + 1
    assert value("olmkit_job_duration_seconds_bucket", function, le="+Inf") == durations + 1
    assert value("olmkit_job_duration_seconds_sum", function) > seconds
    assert running_and_queued(function) == (0, 0)


@pytest.mark.parametrize(("function", "outcome"), ENDS)
async def test_the_end_of_a_task_of_a_kept_process_is_counted(function: str, outcome: str) -> None:
    before, worker = finished(function), Worker(ForkServerClient([test_scheduler.WORK]), limits=LIMITS)
    try:
        with suppress(OlmError):
            await worker.run(task(function))
    finally:
        await worker.close()
    assert finished(function) == {**before, outcome: before.get(outcome, 0) + 1}
    assert running_and_queued(function) == (0, 0)


async def test_a_job_that_takes_too_long_is_counted() -> None:
    runner = JobRunner(1, Limits(timeout=timedelta(seconds=0.5)))
    before = finished("hang").get(JobReason.TOO_LONG, 0)
    await runner.run("hang")
    await runner.jobs.close()
    assert finished("hang")[JobReason.TOO_LONG] == before + 1


async def test_jobs_that_run_and_that_wait_are_counted(runner: JobRunner) -> None:
    for key in ("first", "second", "third"):
        runner.jobs.ensure(key, "1", task("hang"))
    await runner.wait_for_pid("first")
    assert running_and_queued("hang") == (1, 2)
    first, second = (value("olmkit_jobs_longest_queued_seconds", "hang") for _ in range(2))
    assert 0 < first < second
    before = finished("hang").get(Outcome.CANCELLED, 0)
    runner.jobs.cancel_all()
    await runner.jobs.idle()
    assert running_and_queued("hang") == (0, 0)
    assert value("olmkit_jobs_longest_queued_seconds", "hang") == 0
    assert finished("hang")[Outcome.CANCELLED] == before + 3


async def test_a_job_that_waits_for_memory_to_parse_is_queued_again(tmp_path: Path) -> None:
    limits = test_child_parser.LIMITS
    memory = MemoryBudget(limits.parser_memory_bytes + 2 * limits.fetch_memory_bytes)
    runner = test_child_parser.JobRunner(tmp_path / "store", limits, memory)
    try:
        runner.start("first", "hang_in_parser")
        await runner.wait_for_progress("first")
        assert running_and_queued("parse") == (1, 0)
        runner.start("second", "hang_in_parser")
        await runner.wait_for_progress("second", "waiting for memory")
        assert running_and_queued("parse") == (1, 1)
        runner.jobs.cancel("first")
        await runner.wait_for_progress("second")
        assert running_and_queued("parse") == (1, 0)
    finally:
        await runner.jobs.close()


async def test_a_probe_that_has_the_result_is_no_job(runner: JobRunner) -> None:
    before = finished("echo")
    arguments = {"probe": "probe_answer", "answer": {"text": "known"}}
    runner.jobs.ensure("key", "1", Task(job("echo"), arguments, probe=True))
    await runner.wait_for_end("key")
    assert finished("echo") == before


async def test_a_function_has_all_its_outcomes_from_its_first_job(runner: JobRunner) -> None:
    """A counter that appears with its first event hides that event from `increase`."""
    runner.jobs.ensure("key", "1", task("hang"))
    await runner.wait_for_pid("key")
    samples = [sample for family in REGISTRY.collect() for sample in family.samples]
    ends = [each.labels for each in samples if each.name == "olmkit_jobs_finished_total"]
    assert {labels["outcome"] for labels in ends if labels["function"] == "hang"} == OUTCOMES
