"""Work that is not given up half way when who asked for it is cancelled.

Used by catalogd.storage.catalog_store and catalogd.replication.copier.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Value = TypeVar("Value")


async def run_to_completion(work: Coroutine[Any, Any, Value]) -> Value:
    """Its outcome. A cancellation is passed on when it has ended: a thread that writes cannot be stopped, and what comes next
    must not meet it at work."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # it has been looked at
        raise
