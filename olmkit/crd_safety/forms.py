"""Decides how custom resources are checked, from the rules that a new CustomResourceDefinition breaks and from the settings.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.crd_safety.compare import Definition, schemas, served_versions, storage_version
from olmkit.crd_safety.evidence import Check, Form
from olmkit.crd_safety.problem import (
    NOT_PERMITTED,
    Problem,
    Problems,
    counted,
    ignored_rules,
    is_checked_by_use,
    is_enforced,
)
from olmkit.crd_safety.schemas import PRESERVES

if TYPE_CHECKING:
    from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety

UNEVALUATED = frozenset({
    Rule.VALIDATION_RULE_ADDED, Rule.FORMAT_CHANGED, Rule.CONVERSION_REMOVED, Rule.UNHANDLED_CHANGE,
})  # fmt: skip
"""Rules of which no check tells whether a custom resource breaks them: only the API server evaluates what they are about."""
NOTICED_BY_CLIENTS = frozenset({Rule.DEFAULT_ADDED, Rule.DEFAULT_CHANGED, Rule.DEFAULT_REMOVED})
"""Rules that no custom resource breaks: a value that nobody set is another one."""
MAY_DROP = frozenset({Rule.FIELD_REMOVED, Rule.UNKNOWN_FIELDS_DROPPED, Rule.UNHANDLED_CHANGE})
"""Rules about changes by which a custom resource may lose a value. What breaks the others alone drops nothing."""
PATTERNS = frozenset({Rule.PATTERN_CHANGED})
"""Rules about patterns, some of which only Go understands."""


def form_of(definition: str, problem: Problem) -> Form:
    """The form in which custom resources show whether they are concerned."""
    source, _, target = problem.version.partition(" -> ")
    return Form(definition, source, target or source)


def wanted_forms(problems: Problems, settings: CrdUpgradeSafety | None) -> list[Form]:
    """The forms that custom resources are checked in, sorted; none if the rules alone decide.

    By the policy Enforce they are checked for what ignored rules let through, by IfUsed for all that the API server permits. A
    rule that is ignored leaves the rules about custom resources as they are: each is ignored by its own name only.
    """
    if not is_enforced(settings) or is_refused_anyway(problems, settings):
        return []
    return sorted(
        {
            form_of(name, problem)
            for name, found in problems.items()
            for problem in found
            if problem.rule not in NOT_PERMITTED | NOTICED_BY_CLIENTS
            and (problem.rule not in ignored_rules(settings) or is_left_to_objects(problem, settings))
        }
    )


def is_left_to_objects(problem: Problem, settings: CrdUpgradeSafety | None) -> bool:
    """Report whether custom resources may prevent the installation though the rule is ignored."""
    is_validated = bool(problem.version) and Rule.EXISTING_OBJECT_INVALID not in ignored_rules(settings)
    return is_validated or may_not_lose(problem, settings)


def may_not_lose(problem: Problem, settings: CrdUpgradeSafety | None) -> bool:
    """Report whether the change may drop values of custom resources, and the settings do not permit that."""
    return problem.rule in MAY_DROP and Rule.EXISTING_OBJECT_LOSES_DATA not in ignored_rules(settings)


def is_refused_anyway(problems: Problems, settings: CrdUpgradeSafety | None) -> bool:
    """Report whether no custom resource changes the answer."""
    left = counted(problems, settings)
    return bool(left) and (not is_checked_by_use(settings) or bool(rules_of(left) & NOT_PERMITTED))


def rules_of(problems: Problems) -> frozenset[Rule]:
    """The rules that are broken."""
    return frozenset(problem.rule for found in problems.values() for problem in found)


def check_of(
    form: Form, problems: Sequence[Problem], old: Definition, new: Definition, settings: CrdUpgradeSafety | None
) -> Check:
    """Make the check of custom resources for the form, given all problems of its definition."""
    ignored = ignored_rules(settings)
    own = [problem for problem in problems if form_of(form.definition, problem) == form]
    left = [problem for problem in own if problem.rule not in ignored]
    watched = tuple(sorted({problem.path for problem in left if problem.rule in UNEVALUATED | PATTERNS}))
    if not form.target:
        return Check(None, {}, watched)
    is_validated = bool(left) or Rule.EXISTING_OBJECT_INVALID not in ignored
    return Check(dict(schemas(new)[form.target]), _before(form, old, new), watched, is_validated)


def _before(form: Form, old: Definition, new: Definition) -> dict[str, Any]:
    """The schema that dropped fields until now: that of the storage for that of the storage, else that of the version itself, if
    objects could be written through it."""
    version = storage_version(old) if form.target == storage_version(new) else form.target
    known: Mapping[str, Any] = schemas(old)
    is_written = version in served_versions(old) or version == storage_version(old)
    return dict(known[version]) if version in known and is_written else {PRESERVES: True}


def is_concerned(form: Form, new: Definition) -> bool:
    """Report whether the API server uses the schema: that of a version that is neither served nor stored validates and drops
    nothing."""
    return not form.target or form.target in (*served_versions(new), storage_version(new))


def listed_version(form: Form, old: Definition) -> tuple[str, bool]:
    """The version to list custom resources in, empty if none is served; and whether they show all that the form is about.

    What is not served and was never that of the storage has no custom resources of its own: they are those of the storage.
    """
    served, stored = served_versions(old), storage_version(old)
    if form.source in served:
        return form.source, True
    found = stored if stored in served else next(iter(served), "")
    are_hidden = form.source in {stored, *((old.get("status") or {}).get("storedVersions") or ())}
    return found, not form.source or (found == stored and not are_hidden)
