"""The names of OperatorConditions, of their condition, variable and reason. Without models of the API, so that what only knows
the names starts fast. Pure.
"""

from __future__ import annotations

GROUP_KIND = GROUP, KIND_NAME = "operators.coreos.com", "OperatorCondition"
PLURAL = "operatorconditions"
V1, V2 = "v1", "v2"
UPGRADEABLE = "Upgradeable"
"""The type of the condition that holds upgrades while its status is False."""
NAME_VARIABLE = "OPERATOR_CONDITION_NAME"
"""The environment variable that gives an operator the name of its OperatorCondition."""
OVERRIDE_HINT = f"an override of {UPGRADEABLE} in its spec.overrides lifts this"
"""The end of a message about such a condition."""
NOT_UPGRADEABLE = "OperatorConditionNotUpgradeable"
"""The reason of conditions while an upgrade is held, as in OLM v0."""
