"""Orders the steps of the packages of a component into its end state, and finds those that move as one set.

A step is an installation or an upgrade. It comes after the steps of what its bundle requires, and those of packages whose running
bundles it would break, because they require what it replaces. Packages for which that is a circle are a moving set: within it a
step may break what runs of another member, and dependencies come first. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from operator_controller.resolve.requirements.constraints import Constraint
from operator_controller.resolve.selection.package_graph import strongly_connected
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.snapshot.cluster_snapshot import MovingSet

Steps = dict[str, set[str]]
"""From a package to those that take their steps before it."""


@dataclass(frozen=True)
class MoveOrder:
    """The order, by package; what has no entry changes nothing, or is not restricted."""

    after: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sets: Mapping[str, MovingSet] = field(default_factory=dict)


def find_order(
    universe: ComponentUniverse, selected: Mapping[str, int], edges: Mapping[str, Iterable[tuple[Constraint, str]]]
) -> MoveOrder:
    """The order of the steps to the selected versions; `edges` are the requirements of each, and what satisfies them."""
    changed = {package for package, index in selected.items() if not universe.version(package, index).is_running}
    if len(changed) < 2:
        return MoveOrder()
    needed, preferred = _required(universe, changed, edges)
    broken = _broken(universe, changed, selected)
    loose = strongly_connected(_union(changed, needed, preferred, broken))
    preferred = {one: {other for other in others if loose[one] != loose[other]} for one, others in preferred.items()}
    graph = _union(changed, needed, preferred, broken)
    component = strongly_connected(graph)
    cycle = strongly_connected(needed)
    sets = _moving_sets(universe, selected, component, broken)
    after = {
        one: tuple(
            sorted(other for other in others if cycle[one] != cycle[other] and _counts(one, other, component, needed))
        )
        for one, others in graph.items()
    }
    return MoveOrder({one: others for one, others in after.items() if others}, sets)


def _counts(one: str, other: str, component: Mapping[str, int], needed: Steps) -> bool:
    """Within a circle only what is required comes first."""
    return component[one] != component[other] or other in needed[one]


def _required(
    universe: ComponentUniverse, changed: set[str], edges: Mapping[str, Iterable[tuple[Constraint, str]]]
) -> tuple[Steps, Steps]:
    """Collect what each bundle requires of packages that change: first if what runs of them does not satisfy it, then if it
    does."""
    needed: Steps = {package: set() for package in changed}
    preferred: Steps = {package: set() for package in changed}
    for package in changed:
        for constraint, other in edges.get(package, ()):
            if other in changed and other != package:
                (preferred if _is_satisfied_now(universe, constraint, other) else needed)[package].add(other)
        preferred[package] -= needed[package]
    return needed, preferred


def _is_satisfied_now(universe: ComponentUniverse, constraint: Constraint, package: str) -> bool:
    if package not in universe.running:
        return False
    return universe.holds_for(constraint, package, 0)


def _broken(universe: ComponentUniverse, changed: set[str], selected: Mapping[str, int]) -> Steps:
    """By package that runs and changes: the packages, which change too, whose running bundles its step would break."""
    found: Steps = {package: set() for package in changed}
    running = [package for package in universe.running if package in changed]
    for package in running:
        for constraint in universe.required(package, 0):
            holders = universe.holders(package, constraint)
            lost = [
                each for each in holders if each in changed and not _satisfies(universe, constraint, each, selected)
            ]
            if len(lost) == len(holders):
                for each in lost:
                    found[each].add(package)
    return found


def _satisfies(universe: ComponentUniverse, constraint: Constraint, package: str, selected: Mapping[str, int]) -> bool:
    return universe.holds_for(constraint, package, selected[package])


def _moving_sets(
    universe: ComponentUniverse, selected: Mapping[str, int], component: Mapping[str, int], broken: Steps
) -> dict[str, MovingSet]:
    """The sets, by package: of each circle with a step that breaks another member, the packages that run."""
    breaking = {
        component[one] for one, others in broken.items() for other in others if component[one] == component[other]
    }
    found: dict[str, MovingSet] = {}
    for number in breaking:
        packages = sorted(each for each in universe.running if component.get(each) == number)
        bundles = [universe.version(each, selected[each]).bundles[0] for each in packages]
        members = tuple((package, bundle.name) for package, bundle in zip(packages, bundles, strict=True))
        identity = json.dumps([[*member, bundle.image] for member, bundle in zip(members, bundles, strict=True)])
        moving = MovingSet(hashlib.sha256(identity.encode()).hexdigest()[:16], members)
        found |= dict.fromkeys(packages, moving)
    return found


def _union(packages: Iterable[str], *graphs: Steps) -> Steps:
    return {package: set[str]().union(*(graph[package] for graph in graphs)) for package in packages}
