"""Checks whether a controller runs, and whether the status of Operators is kept up to date: sentences for those who wait for it.

Reads the Lease of the controller, which its leader renews. What the caller may not read is not known, and nothing is said
about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from olmctl.questions.operator_state import is_observed, part, text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api.meta import Object
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.lease_holder import LEASE
from operator_controller.resolve.formatting import first_names

CONTROLLER, RUKPAK = "operator-controller", "rukpak"
"""The controllers of Operators and of BundleDeployments, which are also the names of their Leases."""
MAX_CLOCK_DIFFERENCE = timedelta(minutes=2)
"""The difference of the clocks of this machine and of the controller, before a Lease that is renewed counts as left."""
_REPORTED = {CONTROLLER: "Operators", RUKPAK: "BundleDeployments"}
_HINT = "(olm suite status)"


async def out_of_date(session: Session, objects: Sequence[Object], controller: str = CONTROLLER) -> tuple[str, ...]:
    """A sentence if no controller runs that reports on these Operators, or BundleDeployments, and one about those on which none
    has reported."""
    if not objects:
        return ()
    found = []
    if problem := await not_running(session, controller):
        found.append(f"{problem}: what {_REPORTED[controller]} report may be out of date {_HINT}")
    names = sorted(text_at(each, "metadata", "name") for each in objects if not is_observed(each))
    if names:
        found.append(f"no controller has reported on {first_names(names)} yet {_HINT}")
    return tuple(found)


async def not_running(session: Session, controller: str = CONTROLLER) -> str:
    """Say that no process leads the controller; "" if one does, or if the caller may not know."""
    try:
        problem = lease_problem(await _lease(session, controller), datetime.now(UTC))
    except ApiError:
        return ""
    return f"{controller} does not run, {problem} in {await session.namespace_text()}" if problem else ""


async def _lease(session: Session, controller: str) -> Object | None:
    try:
        return await session.client.get(LEASE, controller, await session.system_namespace())
    except NotFound:
        return None


def lease_problem(lease: Object | None, now: datetime) -> str:
    """Explain why no process leads the controller, by its Lease; "" if one does."""
    if lease is None:
        return "it has no Lease"
    if not text_at(lease, "spec", "holderIdentity"):
        return "nobody holds its Lease"
    renewed, seconds = text_at(lease, "spec", "renewTime"), part(lease, "spec", "leaseDurationSeconds")
    try:
        age = now - datetime.fromisoformat(renewed)
    except (ValueError, TypeError):  # a Lease that another program has written
        return ""
    limit = timedelta(seconds=seconds if isinstance(seconds, int) else 0) + MAX_CLOCK_DIFFERENCE
    return f"its Lease was renewed last at {clean(renewed)}" if age > limit else ""
