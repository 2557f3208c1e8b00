"""Makes the messages about broken rules, and about custom resources that are not valid or lose data. Decides nothing. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.crd_safety.evidence import MAX_OBJECTS_SHOWN
from olmkit.crd_safety.problem import NOT_PERMITTED, SETTING, Objects, Problems
from olmkit.gocompat.text import list_names

MAX_DEFINITIONS_SHOWN = 10
MAX_PROBLEMS_SHOWN = 30
"""Problems of all CustomResourceDefinitions together."""
MAX_BYTES = 800
"""The message of Ready has 1,024, and begins with the names of the versions. What comes last says what to do."""


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
