"""Tells of a broken rule whether it refuses an installation, before any custom resource has been read.

For a bundle that nobody has installed: what custom resources decide stays open. olmkit.crd_safety.verdict decides when they are
known. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmkit.api.crd_upgrade_rules import Refuses
from olmkit.crd_safety.forms import NOTICED_BY_CLIENTS, is_left_to_objects
from olmkit.crd_safety.problem import NOT_PERMITTED, Problem, ignored_rules, is_checked_by_use, is_enforced

if TYPE_CHECKING:
    from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety


def refuses(problem: Problem, settings: CrdUpgradeSafety | None) -> Refuses | None:
    """The case in which the problem prevents the installation by these settings; None if it never does."""
    if problem.rule in NOT_PERMITTED:
        return Refuses.ALWAYS  # the API server has these rules too, and knows no settings
    if not is_enforced(settings):
        return None
    if problem.rule in ignored_rules(settings):
        is_open = problem.rule not in NOTICED_BY_CLIENTS and is_left_to_objects(problem, settings)
        return Refuses.IF_USED if is_open else None
    if not is_checked_by_use(settings):
        return Refuses.ALWAYS
    return None if problem.rule in NOTICED_BY_CLIENTS else Refuses.IF_USED
