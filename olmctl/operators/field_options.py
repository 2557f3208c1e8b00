"""Reads options that are fields of an Operator, and refuses values that the API server would refuse. Asks no cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from olmctl.questions.requested_fields import field_problems
from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule
from olmkit.gocompat.versions import version_hint


def check_exact_version(text: str) -> None:
    """Raises UsageError for a text that is not one exact version."""
    if not _is_exact(text):
        hint = version_hint(text) or ", such as 1.2.3"
        raise click.UsageError(f"{clean(text)!r} is not one exact version{hint}")


def _is_exact(text: str) -> bool:
    return len(text) <= operators.MAX_VERSION_LENGTH and bool(re.fullmatch(operators.EXACT_VERSION_PATTERN, text))


def check_fields(spec: Mapping[str, Any]) -> None:
    """Raises UsageError for the first field of an Operator's spec that the API server would refuse."""
    for problem in field_problems(spec).values():
        raise click.UsageError(problem)


def requested_safety(policy: str | None, rules: Sequence[str]) -> dict[str, Any]:
    """The fields of crdUpgradeSafety that are asked for. Raises UsageError for a rule that does not exist."""
    known_rules = {rule.value for rule in CrdUpgradeRule}
    if unknown := sorted({rule for rule in rules if rule} - known_rules):
        raise click.UsageError(f"there is no rule {', '.join(map(clean, unknown))}: {', '.join(sorted(known_rules))}")
    asked: dict[str, Any] = {"policy": policy} if policy else {}
    return asked | ({"ignoredRules": [rule for rule in dict.fromkeys(rules) if rule]} if rules else {})
