"""A rule that a new CustomResourceDefinition breaks, and a custom resource that it does not accept, as values and as text.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.api.crd_upgrade_safety import CrdUpgradeRule

MAX_VALUE_LENGTH = 60
"""Characters of a value of a schema that are shown."""


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


def shown(value: Any) -> str:
    """A value of a schema as messages show it: JSON on one line, cut."""
    if value is None:
        return "none"
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


def change_of(old: Any, new: Any) -> str:
    """The change of a value."""
    return f"{shown(old)} -> {shown(new)}"
