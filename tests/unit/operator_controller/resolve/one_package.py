"""Resolution of one package as if nothing required anything, for tests of what the package alone decides."""

from __future__ import annotations

from operator_controller.resolve.resolution import Resolution
from operator_controller.resolve.resolver import permitted
from operator_controller.resolve.snapshot import Snapshot


def resolve(snapshot: Snapshot) -> Resolution:
    """The best permitted choice, or the outcome without one."""
    found = permitted(snapshot)
    outcome = found.choices[-1] if found.choices else found.otherwise
    return Resolution(outcome, snapshot, found.catalogs, found.successor)
