"""The conditions and fields of an Operator about what its publisher has deprecated. `report` calls it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.api.conditions import Cause, DesiredCondition
from olmkit.api.meta import Condition
from olmkit.api.operator_status import MAX_NAMED, DeprecatedChannel, KnownDeprecations
from olmkit.api.operators import ConditionType, Reason
from olmkit.gocompat.text import truncate
from operator_controller.operator.evaluation import Refused, Reported, Unanswered
from operator_controller.operator.world import World
from operator_controller.resolve.answers.deprecations import Deprecations
from operator_controller.resolve.explain.explanation import MAX_EXPLANATION_BYTES

_TYPES = (
    ConditionType.DEPRECATED,
    ConditionType.PACKAGE_DEPRECATED,
    ConditionType.CHANNEL_DEPRECATED,
    ConditionType.BUNDLE_DEPRECATED,
)


def known_deprecations(world: World, evaluation: Reported) -> KnownDeprecations | None:
    """The deprecations as fields; as reported while there is no answer."""
    found = evaluation.consequences.deprecations
    match evaluation:
        case Unanswered():
            return world.operator.status.deprecations
        case Refused() if world.running is None:  # no bundle was found
            return KnownDeprecations(known=False)
    if found is None:
        return KnownDeprecations(known=False)
    channels = [DeprecatedChannel(name=name, message=message) for name, message in found.channels[:MAX_NAMED]]
    return KnownDeprecations(
        known=True, package=found.package or None, channels=channels or None, bundle=found.bundle or None
    )


def deprecation_conditions(known: Deprecations | None, before: Sequence[Condition]) -> list[DesiredCondition]:
    """A condition for each part that is deprecated, and Deprecated with all messages; the previous conditions if nothing is
    known."""
    if known is None:
        return [DesiredCondition(one.type, one.status, one.reason, one.message) for one in before if one.type in _TYPES]
    messages = (known.package, _channel_message(known), known.bundle)
    found = [(kind, message) for kind, message in zip(_TYPES[1:], messages, strict=True) if message]
    if found:
        found.insert(0, (ConditionType.DEPRECATED, "; ".join(dict.fromkeys(message for _, message in found))))
    return [
        DesiredCondition(kind, "True", Reason.DEPRECATED, message, Cause(Reason.DEPRECATED, frozenset({message})))
        for kind, message in found
    ]


def _channel_message(known: Deprecations) -> str:
    """The message about the channels; of several channels, each message follows the name of its channel."""
    if len(known.channels) < 2:
        return "".join(message for _, message in known.channels)
    return truncate("; ".join(f"channel {name}: {message}" for name, message in known.channels), MAX_EXPLANATION_BYTES)
