"""The four conditions of a ClusterExtension about deprecations, from status.deprecations of its Operator.

Called by conditions.py. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.clusterextensions import ConditionType, Reason
from olmkit.api.conditions import DesiredCondition
from olmkit.api.operator_status import KnownDeprecations

_UNKNOWN = "deprecation status unknown: catalog data unavailable"
_NOTHING_INSTALLED = "no bundle installed yet"


def deprecation_conditions(
    known: KnownDeprecations | None, *, is_installed: bool, has_failed: bool = False
) -> list[DesiredCondition]:
    """The conditions; none until a bundle has been chosen for the first time, or could not be."""
    if known is None and not has_failed:
        return []
    known = known or KnownDeprecations(known=False)
    package, channels = [known.package], [each.message for each in known.channels or ()]
    bundle = [known.bundle] if is_installed else []
    parts: list[tuple[ConditionType, str, Iterable[str | None]]] = [
        (ConditionType.DEPRECATED, "not deprecated", (*package, *channels, *bundle)),
        (ConditionType.PACKAGE_DEPRECATED, "package not deprecated", package),
        (ConditionType.CHANNEL_DEPRECATED, "channel not deprecated", channels),
        (ConditionType.BUNDLE_DEPRECATED, "bundle not deprecated", bundle),
    ]
    conditions = [_condition(*part) if known.known else _unknown(part[0]) for part in parts]
    return conditions if is_installed else [*conditions[:-1], _absent()]


def _condition(kind: ConditionType, otherwise: str, messages: Iterable[str | None]) -> DesiredCondition:
    """A condition that is True if there is a message: a deprecation without one counts for nothing."""
    text = "\n".join(filter(None, messages))
    if text:
        return DesiredCondition(kind, "True", Reason.DEPRECATED, text)
    return DesiredCondition(kind, "False", Reason.NOT_DEPRECATED, otherwise)


def _unknown(kind: ConditionType) -> DesiredCondition:
    return DesiredCondition(kind, "Unknown", Reason.DEPRECATION_STATUS_UNKNOWN, _UNKNOWN)


def _absent() -> DesiredCondition:
    return DesiredCondition(ConditionType.BUNDLE_DEPRECATED, "Unknown", Reason.ABSENT, _NOTHING_INSTALLED)
