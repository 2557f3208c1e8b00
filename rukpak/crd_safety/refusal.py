"""Selects the broken rules that count, and makes the messages about them.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from olmkit.api.crd_upgrade_safety import CrdUpgradeRule, CrdUpgradeSafety
from rukpak.crd_safety.evidence import MAX_OBJECTS_SHOWN
from rukpak.crd_safety.problem import InvalidObject, Problem
from rukpak.format.text import list_names

MAX_DEFINITIONS_SHOWN = 10
MAX_PROBLEMS_SHOWN = 30
"""Problems of all CustomResourceDefinitions together."""
MAX_BYTES = 800
"""The message of Ready has 1,024, and begins with the names of the versions. What comes last says what to do."""
NOT_PERMITTED = frozenset({
    CrdUpgradeRule.SCOPE_CHANGED, CrdUpgradeRule.KIND_CHANGED, CrdUpgradeRule.STORED_VERSION_REMOVED,
})  # fmt: skip
"""Rules that the API server has too: what breaks them is refused by it when they are ignored."""

SETTING = "crdUpgradeSafety.ignoredRules"

Problems = Mapping[str, Sequence[Problem]]
"""The problems of each CustomResourceDefinition, by its name; none without a problem."""
Objects = Mapping[tuple[str, str], Sequence[InvalidObject]]
"""The first custom resources, by CustomResourceDefinition and version."""


def is_enforced(settings: CrdUpgradeSafety | None) -> bool:
    """Report whether changes of CustomResourceDefinitions are checked."""
    return settings is None or settings.policy != "None"


def is_checked_by_use(settings: CrdUpgradeSafety | None) -> bool:
    """Report whether a broken rule prevents an installation only if it concerns a custom resource: the default."""
    return settings is None or settings.policy in (None, "IfUsed")


def ignored_rules(settings: CrdUpgradeSafety | None) -> frozenset[CrdUpgradeRule]:
    """The rules that do not prevent an installation."""
    return frozenset((settings.ignored_rules if settings is not None else None) or ())


def counted(problems: Problems, settings: CrdUpgradeSafety | None) -> Problems:
    """The problems that prevent an installation."""
    if not is_enforced(settings):
        return {}
    ignored = ignored_rules(settings)
    left = {name: [entry for entry in found if entry.rule not in ignored] for name, found in problems.items()}
    return {name: found for name, found in left.items() if found}


def refusal(
    problems: Problems,
    reasons: Mapping[str, str] = MappingProxyType({}),
    to_ignore: AbstractSet[CrdUpgradeRule] = frozenset(),
) -> str:
    """The message about at least one problem. As many are named as have room, of each definition one first. `reasons`: why the
    rules count for a definition, if custom resources could have decided. `to_ignore`: the rules to name in the settings; by
    default those that are broken."""
    rules = {problem.rule for found in problems.values() for problem in found}
    end = f"; {_advice(rules & NOT_PERMITTED or to_ignore or rules)}"
    return _fitting(lambda definitions, each: _named(problems, reasons, definitions, each) + end, len(problems))


def _fitting(text: Callable[[int, int], str], definitions: int) -> str:
    """The longest text that has room, given how many definitions are named and how many entries of each. The shortest one may
    have none: it names one entry."""
    most = max(1, MAX_PROBLEMS_SHOWN // min(definitions, MAX_DEFINITIONS_SHOWN))
    sizes = [(MAX_DEFINITIONS_SHOWN, number) for number in range(most, 0, -1)]
    sizes += [(number, 1) for number in range(MAX_DEFINITIONS_SHOWN - 1, 0, -1)]
    texts = (text(*size) for size in sizes)
    return next((each for each in texts if len(each.encode()) <= MAX_BYTES), text(1, 1))


def _advice(rules: AbstractSet[CrdUpgradeRule]) -> str:
    if refused := rules & NOT_PERMITTED:
        return f"the API server does not permit this ({', '.join(sorted(refused))}): choose another version"
    return f"if this is safe, name these rules in {SETTING}: {', '.join(sorted(rules))}"


def _named(problems: Problems, reasons: Mapping[str, str], definitions: int, each: int) -> str:
    """The problems of so many definitions, of each so many, and how many more there are."""
    texts = [
        f'validating upgrade for CRD "{name}": {list_names(map(str, found), "; ", each)}'
        + (f" ({reasons[name]})" if name in reasons else "")
        for name, found in sorted(problems.items())
    ]
    return list_names(texts, "; ", definitions)


def objects_refusal(rule: CrdUpgradeRule, objects: Objects, count: int) -> str:
    """The message about custom resources that are not valid, or that lose data. `count`: of all."""
    is_one, loses = count == 1, rule == CrdUpgradeRule.EXISTING_OBJECT_LOSES_DATA
    says = ("loses" if is_one else "lose") + " data" if loses else ("is" if is_one else "are") + " not valid"
    advice = f"change {'it' if is_one else 'them'}, or name {rule} in {SETTING}"
    prefix = f"{_counted(count)} {says} by the new schema"
    return _fitting(
        lambda definitions, each: f"{prefix}: {_named_objects(rule, objects, definitions, each)}; {advice}",
        len(objects),
    )


def permitted_loss(objects: Objects, count: int) -> str:
    """The sentence about custom resources that lose data as the settings permit. `count`: of all."""
    rule = CrdUpgradeRule.EXISTING_OBJECT_LOSES_DATA
    prefix = f"{_counted(count)} {'loses' if count == 1 else 'lose'} data by the new schema, as {SETTING} permits"
    return _fitting(
        lambda definitions, each: f"{prefix}: {_named_objects(rule, objects, definitions, each)}", len(objects)
    )


def _counted(count: int) -> str:
    return f"{count} custom resource{'' if count == 1 else 's'}"


def _named_objects(rule: CrdUpgradeRule, objects: Objects, definitions: int, each: int) -> str:
    """The custom resources of so many definitions and versions, of each so many. How many there are is said before."""
    shown = min(each, MAX_OBJECTS_SHOWN)
    texts = [
        f'validating upgrade for CRD "{name}": {version}: {rule}: {", ".join(sorted(map(str, found))[:shown])}'
        + (" and more" if len(found) > shown else "")
        for (name, version), found in sorted(objects.items())
    ]
    return list_names(texts, "; ", definitions)
