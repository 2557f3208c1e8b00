"""A rule that a new CustomResourceDefinition breaks, and a custom resource that it does not accept, as values and as text.

Also the broken rules that count by the settings of a BundleDeployment: `counted`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from olmkit.api.crd_upgrade_rules import CrdUpgradeRule

if TYPE_CHECKING:
    from olmkit.api.crd_upgrade_safety import CrdUpgradeSafety

MAX_VALUE_LENGTH = 60
"""Characters of a value of a schema that are shown."""
NOT_PERMITTED = frozenset({
    CrdUpgradeRule.SCOPE_CHANGED, CrdUpgradeRule.KIND_CHANGED, CrdUpgradeRule.STORED_VERSION_REMOVED,
})  # fmt: skip
"""Rules that the API server has too: what breaks them is refused by it when they are ignored."""

SETTING = "crdUpgradeSafety.ignoredRules"


@dataclass(frozen=True, order=True)
class Problem:
    """One broken rule."""

    version: str
    """The version, or `old -> new` for two versions that are both served; empty: the CustomResourceDefinition as a whole."""
    path: str
    """The field, such as `spec.containers[*].image`; empty: the object itself."""
    rule: CrdUpgradeRule
    change: str
    """The change, as `old -> new`."""

    def __str__(self) -> str:
        """`v1: spec.size: type-changed: integer -> string`."""
        return ": ".join(filter(None, (self.version, self.path, self.rule.value, self.change)))


@dataclass(frozen=True, order=True)
class InvalidObject:
    """A custom resource that is not valid, or that loses data. `problem` never has a value of it: that may be a secret."""

    namespace: str
    name: str
    problem: str
    """`spec.size: maximum`: the field, and the key of the schema."""

    def __str__(self) -> str:
        """`ns/name: spec.size: maximum`."""
        return f"{self.namespace}/{self.name}: {self.problem}" if self.namespace else f"{self.name}: {self.problem}"


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


def shown(value: Any) -> str:
    """A value of a schema as messages show it: JSON on one line, cut."""
    if value is None:
        return "none"
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


def change_of(old: Any, new: Any) -> str:
    """The change of a value."""
    return f"{shown(old)} -> {shown(new)}"
