"""The four conditions about deprecations, from status.deprecations of the Operator."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.operator_status import KnownDeprecations
from operator_controller.clusterextension.deprecations import deprecation_conditions

UNKNOWN = ("Unknown", "DeprecationStatusUnknown", "deprecation status unknown: catalog data unavailable")
ABSENT = ("Unknown", "Absent", "no bundle installed yet")


def channel(name: str, message: str) -> dict[str, str]:
    return {"name": name, "message": message}


def true(message: str) -> tuple[str, str, str]:
    return "True", "Deprecated", message


def false(message: str) -> tuple[str, str, str]:
    return "False", "NotDeprecated", message


NOTHING = [
    false("not deprecated"),
    false("package not deprecated"),
    false("channel not deprecated"),
    false("bundle not deprecated"),
]


@pytest.mark.parametrize(
    ("known", "is_installed", "expected"),
    [
        pytest.param(None, False, [], id="nothing was chosen yet"),
        pytest.param({"known": True}, True, NOTHING, id="nothing is deprecated"),
        pytest.param(
            {"known": True, "bundle": "too old"},
            False,
            [*NOTHING[:3], ABSENT],
            id="the bundle counts once it is installed",
        ),
        pytest.param({"known": False}, True, [UNKNOWN] * 4, id="the catalog was not read"),
        pytest.param({"known": False}, False, [*[UNKNOWN] * 3, ABSENT], id="nor installed"),
        pytest.param(
            {
                "known": True,
                "package": "use argo2",
                "channels": [channel("a", "ends soon"), channel("b", "ended")],
                "bundle": "too old",
            },
            True,
            [
                true("use argo2\nends soon\nended\ntoo old"),
                true("use argo2"),
                true("ends soon\nended"),
                true("too old"),
            ],
            id="all texts, one a line",
        ),
        pytest.param(
            {"known": True, "package": "", "channels": [channel("a", "")]},
            True,
            NOTHING,
            id="a deprecation without a message counts for nothing",
        ),
    ],
)
def test_the_conditions_follow_from_the_field(
    known: dict[str, Any] | None, is_installed: bool, expected: list[tuple[str, str, str]]
) -> None:
    deprecations = KnownDeprecations.load(known) if known is not None else None
    found = deprecation_conditions(deprecations, is_installed=is_installed)
    assert [(each.status, each.reason, each.message) for each in found] == expected
    types = ["Deprecated", "PackageDeprecated", "ChannelDeprecated", "BundleDeprecated"]
    assert [each.type for each in found] == types[: len(found)]
