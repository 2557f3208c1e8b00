"""Ends the process at a deadline, from a thread, so that it works even if the event loop is blocked."""

from __future__ import annotations

import logging
import os
import threading
import time
from types import TracebackType
from typing import Self

log = logging.getLogger(__name__)


class Watchdog:
    """A thread that calls os._exit(1) at the deadline. A context manager: leaving it ends the thread."""

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
        """Set the deadline, a value of time.monotonic(); replaces the one before."""
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
