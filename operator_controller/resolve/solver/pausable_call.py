"""A call that is paused between two steps and continued later: `PausableCall(function).run(is_over)`.

sat_solver.py says between which steps. Caller and call are one thread, and one of them runs at a time, so what they share needs
no lock. Never ends a call that goes on: that needs the limits of a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from greenlet import getcurrent, greenlet

T = TypeVar("T")


class _PausableGreenlet(greenlet):
    """The stack of a call."""

    is_over: Callable[[], bool] | None = None


def may_pause() -> None:
    """Pause the call that this is a step of if it has to. Does nothing outside of a PausableCall."""
    caller = _caller_to_continue()
    if caller is not None:
        caller.switch()


def _caller_to_continue() -> greenlet | None:
    """A function of its own, so that a paused stack does not refer to itself: it is released when nobody continues it."""
    current = getcurrent()
    is_paused = isinstance(current, _PausableGreenlet) and current.is_over is not None and current.is_over()
    return current.parent if is_paused else None


class PausableCall(Generic[T]):
    """One call of `function`."""

    def __init__(self, function: Callable[[], T]) -> None:
        result: list[T] = []
        self._result = result  # the stack does not refer to the call: it is released with it
        self._greenlet = _PausableGreenlet(lambda: result.append(function()))
        self.pauses = 0
        """The number of times that it has been paused."""

    def run(self, is_over: Callable[[], bool] | None) -> bool:
        """Begin or continue the call, until it ends or `is_over`; None: until it ends. Returns whether it has ended.

        Raises what the function raises.
        """
        self._greenlet.is_over = is_over
        self._greenlet.parent = getcurrent()
        self._greenlet.switch()
        has_ended = bool(self._result)
        self.pauses += not has_ended
        return has_ended

    @property
    def result(self) -> T:
        """The value that the function returned. Only after run() has returned True."""
        return self._result[0]
