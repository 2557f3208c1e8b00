"""Decides whether an Operator may have its package: other Operators may claim the package, or this Operator may have another
package installed.

Pure.
"""

from __future__ import annotations

from olmkit.api.operators import Reason
from olmkit.errors import Blocked, OlmError, Waiting
from operator_controller.operator.delays import RESYNC_DELAY
from operator_controller.operator.world import World


def other_operator_has_package(world: World) -> OlmError | None:
    """The error for all Operators of a package except the senior Operator, because only that one is reconciled."""
    mine = next((claim for claim in world.claims if claim.name == world.operator.metadata.name), None)
    senior = min(world.claims, key=lambda claim: claim.seniority, default=None)
    if senior is None or mine is None or senior == mine:
        return None
    package = f'package "{world.operator.spec.package_name}"'
    if senior.is_idle:
        message = f"{package} is also requested by {senior.title}"
        precedence = "was created first" if senior.created < mine.created else "is first by name"
        rest = f", which {precedence} and is not installed; delete one of them"
    else:
        message = f"{package} is already managed by {senior.title}"
        rest = f"; delete {'the one that has installed nothing' if mine.is_idle else 'one of them'}"
    if senior.is_dependency:
        verb = "created" if senior.is_idle else "installed"
        a_kind = f"{'a' if world.is_of_extension else 'an'} {world.terms.kind}"
        request = f'to request it, apply {a_kind} of the name "{senior.name}", and delete this one'
        rest = f", which was {verb} as a dependency: {request}"
    if senior.is_deleting:
        return Waiting(Reason.RETRYING, f"{message}, which is being deleted", RESYNC_DELAY, [senior.name])
    return Blocked(Reason.RESOLUTION_FAILED, message + rest, [senior.name])


def package_changed(world: World) -> OlmError | None:
    """The error for a changed package: replacing an installed package by another one would delete all its objects, including its
    CRDs."""
    running, requested = world.running, world.operator.spec.package_name
    if running is None or running.package in ("", requested):
        return None
    return Blocked(
        Reason.RESOLUTION_FAILED,
        f'package "{running.package}" is installed by this Operator and "{requested}" is requested: set spec.packageName back to '
        f'"{running.package}", or delete this Operator and create another one for "{requested}"',
        [running.package, requested],
    )
