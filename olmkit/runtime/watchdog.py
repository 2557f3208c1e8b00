"""Ends the process at a moment that must not be outlived, from a thread, so that a blocked event loop is no excuse.

Used by olmkit.runtime.election (the lease can pass on to another process) and olmkit.runtime.manager (the end takes too long).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from types import TracebackType
from typing import Self

log = logging.getLogger(__name__)


class Watchdog:
    """A thread that calls os._exit(1) when the armed moment passes. A context manager: leaving it ends the thread."""

    def __init__(self, name: str, message: str) -> None:
        self._message = message
        self._deadline: float | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def arm(self, deadline: float) -> None:
        """The process must not outlive `deadline`, a moment of time.monotonic(), unless armed anew."""
        with self._changed:
            self._deadline = deadline
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    log.critical(self._message)
                    os._exit(1)
                self._changed.wait(left)
