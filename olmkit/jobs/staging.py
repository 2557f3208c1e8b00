"""The one folder that a job may write to, and what becomes of what it left there.

Made and finished by the controller, in threads, for tasks that have a Staging (task.py); used by the scheduler only. The job's
process never has a right to the place where its files end up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Staging:
    """`open()` is a new folder as long as the context lasts. `finish(folder, result)` is called when the job has ended with a
    result, and gives the result that counts. Both block. `finish` believes nothing that folder and result say: it raises
    ValueError, KeyError or TypeError for what cannot be, OlmError and OSError otherwise.
    """

    open: Callable[[], AbstractContextManager[Path]]
    finish: Callable[[Path, dict[str, Any]], dict[str, Any]]


@asynccontextmanager
async def open_folder(staging: Staging) -> AsyncIterator[Path]:
    """A folder for one job. Raises what `open` does."""
    stack = ExitStack()
    try:
        yield await run_in_thread(lambda: stack.enter_context(staging.open()))
    finally:
        await run_in_thread(stack.close)


async def run_in_thread(function: Callable[[], Value]) -> Value:
    """What it returns. It has ended when this does, also when this is cancelled: a folder must not go while it is moved."""
    work = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
