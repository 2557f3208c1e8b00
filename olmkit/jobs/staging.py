"""The one directory that a job may write to, and how its content is published.

Made and finished by the controller, in threads, for tasks that have a Staging (job.py); used by the scheduler only. The
process of the job has no access to the place where its files end up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Staging(Generic[Result]):
    """`open()` makes a directory that exists as long as the context lasts. `finish(directory, result)` is called when the job
    has ended with a result, to publish the directory. Both block. `finish` trusts neither directory nor result: it raises
    ValueError, KeyError or TypeError for what cannot be true, OlmError and OSError otherwise. `fill(directory)` puts files into
    it before the job starts. No thread waits for it: requests to the API server need threads themselves.
    """

    open: Callable[[], AbstractContextManager[Path]]
    finish: Callable[[Path, Result], None]
    fill: Callable[[Path], Awaitable[None]] | None = None


@asynccontextmanager
async def open_directory(staging: Staging[Any]) -> AsyncIterator[Path]:
    """A directory for one job. Raises what `open` and `fill` do."""
    stack = ExitStack()
    try:
        directory = await run_in_thread(lambda: stack.enter_context(staging.open()))
        if staging.fill is not None:
            await staging.fill(directory)
        yield directory
    finally:
        await run_in_thread(stack.close)


async def run_in_thread(function: Callable[[], Value]) -> Value:
    """Run `function` in a thread and return its result. Waits for its end also on cancellation: a directory must not be removed
    while it is moved."""
    work = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
