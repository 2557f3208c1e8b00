"""Work that is completed even if its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Value = TypeVar("Value")


async def run_to_completion(work: Coroutine[Any, Any, Value]) -> Value:
    """Await `work`. If the caller is cancelled, the cancellation is raised once `work` has ended.

    A thread that writes cannot be stopped, and must not run at the same time as whatever the caller does next.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved
        raise
