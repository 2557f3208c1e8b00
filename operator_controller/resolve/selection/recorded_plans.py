"""Plans of moving sets that their members have recorded: which of them are finished before anything else is resolved.

operator/planned_bundle.py writes and reads the records. A plan binds while all members have recorded it and at least one has not
reached its bundle: the rest is installed as planned, also if the catalogs offer better bundles meanwhile. It ends when a member
is deleted, or when a bundle of it is not permitted any more: no catalog offers it, or the spec excludes it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from operator_controller.resolve.package.bundle_identity import is_same_image
from operator_controller.resolve.package.package_content import Bundle
from operator_controller.resolve.selection.package_domain import PackageDomain
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.snapshot.cluster_snapshot import (
    MovingSet,
    OperatorRequest,
    PlannedBundle,
    RecordedBundle,
)
from operator_controller.resolve.snapshot.package_snapshot import STATES_WITH_CONTENT, CatalogState
from operator_controller.resolve.solver.optimum import Solution


@dataclass(frozen=True)
class BindingPlan:
    """A recorded plan that is to be finished. `pending`: what the members that have not reached their bundles recorded."""

    moving_set: MovingSet
    pending: Mapping[str, PlannedBundle]


def binding_plans(operators: Iterable[OperatorRequest]) -> list[BindingPlan]:
    """The plans that all their members have recorded or reached, by identity."""
    by_package = {each.held_package: each for each in operators}
    recorded = {each.planned.plan: each.planned for each in by_package.values() if each.planned is not None}
    found: list[BindingPlan] = []
    for plan, record in sorted(recorded.items()):
        members = [(package, by_package.get(package), bundle) for package, bundle in record.members]
        waiting = {
            package: operator.planned
            for package, operator, bundle in members
            if operator is not None and _has_recorded(operator, plan, bundle) and operator.planned is not None
            if not _has_reached(operator, bundle)
        }
        is_complete = all(package in waiting or _has_reached(operator, bundle) for package, operator, bundle in members)
        if waiting and is_complete:
            found.append(BindingPlan(MovingSet(plan, record.members), waiting))
    return found


def _has_recorded(operator: OperatorRequest, plan: str, bundle: str) -> bool:
    is_present = operator.running is not None and not operator.is_deleting
    return (
        is_present and operator.planned is not None and (operator.planned.plan, operator.planned.name) == (plan, bundle)
    )


def _has_reached(operator: OperatorRequest | None, bundle: str) -> bool:
    if operator is None or operator.is_deleting or operator.running is None or operator.running.name != bundle:
        return False
    return operator.planned is None or is_image_of(operator.planned, operator.running)


def is_image_of(planned: PlannedBundle, bundle: RecordedBundle | Bundle) -> bool:
    """Report whether both have the same image, on any registry."""
    return planned.image == bundle.image or is_same_image(planned.image, bundle.image)


def pinned(domain: PackageDomain, planned: PlannedBundle | None) -> PackageDomain:
    """The domain with the planned bundle as the only choice; unchanged if there is no plan, or if that is no choice."""
    if planned is None:
        return domain
    kept = tuple(each for each in domain.versions if each.choice is None or _is_planned(each.bundles[0], planned))
    return replace(domain, versions=kept) if len(kept) > domain.first else domain


def _is_planned(bundle: Bundle, planned: PlannedBundle) -> bool:
    return bundle.name == planned.name and is_image_of(planned, bundle)


def is_followed(plan: BindingPlan, universe: ComponentUniverse, solution: Solution) -> bool:
    """Report whether the solution has the planned bundles. What is not proved, or not known because a catalog is away, ends no
    plan."""
    return not solution.is_proved or all(
        _is_away(universe.domain(package))
        or _is_planned(universe.version(package, solution.selected[package]).bundles[0], planned)
        for package, planned in plan.pending.items()
    )


def _is_away(domain: PackageDomain) -> bool:
    """Report whether the package has no choices because the content of its catalog is not known."""
    running = domain.snapshot.running
    states = [each.state for each in domain.snapshot.offers if running is not None and each.catalog == running.catalog]
    is_unknown = any(each not in (*STATES_WITH_CONTENT, CatalogState.NOT_SELECTED) for each in states)
    return is_unknown and len(domain.versions) <= domain.first
