"""An event loop whose clock jumps to the next timer instead of waiting for it: minutes of a queue pass in no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _NeverWaits(selectors.SelectSelector):
    """Looks at the sockets and says how long it should have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits and no timer runs")
        self.now += timeout
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """Its time() starts at 0 and moves only when nothing else is to be done."""

    def __init__(self) -> None:
        self._clock = _NeverWaits()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on a loop of its own."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(main)
