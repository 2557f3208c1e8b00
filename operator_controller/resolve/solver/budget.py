"""The limits of solving, counted in steps and not in seconds, so that the same problem ends in the same way on every machine."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CONFLICTS = 200_000
"""Conflicts among few packages take microseconds each; those among many reach MAX_PROPAGATIONS first."""
MAX_PROPAGATIONS = 10_000_000
"""About three seconds of the solver. 1,000 packages with 50 versions each need less than a tenth of them."""
MAX_CALLS = 3_000
"""Calls cost time without conflicts too: each reads a model of all packages that matter."""
MAX_ROUNDS = 2_000
MAX_CLAUSES = 300_000
MAX_EXPLANATION_CONFLICTS = 20_000
"""Conflicts of the solver for one explanation."""
MAX_EXPLANATIONS_CONFLICTS = 100_000
"""Conflicts of the solver for all explanations of one solution."""
MAX_EXPLANATIONS_PROPAGATIONS = 20_000_000
"""Propagations of the solver for all explanations of one solution."""
MAX_EXPLANATIONS_CALLS = 20_000
"""Calls of the solver for all explanations of one solution."""
FIRST_ATTEMPT_PROPAGATIONS = 300_000
"""Propagations of the solver for each level of the first attempt at a component while others wait: a tenth of a second."""
FIRST_ATTEMPT_CONFLICTS = 20_000
MAX_SUGGESTION_PROPAGATIONS = 3_000_000
"""Propagations of the solver for each level of a solve whose result is only a suggestion in a message."""


class BudgetExhausted(Exception):
    """A limit was reached before the result was proved. Raised and caught within operator_controller.resolve."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of what one level of the optimum, or one explanation, may use.

    Conflicts and propagations are those of the solver, calls those to it; a round is a call whose model brought clauses of
    versions that were not encoded yet.
    """

    conflicts: int = MAX_CONFLICTS
    propagations: int = MAX_PROPAGATIONS
    calls: int = MAX_CALLS
    rounds: int = MAX_ROUNDS
    clauses: int = MAX_CLAUSES

    def less(self, used: Statistics) -> Budget:
        """The budget that remains after this use; no limit is less than 0."""
        return Budget(
            conflicts=max(0, self.conflicts - used.conflicts),
            propagations=max(0, self.propagations - used.propagations),
            calls=max(0, self.calls - used.calls),
            rounds=max(0, self.rounds - used.rounds),
            clauses=max(0, self.clauses - used.clauses),
        )

    def at_most(self, other: Budget) -> Budget:
        """The lower of both limits, each."""
        return Budget(
            conflicts=min(self.conflicts, other.conflicts),
            propagations=min(self.propagations, other.propagations),
            calls=min(self.calls, other.calls),
            rounds=min(self.rounds, other.rounds),
            clauses=min(self.clauses, other.clauses),
        )


EXPLANATION_BUDGET = Budget(conflicts=MAX_EXPLANATION_CONFLICTS)
"""The limits of one explanation."""
EXPLANATIONS_BUDGET = Budget(
    conflicts=MAX_EXPLANATIONS_CONFLICTS,
    propagations=MAX_EXPLANATIONS_PROPAGATIONS,
    calls=MAX_EXPLANATIONS_CALLS,
    rounds=MAX_EXPLANATIONS_CALLS,
)
"""The limits of all explanations of one solution together."""
FIRST_ATTEMPT_BUDGET = Budget(conflicts=FIRST_ATTEMPT_CONFLICTS, propagations=FIRST_ATTEMPT_PROPAGATIONS)
"""The limits of each level of the first attempt. What it proves is what the whole budget proves."""
SUGGESTION_BUDGET = Budget(conflicts=MAX_EXPLANATION_CONFLICTS, propagations=MAX_SUGGESTION_PROPAGATIONS)
"""The limits of each level of a solve whose result is only a suggestion in a message."""


@dataclass(slots=True)
class Statistics:
    """The amounts that were used. Of one solve it is the sum over all levels."""

    conflicts: int = 0
    propagations: int = 0
    calls: int = 0
    rounds: int = 0
    clauses: int = 0
    variables: int = 0
