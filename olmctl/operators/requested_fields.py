"""Checks whether the API server would take the fields of spec that are asked for, by the patterns of its schema.

Asks no cluster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule

_RULES = {
    "packageName": (
        operators.PACKAGE_PATTERN,
        operators.MAX_PACKAGE_NAME_LENGTH,
        "is no name of a package: lower-case letters and digits, joined by '-'",
    ),
    "channel": (
        operators.CHANNEL_PATTERN,
        operators.MAX_CHANNEL_LENGTH,
        "is no name of a channel: lower-case letters and digits, joined by '-' or '.'",
    ),
    "version": (
        operators.VERSION_PATTERN,
        operators.MAX_VERSION_LENGTH,
        f"is no version and no range: {operators.VERSION_HINT}",
    ),
}


def check_exact_version(text: str) -> None:
    """Raises UsageError for a text that is not one exact version."""
    if len(text) > operators.MAX_VERSION_LENGTH or not re.fullmatch(operators.EXACT_VERSION_PATTERN, text):
        raise click.UsageError(f"{clean(text)!r} is not one exact version, such as 1.2.3")


def check_fields(spec: Mapping[str, object]) -> None:
    """Raises UsageError for a field of an Operator's spec that the API server would refuse; an empty text is not sent."""
    for field, (pattern, max_length, why) in _RULES.items():
        value = str(spec.get(field) or "")
        if len(value) > max_length:
            raise click.UsageError(
                f"{clean(value)!r} is longer than the {max_length} characters that spec.{field} may have"
            )
        if value and not re.fullmatch(pattern, value):
            raise click.UsageError(f"{clean(value)!r} {why}")


def requested_safety(policy: str | None, rules: Sequence[str]) -> dict[str, Any]:
    """The fields of crdUpgradeSafety that are asked for. Raises UsageError for a rule that does not exist."""
    known_rules = {rule.value for rule in CrdUpgradeRule}
    if unknown := sorted({rule for rule in rules if rule} - known_rules):
        raise click.UsageError(f"there is no rule {', '.join(map(clean, unknown))}: {', '.join(sorted(known_rules))}")
    asked: dict[str, Any] = {"policy": policy} if policy else {}
    return asked | ({"ignoredRules": [rule for rule in dict.fromkeys(rules) if rule]} if rules else {})
