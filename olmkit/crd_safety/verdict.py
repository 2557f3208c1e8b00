"""Decides whether the rules that a new CustomResourceDefinition breaks, and the custom resources on the cluster, prevent an
installation.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.crd_safety.evidence import PATTERN, Evidence, Form
from olmkit.crd_safety.forms import (
    MAY_DROP,
    NOTICED_BY_CLIENTS,
    PATTERNS,
    UNEVALUATED,
    form_of,
    is_refused_anyway,
    may_not_lose,
    rules_of,
)
from olmkit.crd_safety.messages import objects_refusal, permitted_loss, refusal
from olmkit.crd_safety.problem import (
    NOT_PERMITTED,
    SETTING,
    InvalidObject,
    Objects,
    Problem,
    Problems,
    counted,
    ignored_rules,
    is_checked_by_use,
    is_enforced,
)
from olmkit.gocompat.text import list_names

if TYPE_CHECKING:
    from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety

MAX_UNCHECKED_SHOWN = 10
NOT_EVALUATED = "custom resources exist, and only the API server evaluates this"
_NONE: tuple[Objects, int] = ({}, 0)


@dataclass(frozen=True)
class Verdict:
    """The problems that prevent an installation, and the notes about it."""

    refused: Problems = field(default_factory=dict)
    """The problems that prevent it."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """The reason why custom resources count as concerned though they were not all checked, by definition."""
    to_ignore: frozenset[Rule] = frozenset()
    """The rules that the settings have to name for these problems; empty: those that are broken."""
    invalid: Objects = field(default_factory=dict)
    """The first custom resources that prevent it because they are not valid."""
    invalid_count: int = 0
    lossy: Objects = field(default_factory=dict)
    """The first custom resources that prevent it because they lose data."""
    lossy_count: int = 0
    permitted: Objects = field(default_factory=dict)
    """The first custom resources that lose data as the settings permit."""
    permitted_count: int = 0
    concerning: Problems = field(default_factory=dict)
    """The problems of rules that are not ignored, in forms in which custom resources are not valid or lose data: these decide."""
    noticeable: Problems = field(default_factory=dict)
    """The problems that concern no custom resource: only clients may notice them."""
    notes: tuple[str, ...] = ()
    """The checks that were not made, and do not prevent it."""
    failed: str = ""
    """The reason why custom resources could not be checked, where this has to be waited for; empty: they were."""

    @property
    def permitted_loss(self) -> str:
        """The sentence about custom resources that lose data as the settings permit; empty if there are none."""
        return permitted_loss(self.permitted, self.permitted_count) if self.permitted else ""

    @property
    def failure(self) -> str:
        """The message about a check that has to be waited for; empty if there is none."""
        text = f"custom resources cannot be checked against the new schemas: {self.failed}"
        return f"{text}; if this is safe, name {Rule.EXISTING_OBJECT_INVALID} in {SETTING}" if self.failed else ""

    @property
    def subject(self) -> frozenset[str]:
        """The rules that prevent the installation, each with the field of the definition that it is about, and the custom
        resources that do."""
        rules = {
            f"{name}: {each.version}: {each.path}: {each.rule}"
            for name, found in self.refused.items()
            for each in found
        }
        return frozenset(rules).union(
            f"{name}: {each.namespace}/{each.name}"
            for objects in (self.lossy, self.invalid)
            for (name, _), found in objects.items()
            for each in found
        )

    @property
    def refusal(self) -> str:
        """The message; empty if nothing prevents the installation."""
        parts = [refusal(self.refused, self.reasons, self.to_ignore)] if self.refused else []
        if self.lossy:
            parts.append(objects_refusal(Rule.EXISTING_OBJECT_LOSES_DATA, self.lossy, self.lossy_count))
        if self.invalid:
            parts.append(objects_refusal(Rule.EXISTING_OBJECT_INVALID, self.invalid, self.invalid_count))
        return "; ".join(parts)


def judge(problems: Problems, evidence: Mapping[Form, Evidence], settings: CrdUpgradeSafety | None) -> Verdict:
    """The verdict, given the evidence for all of wanted_forms()."""
    left, ignored = counted(problems, settings), ignored_rules(settings)
    if not is_enforced(settings):
        return Verdict()
    if is_refused_anyway(problems, settings):
        return Verdict(_not_permitted(left) if is_checked_by_use(settings) else left)
    sorts = _Sorts()
    for name, found in problems.items():
        for problem in found:
            sorts.add(name, problem, evidence.get(form_of(name, problem), Evidence()), settings)
    used = {form_of(name, problem) for name, found in left.items() for problem in found}
    others = {form: shown for form, shown in evidence.items() if form not in used}
    invalid = {} if Rule.EXISTING_OBJECT_INVALID in ignored else {form: each.invalid for form, each in evidence.items()}
    lost = (
        _by_version({form: each.lossy for form, each in evidence.items()}),
        _count({form: each.lossy_count for form, each in evidence.items()}),
    )
    lossy, permitted = (_NONE, lost) if Rule.EXISTING_OBJECT_LOSES_DATA in ignored else (lost, _NONE)
    return Verdict(
        sorts.refused,
        sorts.reasons,
        frozenset(sorts.to_ignore),
        _by_version(invalid),
        _count({form: evidence[form].invalid_count for form in invalid}),
        *lossy,
        *permitted,
        sorts.concerning,
        sorts.noticeable,
        tuple(_notes(others)),
        list_names({f"{form.definition}: {shown.failed}" for form, shown in others.items() if shown.failed}, "; "),
    )


@dataclass
class _Sorts:
    """The problems by what they lead to."""

    refused: dict[str, list[Problem]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    to_ignore: set[Rule] = field(default_factory=set)
    concerning: dict[str, list[Problem]] = field(default_factory=dict)
    noticeable: dict[str, list[Problem]] = field(default_factory=dict)

    def add(self, name: str, problem: Problem, shown: Evidence, settings: CrdUpgradeSafety | None) -> None:
        """A problem of a definition, and what its form showed. What an ignored rule is about may still lose data."""
        ignored = ignored_rules(settings)
        unseen_loss = _unseen_loss(problem, shown) if may_not_lose(problem, settings) else ""
        if reason := unseen_loss if problem.rule in ignored else _reason(problem, shown):
            self.refused.setdefault(name, []).append(problem)
            self.reasons.setdefault(name, reason)
            self.to_ignore |= {problem.rule, *_rules_about_objects(problem, shown, unseen_loss)} - ignored
        elif problem.rule not in ignored:
            sort = self.concerning if _is_concerning(problem, shown) else self.noticeable
            sort.setdefault(name, []).append(problem)


def _not_permitted(problems: Problems) -> Problems:
    found = {name: [each for each in known if each.rule in NOT_PERMITTED] for name, known in problems.items()}
    return {name: known for name, known in found.items() if known}


def _count(counts: Mapping[Form, int]) -> int:
    """The least number of custom resources: those of one definition are the same ones in each form."""
    most: dict[str, int] = {}
    for form, count in counts.items():
        most[form.definition] = max(count, most.get(form.definition, 0))
    return sum(most.values())


def _by_version(found: Mapping[Form, Sequence[InvalidObject]]) -> Objects:
    """A custom resource that is read in several versions is named once."""
    objects: dict[tuple[str, str], set[InvalidObject]] = {}
    for form, entries in found.items():
        if entries:
            objects.setdefault((form.definition, form.target), set()).update(entries)
    return {key: sorted(entries) for key, entries in objects.items()}


def _notes(evidence: Mapping[Form, Evidence]) -> Iterator[str]:
    """Name what was not checked where ignored rules are broken."""
    for form, shown in sorted(evidence.items()):
        place = f"{form.definition} {form.target}"
        if shown.unknown:
            yield f"{place}: its custom resources were not all checked: {shown.unknown}"
        if shown.unchecked:
            yield f"{place}: not checked in custom resources: {list_names(shown.unchecked, limit=MAX_UNCHECKED_SHOWN)}"


def _reason(problem: Problem, shown: Evidence) -> str:
    """Explain why the problem counts though no custom resource is known that it concerns; empty if it does not count."""
    if shown.unknown or shown.failed:
        return shown.unknown or shown.failed
    has_left_out = any(entry.startswith(PATTERN) for entry in shown.unchecked)
    is_evaluated = problem.rule not in UNEVALUATED and not (problem.rule in PATTERNS and has_left_out)
    return NOT_EVALUATED if not is_evaluated and problem.path in shown.present else ""


def _is_concerning(problem: Problem, shown: Evidence) -> bool:
    """Report whether custom resources that are not valid, or lose data, may do so because of this change."""
    if problem.rule in NOTICED_BY_CLIENTS:
        return False
    return bool(shown.invalid_count or (shown.lossy_count and problem.rule in MAY_DROP))


def _unseen_loss(problem: Problem, shown: Evidence) -> str:
    """Explain why a change that may drop values counts as a loss though none is known; empty if it does not."""
    is_compared = bool(problem.version)
    return shown.unknown or shown.failed or (NOT_EVALUATED if shown.count and not is_compared else "")


def _rules_about_objects(problem: Problem, shown: Evidence, unseen_loss: str) -> Iterator[Rule]:
    """The rules about custom resources that have to be ignored too, because nobody knows whether one breaks them."""
    if unseen_loss:
        yield Rule.EXISTING_OBJECT_LOSES_DATA
    if shown.failed and problem.version:
        yield Rule.EXISTING_OBJECT_INVALID


def noticed(problems: Problems) -> str:
    """The sentence about what only clients may notice; empty if there is nothing."""
    if not problems:
        return ""
    names = f"{list_names(problems)} ({list_names(rules_of(problems), limit=len(Rule))})"
    return f"no custom resource is concerned by the changes of {names}, clients may be"
