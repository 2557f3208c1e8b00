"""The check of the definitions of the bundle that waits, in status.available.

While the check of this process is not finished, what the status has about the same bundle stays, so that a restart writes
nothing. Pure.
"""

from __future__ import annotations

from olmkit.api.operator_status import AvailableBundle, CrdCheck
from olmkit.api.operators import Operator
from operator_controller.crd_checks.findings import WaitingBundle, crd_check
from operator_controller.operator.world import World


def waiting_bundle(operator: Operator, available: AvailableBundle | None) -> WaitingBundle | None:
    """The bundle to check; None if none waits."""
    if available is None:
        return None
    return WaitingBundle(available.catalog, operator.spec.package_name, available.bundle, available.image)


def with_crd_check(world: World, available: AvailableBundle) -> AvailableBundle:
    """The bundle that waits, with its check."""
    return available.model_copy(update={"crd_check": _crd_check(world, available)})


def _crd_check(world: World, available: AvailableBundle) -> CrdCheck | None:
    operator, state = world.operator, world.crd_check
    bundle = waiting_bundle(operator, available)
    if state is None or state.bundle != bundle or (state.broken is None and not state.has_failed):
        before = operator.status.available
        is_current = operator.status.observed_generation == operator.metadata.generation
        return before.crd_check if before and is_current and waiting_bundle(operator, before) == bundle else None
    install = operator.spec.install
    return (
        crd_check(state.broken, install.crd_upgrade_safety if install else None) if state.broken is not None else None
    )
