"""Compares spec.packages with the served content, and makes the condition PackagesSelected of one Catalog.

A name that the catalog lacks is reported and stops nothing: newer content may have it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catalogd.catalog.valid_condition import count
from catalogd.catalog.world import ServedContent, World
from olmkit.api.catalogs import ConditionType, Reason
from olmkit.api.conditions import DesiredCondition
from olmkit.gocompat.text import printable

MAX_NAMES_IN_CONDITION, MAX_NAMES_IN_NOTE = 100, 5
"""The number of missing names that the message of PackagesSelected lists, and the number that the message of Ready lists."""
NO_OTHERS: Mapping[str, str] = {}


def selected_names(served: ServedContent) -> Sequence[str] | None:
    """The packages of the content that are offered, in the order of the content; None without a list, when all are offered."""
    if served.record.packages is None:
        return None
    names = frozenset(served.record.packages)
    return tuple(each for each in served.summary.package_names if each in names)


def _lacking_names(served: ServedContent) -> Sequence[str]:
    """The names in spec.packages that the content does not have, sorted."""
    names = frozenset(served.summary.package_names)
    return tuple(each for each in served.record.packages or () if each not in names)


def packages_selected_condition(world: World, nothing_served: str) -> Sequence[DesiredCondition]:
    """The condition PackagesSelected; none without a list. `nothing_served` is its message while nothing is served."""
    served = world.served
    if served is None:
        if world.catalog is None or world.catalog.selected_packages is None:
            return ()
        return (DesiredCondition(ConditionType.PACKAGES_SELECTED, "Unknown", Reason.NOT_READ_YET, nothing_served),)
    if served.record.packages is None:
        return ()
    lacking, listed = _lacking_names(served), count(len(served.record.packages), "package")
    if not lacking:
        text = f"spec.packages names {listed}, and the catalog has all of them"
        return (DesiredCondition(ConditionType.PACKAGES_SELECTED, "True", Reason.PACKAGES_FOUND, text),)
    names = _joined(lacking, MAX_NAMES_IN_CONDITION, _names_in_other_case(served))
    text = (
        f"spec.packages names {listed}, of which the catalog lacks {len(lacking)}: {names}; they are offered as soon as its"
        " content has them"
    )
    return (DesiredCondition(ConditionType.PACKAGES_SELECTED, "False", Reason.PACKAGES_NOT_FOUND, text),)


def selection_note(served: ServedContent) -> str:
    """The part of the message of Ready that describes the list; "" without one."""
    selected = selected_names(served)
    if selected is None:
        return ""
    lacking = _lacking_names(served)
    note = f"; spec.packages selects {count(len(selected), 'package')}"
    if not lacking:
        return note
    return f"{note} and names {len(lacking)} that the catalog lacks: {_joined(lacking, MAX_NAMES_IN_NOTE)}"


def _names_in_other_case(served: ServedContent) -> Mapping[str, str]:
    """The packages of the content by their names in lower case."""
    return {each.lower(): each for each in served.summary.package_names}


def _joined(names: Sequence[str], limit: int, others: Mapping[str, str] = NO_OTHERS) -> str:
    """The names as one text. `others` has existing names by their lower case: an existing name follows the name that differs from
    it only in its case."""
    shown = [
        printable(each) + (f" (it has {printable(others[each.lower()])})" if each.lower() in others else "")
        for each in names[:limit]
    ]
    more = len(names) - limit
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
