"""The state of an Operator in words and colours, for the pages that show Operators or their packages. Pure.

Reads fields of the status, never a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from console.views.inputs import ExtensionProblem
from console.views.parts import Badge
from olmctl.questions.operator_state import (
    available_version,
    condition,
    is_observed,
    is_terminating,
    is_true,
    state,
    text_at,
)
from olmkit.api.meta import Object
from olmkit.api.operators import ConditionType, Reason

_HELD: Final = frozenset({Reason.APPROVAL_REQUIRED, Reason.PAUSED, Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE})
"""Reasons for which a version waits that is going to be installed. Any other keeps it out until the request changes."""
_WORDS: Final[Mapping[str, str]] = {
    Reason.SUCCEEDED: "Ready",
    Reason.UPGRADE_AVAILABLE: "Ready",
    Reason.APPROVAL_REQUIRED: "Waits for approval",
    Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE: "Holds its upgrade",
    Reason.NOT_OFFERED: "No longer offered",
}
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def upgrade_waits(operator: Object) -> bool:
    """Report whether a version waits that is installed when it is approved, or when nothing holds it any more."""
    return bool(available_version(operator)) and text_at(operator, "status", "available", "reason") in _HELD


def is_installation_failing(operator: Object) -> bool:
    """Report whether the first installation, or an upgrade, was tried and fails."""
    if not is_observed(operator) or is_terminating(operator):
        return False
    found = condition(operator, ConditionType.INSTALLED)
    if text_at(found, "status") == "False" and text_at(found, "reason") == Reason.INSTALLATION_FAILED:
        return True
    reasons = (
        text_at(condition(operator, each), "reason") for each in (ConditionType.READY, ConditionType.RECONCILING)
    )
    return tuple(reasons) == (Reason.UPGRADING, Reason.RETRYING)


def needs_attention(operator: Object) -> bool:
    """Report whether an Operator is refused, stalled, unhealthy, or cannot be installed. What waits for an approval, or is
    paused, does as it was asked."""
    ready = condition(operator, ConditionType.READY)
    if is_true(operator, ConditionType.STALLED) or is_installation_failing(operator):
        return True
    if text_at(ready, "reason") in _HELD or is_true(operator, ConditionType.RECONCILING):
        return False
    return text_at(ready, "status") == "False"


def state_words(operator: Object) -> str:
    """The state in words."""
    if is_installation_failing(operator) and not is_true(operator, ConditionType.STALLED):
        return "Installation fails" if not text_at(operator, "status", "installed", "version") else "Upgrade fails"
    found = state(operator)
    is_ready = is_observed(operator) and is_true(operator, ConditionType.READY) and not is_terminating(operator)
    if is_ready and found in _HELD:
        return _WORDS[Reason.SUCCEEDED]
    return _worded(_WORDS.get(found, found))


def _worded(reason: str) -> str:
    words = _CAPITAL.sub(" ", reason)
    return words[:1] + words[1:].lower()


def state_badge(operator: Object, problem: ExtensionProblem | None = None) -> Badge:
    """The state of an Operator, or the problem of its ClusterExtension, as icon, word and colour."""
    if problem is not None:
        return Badge("bad", _worded(problem.state), "alert")
    text = state_words(operator)
    if is_terminating(operator):
        return Badge("warn", text, "clock")
    if not is_observed(operator):
        return Badge("info", text, "clock")
    if is_true(operator, ConditionType.READY):
        return Badge("ok", text, "check") if text == _WORDS[Reason.SUCCEEDED] else Badge("warn", text, "clock")
    if needs_attention(operator):
        return Badge("bad", text, "alert")
    is_held = text_at(condition(operator, ConditionType.READY), "reason") in _HELD
    return Badge("warn" if is_held else "info", text, "clock")
