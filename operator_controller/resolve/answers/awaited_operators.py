"""Finds the Operators that a refused one waits for, because their upgrade or deletion is under way and may lift the refusal.

Without any, and if no catalog is waited for, the refusal is final. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from operator_controller.resolve.formatting import plain_value
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

MAX_OPERATORS_SHOWN = 3


def awaited_operators(
    universe: ComponentUniverse,
    selected: Mapping[str, int],
    packages: Iterable[str],
    is_required: Callable[[str], bool],
) -> tuple[str, ...]:
    """A sentence for each of the packages of a conflict whose Operator is upgraded in several steps or deleted."""
    sentences = (_under_way(universe, selected, package, is_required) for package in packages)
    return tuple(filter(None, sentences))[:MAX_OPERATORS_SHOWN]


def awaited_deletions(
    universe: ComponentUniverse, packages: Iterable[str], is_required: Callable[[str], bool]
) -> tuple[str, ...]:
    """Those of the packages of a conflict that run as dependencies and that nothing requires."""
    return tuple(
        package
        for package in packages
        if (operator := universe.domain(package).operator) is not None
        and operator.running is not None
        and _is_unneeded(operator, package, is_required)
    )


def _is_unneeded(operator: OperatorRequest, package: str, is_required: Callable[[str], bool]) -> bool:
    return operator.is_dependency and not is_required(package)


def _under_way(
    universe: ComponentUniverse, selected: Mapping[str, int], package: str, is_required: Callable[[str], bool]
) -> str:
    operator, name = universe.domain(package).operator, plain_value(package)
    if operator is None or operator.running is None:
        return ""
    if operator.is_deleting:
        return f"{name} is being deleted"
    if _is_unneeded(operator, package, is_required):
        return f"nothing requires {name}: it is deleted unless its custom resources are in use"
    version = universe.version(package, selected[package]) if package in selected else None
    if version is None or version.choice is None or version.is_running:
        return ""
    target = version.choice.target
    return "" if target == version.choice.candidate else f"{name} is being upgraded to {target.version} step by step"
