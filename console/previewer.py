"""Makes previews of installations in a process of their own, which starts with the first one and ends when it is idle.

A catalog can make a resolution take long. In this process it would take the CPU of all pages; in the other one it is ended.
"""

from __future__ import annotations

import asyncio
from typing import Final

from console.preview_request import LIMITS, PREVIEW, PreviewRequest, PreviewResult
from olmkit.errors import OlmError
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.job import JobReason, Task
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.worker import Worker

IDLE_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 6.0
"""The longest time for which a page waits: for the process to start, for the previews of others, and for its own."""


class Previewer:
    """One process at a time, for all users. All calls from one event loop."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    async def preview(self, request: PreviewRequest) -> PreviewResult:
        """The bundles that would be installed; a result with a problem if that is not found out in time."""
        if self._worker is None:
            forks = ForkServerClient([PREVIEW.module], Sandbox(network=False))
            self._worker = Worker(forks, limits=LIMITS, idle_seconds=IDLE_SECONDS)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await self._worker.run(Task(PREVIEW, request))
        except TimeoutError:
            return PreviewResult(problem="other previews take their time", is_late=True)
        except OlmError as error:
            return PreviewResult(problem=error.message, is_late=error.reason == JobReason.TOO_LONG)

    async def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            await self._worker.close()
