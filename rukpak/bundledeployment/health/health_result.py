"""The result of a health rule, and what the rules read it from. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

Obj = Mapping[str, Any]
PROGRESS_DEADLINE = timedelta(minutes=10)
"""The deadline for kinds without one of their own: the default of Kubernetes for a Deployment."""


class Health(NamedTuple):
    """`status`: "True" healthy, "False" failed, "Unknown" in progress; `message`: why it is not healthy.

    `deadline`: how long it may be in progress; None if its own status reports when its deadline is exceeded.
    `is_serving`: it is in progress because it is scaled or lost some of its pods, and others of the same revision serve.
    `is_late`: it has failed because it exceeded a deadline of its own.
    """

    status: str
    message: str = ""
    deadline: timedelta | None = None
    is_serving: bool = False
    is_late: bool = False


HEALTHY = Health("True")


def failed(message: str, *, is_late: bool = False) -> Health:
    """It does not become healthy without a change."""
    return Health("False", message, is_late=is_late)


def progress(message: str, deadline: timedelta | None = PROGRESS_DEADLINE) -> Health:
    """It may become healthy until the deadline."""
    return Health("Unknown", message, deadline)


def find_condition(status: Obj, name: str) -> Obj:
    """The condition of that type; empty if there is none."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == name:
            found: Obj = condition
            return found
    return {}


def because(condition: Obj) -> str:
    """`: reason: message` of a condition, without what it lacks."""
    return "".join(f": {condition[field]}" for field in ("reason", "message") if condition.get(field))
