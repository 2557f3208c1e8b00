"""The conditions of deprecations."""

from __future__ import annotations

import pytest

from olmkit.api.conditions import Cause, DesiredCondition
from olmkit.api.meta import Condition
from operator_controller.operator.report_deprecations import deprecation_conditions
from operator_controller.resolve.answers.deprecations import Deprecations


def true(**messages: str) -> list[DesiredCondition]:
    """The cause is what the publisher has written."""
    return [
        DesiredCondition(kind, "True", "Deprecated", message, Cause("Deprecated", frozenset({message})))
        for kind, message in messages.items()
    ]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(Deprecations(), [], id="nothing is deprecated"),
        pytest.param(
            Deprecations(package="gone soon"),
            true(Deprecated="gone soon", PackageDeprecated="gone soon"),
            id="the package",
        ),
        pytest.param(
            Deprecations("a", (("stable", "b"),), "a"),
            true(Deprecated="a; b", PackageDeprecated="a", ChannelDeprecated="b", BundleDeprecated="a"),
            id="all, two for one reason",
        ),
        pytest.param(
            Deprecations(channels=(("beta", "b"), ("stable", "use beta"))),
            true(
                Deprecated="channel beta: b; channel stable: use beta",
                ChannelDeprecated="channel beta: b; channel stable: use beta",
            ),
            id="two channels, each with its name",
        ),
    ],
)
def test_the_conditions(known: Deprecations, expected: list[DesiredCondition]) -> None:
    assert deprecation_conditions(known, ()) == expected


def test_they_stay_while_nothing_is_known() -> None:
    def before(kind: str) -> Condition:
        return Condition(type=kind, status="True", reason="Deprecated", message="m", last_transition_time="t")

    kept = deprecation_conditions(None, [before("BundleDeprecated"), before("Ready"), before("Deprecated")])
    assert kept == [DesiredCondition(kind, "True", "Deprecated", "m") for kind in ("BundleDeprecated", "Deprecated")]
