"""What the jobs of a test result in, and what they leave in the directory of a store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TypeVar

from olmkit.jobs.scheduler import Jobs
from olmkit.jobs.state import Failed, Finished
from olmkit.store.store import STAGING_DIRECTORY

Result = TypeVar("Result")


async def next_result(jobs: Jobs[Result], ends: asyncio.Queue[str]) -> Result:
    """The result of the job that ends next. Raises its error."""
    async with asyncio.timeout(60):
        state = jobs.state(await ends.get())
    if isinstance(state, Failed):
        raise state.error
    assert isinstance(state, Finished)
    return state.result


def staged(store: Path) -> list[Path]:
    """What jobs left in the directory of a store in which they work."""
    return [*(store / STAGING_DIRECTORY).iterdir()]
