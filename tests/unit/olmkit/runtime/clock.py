"""An event loop whose clock jumps to the next timer instead of waiting for it, so that tests of delays take no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: adds the timeout to its clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("every task waits and there is no timer")
        self.now += timeout
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """time() starts at 0 and advances only when no task can run."""

    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on a new JumpingLoop."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(main)
