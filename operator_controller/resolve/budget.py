"""The limits of solving, counted in steps and not in seconds, so that the same problem ends in the same way on every machine.

Used by lazy_encoding.py, optimum.py and conflict.py.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_CONFLICTS = 20_000
MAX_PROPAGATIONS = 30_000_000
"""About ten seconds of the solver."""
MAX_CALLS = 3_000
"""Calls cost time without conflicts too: each reads a model of all packages that matter."""
MAX_ROUNDS = 2_000
MAX_CLAUSES = 300_000


class BudgetExhausted(Exception):
    """A limit was reached before the result was proved. Raised and caught within operator_controller.resolve."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one level of the optimum, or one explanation, may use at most.

    Conflicts and propagations are those of the solver, calls those to it; a round is a call whose model brought clauses of
    versions that were not encoded yet.
    """

    conflicts: int = MAX_CONFLICTS
    propagations: int = MAX_PROPAGATIONS
    calls: int = MAX_CALLS
    rounds: int = MAX_ROUNDS
    clauses: int = MAX_CLAUSES


@dataclass(slots=True)
class Statistics:
    """What was used. Of one solve it is the sum over all levels."""

    conflicts: int = 0
    propagations: int = 0
    calls: int = 0
    rounds: int = 0
    clauses: int = 0
    variables: int = 0
