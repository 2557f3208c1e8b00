"""One pass over one object: observe, decide, act, report, publish. The order is written here and nowhere else.

A controller supplies the five functions; olmkit.controller calls the result once per turn of a key. Never retries and never
logs: what it raises or returns tells the queue what to do next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from olmkit.errors import Blocked, NotFound, Waiting


class HasAfter(Protocol):
    """What was done, and when to look again (None: when something that is watched changes)."""

    @property
    def after(self) -> timedelta | None: ...


World = TypeVar("World")
Plan = TypeVar("Plan")
Done = TypeVar("Done", bound=HasAfter)
Status = TypeVar("Status")


@dataclass(frozen=True)
class Reconciler(Generic[World, Plan, Done, Status]):
    """Five functions that bring one object a step nearer to what was asked."""

    observe: Callable[[str], Awaitable[World | None]]
    """Reads everything the decision may look at; None: there is nothing left to do for this key. A remote fact that could not
    be had is a value in the World, never an exception."""
    decide: Callable[[World], Plan]
    """Pure. May raise Blocked or Waiting."""
    act: Callable[[World, Plan], Awaitable[Done]]
    """Writes. May raise anything of olmkit.errors."""
    report: Callable[[World, Done | Exception], Status]
    """Pure: the status that is true now."""
    publish: Callable[[World, Status], Awaitable[None]]
    """Writes the status, only if it differs from the one in the World. Raises NotFound when the object is gone."""

    async def __call__(self, key: str) -> timedelta | None:
        """Make one pass. Returns when to look again; None waits for an event; raises to back off.

        An object that was deleted during the pass ends it, whatever came of it: its deletion gives the key another turn.
        """
        world = await self.observe(key)
        if world is None:
            return None
        outcome: Done | Exception
        try:
            outcome = await self.act(world, self.decide(world))
        except Exception as error:  # every outcome is reported before the queue hears of it
            outcome = error
        try:
            await self.publish(world, self.report(world, outcome))
        except NotFound:
            return None
        match outcome:
            case Blocked():
                return None
            case Waiting():
                return outcome.after
            case Exception():
                raise outcome
            case _:
                return outcome.after
