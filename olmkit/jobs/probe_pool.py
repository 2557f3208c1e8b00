"""Probes, which may spare a job: they share one child process, because a fork costs several times what a probe does, and a job
that waits for a server holds memory that others need.

A probe that gets no answer from the process, for whatever reason, decides nothing: the job itself runs then, in a child of its
own, and reports what is wrong.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import orjson

from olmkit.errors import OlmError
from olmkit.jobs import codec, protocol
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import Limits, Role, Task
from olmkit.jobs.memory_budget import MemoryBudget
from olmkit.jobs.outcome import outcome_of
from olmkit.jobs.worker import Worker

Result = TypeVar("Result")

PROBES_PER_PROCESS = 500
"""The limit of probes of one process, which bounds what may leak and the CPU time that it uses."""
IDLE_SECONDS = 5.0
PROBE_TIMEOUT = timedelta(minutes=2)
"""The timeout of a probe; then the job runs as if it had no probe."""
MAX_CONCURRENT_PROBES = 32
"""Probes of sources that have answered, at a time; as many are retries of others."""
MAX_CONCURRENT_FIRST_PROBES = 64
"""Probes of sources that are not known to answer, at a time, of jobs that have not failed yet."""


class ProbePool:
    """All calls from one event loop."""

    def __init__(self, forks: ForkServerClient, limits: Limits, memory: MemoryBudget, max_turn: timedelta) -> None:
        """`max_turn`: how long the process keeps its memory from a job that waits for it."""
        self._worker = Worker(
            forks,
            limits=replace(limits, memory_bytes=limits.fetch_memory_bytes),
            memory=memory,
            role=Role.PROBE,
            requests_per_process=PROBES_PER_PROCESS,
            max_answer_bytes=protocol.MAX_ANSWER_BYTES,
            idle_seconds=IDLE_SECONDS,
            max_turn_seconds=max_turn.total_seconds(),
        )
        self._known, self._retries = (asyncio.Semaphore(MAX_CONCURRENT_PROBES) for _ in range(2))
        self._first = asyncio.Semaphore(MAX_CONCURRENT_FIRST_PROBES)

    def place(self, *, is_known: bool, is_retry: bool) -> asyncio.Semaphore:
        """The places of probes of one kind: sources that have answered (`is_known`), others, and retries of others. Each probe
        runs in a place, so that those which wait for servers that never answer do not keep others waiting."""
        return self._known if is_known else self._retries if is_retry else self._first

    async def run(self, task: Task[Any, Result]) -> Result | None:
        """Run the probe and return its result; None: the job itself is to run. Raises the OlmError of the probe."""
        try:
            async with asyncio.timeout(PROBE_TIMEOUT.total_seconds()):
                line = await self._worker.ask(task.job.function, codec.to_json(task.request))
            answer: dict[str, Any] = orjson.loads(line)
            if "result" in answer and answer["result"] is None:
                return None
            outcome = outcome_of(task.job, answer)
        except TimeoutError:
            self._worker.retire()  # one probe may block the answers of all others; the next one gets another process
            return None
        except (OSError, ValueError):
            return None
        if isinstance(outcome, OlmError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """End the process and the fork server, and wait until they are gone."""
        await self._worker.close()
