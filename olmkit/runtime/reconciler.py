"""One pass over one object: observe, decide, act, report, publish. The order is defined here and nowhere else.

A controller supplies the five functions; olmkit.runtime.controller calls the result once for each key it takes from the queue.
Never retries and never logs: what it raises or returns determines what the queue does next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from olmkit.errors import Blocked, NotFound, OlmError, Waiting


class HasAfter(Protocol):
    """The result of a pass: `after` is the time to the next one (None: when something that is watched changes)."""

    @property
    def after(self) -> timedelta | None: ...


World = TypeVar("World")
Plan = TypeVar("Plan")
PlanOut = TypeVar("PlanOut", covariant=True)
Evaluation = TypeVar("Evaluation")
EvaluationOut = TypeVar("EvaluationOut", covariant=True)
Done = TypeVar("Done", bound=HasAfter)
Status = TypeVar("Status")


@dataclass(frozen=True)
class Decision(Generic[PlanOut, EvaluationOut]):
    """The result of `decide`: the next step, and the evaluation of the World that led to it."""

    plan: PlanOut | OlmError
    """An error (Blocked, Waiting) means that no step can be taken, and why: it is the outcome of the pass."""
    evaluation: EvaluationOut
    """Passed to `report`, so that nothing is evaluated twice."""


@dataclass(frozen=True)
class Reconciler(Generic[World, Plan, Evaluation, Done, Status]):
    """Five functions that bring one object one step closer to its desired state."""

    observe: Callable[[str], Awaitable[World | None]]
    """Reads everything the decision may depend on, and changes nothing. None: there is nothing left to do for this key. A remote
    fact that could not be read is a value in the World, never an exception."""
    decide: Callable[[World], Decision[Plan, Evaluation]]
    """Pure."""
    act: Callable[[World, Plan], Awaitable[Done]]
    """Carries out the Plan. May raise anything of olmkit.errors."""
    report: Callable[[World, Evaluation | None, Done | Exception], Status]
    """Pure: the status that is true after the pass. The evaluation is None only if `decide` failed unexpectedly."""
    publish: Callable[[World, Status], Awaitable[None]]
    """Writes the status, only if it differs from the one in the World. Raises NotFound when the object is gone."""

    async def __call__(self, key: str) -> timedelta | None:
        """Make one pass. Returns the time to the next one; None waits for an event; raises to back off.

        An object that was deleted during the pass ends it without an error: its deletion enqueues the key again.
        """
        world = await self.observe(key)
        if world is None:
            return None
        evaluation: Evaluation | None = None
        outcome: Done | Exception
        try:
            decision = self.decide(world)
            evaluation = decision.evaluation
            outcome = decision.plan if isinstance(decision.plan, OlmError) else await self.act(world, decision.plan)
        except Exception as error:  # every outcome is reported before it reaches the queue
            outcome = error
        try:
            await self.publish(world, self.report(world, evaluation, outcome))
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
