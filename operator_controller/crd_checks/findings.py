"""The rules that the CustomResourceDefinitions of a bundle break, as values, and as the status of an Operator has them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olmkit.api.crd_upgrade_rules import CrdCheckResult, Refuses
from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety
from olmkit.api.operator_status import MAX_FINDING_LENGTH, MAX_FINDINGS, CrdCheck, CrdFinding
from olmkit.crd_safety.compare import Definition, compare
from olmkit.crd_safety.forecast import refuses
from olmkit.crd_safety.problem import Problem
from olmkit.gocompat.text import list_names, one_line, truncate

MAX_BROKEN = 500
"""Broken rules of one bundle that are kept."""
MAX_VERSIONS = 20
"""Versions of a definition that are compared: the effort grows with their square. Those of real bundles have at most six."""
MAX_CHANGES_SHOWN = 3


@dataclass(frozen=True, order=True)
class WaitingBundle:
    """A bundle of status.available, and where its summary is found."""

    catalog: str
    package: str
    name: str
    image: str


@dataclass(frozen=True)
class BrokenRule:
    """A rule that a definition breaks. `first` is the first of its problems, `changes` names some of them."""

    crd: str
    first: Problem
    changes: str


@dataclass(frozen=True)
class CrdCheckState:
    """The knowledge about a bundle that waits. `broken` is None while it is not known; `has_failed`: it cannot be known now."""

    bundle: WaitingBundle
    broken: tuple[BrokenRule, ...] | None = None
    has_failed: bool = False


class TooManyVersions(ValueError):
    """A definition that is not compared."""


def broken_rules(name: str, live: Definition, new: Definition) -> Iterator[BrokenRule]:
    """The rules that `new` breaks, sorted. `live` is as the API server returns it. Raises TooManyVersions."""
    for definition in (live, new):
        if len(definition["spec"].get("versions") or ()) > MAX_VERSIONS:
            raise TooManyVersions(f"{name} has more than {MAX_VERSIONS} versions")
    by_rule: dict[str, list[Problem]] = {}
    for problem in compare(live, new):
        by_rule.setdefault(problem.rule.value, []).append(problem)
    for _, problems in sorted(by_rule.items()):
        yield BrokenRule(name, problems[0], list_names(map(_change, problems), "; ", MAX_CHANGES_SHOWN))


def _change(problem: Problem) -> str:
    return ": ".join(filter(None, (problem.version, problem.path, problem.change)))


def crd_check(broken: Sequence[BrokenRule], settings: CrdUpgradeSafety | None) -> CrdCheck:
    """The check of a bundle by the settings of its Operator. What surely refuses it comes first."""
    found = [(case, each) for each in broken if (case := refuses(each.first, settings)) is not None]
    found.sort(key=lambda entry: (entry[0] is not Refuses.ALWAYS, entry[1].crd, entry[1].first.rule.value))
    cases = {case for case, _ in found}
    result = (
        CrdCheckResult.REFUSED
        if Refuses.ALWAYS in cases
        else CrdCheckResult.IF_USED
        if cases
        else CrdCheckResult.NOT_REFUSED
    )
    shown = [_finding(case, each) for case, each in found[:MAX_FINDINGS]]
    return CrdCheck(result=result.value, findings=shown or None, more=len(found) - len(shown) or None)


def _finding(case: Refuses, each: BrokenRule) -> CrdFinding:
    message = truncate(one_line(each.changes), MAX_FINDING_LENGTH)
    return CrdFinding(crd=each.crd, rule=each.first.rule.value, refuses=case.value, message=message)
