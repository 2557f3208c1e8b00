"""Runs coroutines in the event loop for the thread of dulwich."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from dulwich.errors import HangupException

Value = TypeVar("Value")


class ThreadBridge:
    """Made in the event loop. `wait` is for the thread, `close` for the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: set[Future[Any]] = set()
        self._closed = False

    def wait(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run the coroutine in the loop and return its result. Raises what it raises, and HangupException after close()."""
        if self._closed:
            work.close()
            raise HangupException
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._waiting.add(future)
        try:
            return future.result()
        finally:
            self._waiting.discard(future)

    def close(self) -> None:
        """Cancel pending coroutines, so that the thread ends too."""
        self._closed = True
        for future in list(self._waiting):
            future.cancel()
