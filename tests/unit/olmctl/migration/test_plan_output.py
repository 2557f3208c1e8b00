"""The notes about a migration that has begun."""

from __future__ import annotations

import pytest

from olmctl.migration.marks import MARK, REMOVING
from olmctl.migration.packages import PackagePlan
from olmctl.migration.plan_output import next_commands
from tests.unit.olmctl.migration.v0_objects import Object, subscription, version

BEGUN = version(labels={MARK: "lamp"})
CONTINUES = "its migration has begun: `olm migrate v0 lamp` continues it"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(version(), [], id="none has begun"),
        pytest.param(
            BEGUN, [f"{CONTINUES}, and `olm migrate v0 lamp --undo` gives it back to OLM v0"], id="it can be undone"
        ),
        pytest.param(
            {**BEGUN, "metadata": {**BEGUN["metadata"], "annotations": {MARK: f"{REMOVING} olm/community"}}},
            [CONTINUES],
            id="the objects of OLM v0 are being deleted",
        ),
        pytest.param(
            {**BEGUN, "metadata": {**BEGUN["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            [CONTINUES],
            id="its ClusterServiceVersion is being deleted",
        ),
    ],
)
def test_the_commands_for_a_migration_that_has_begun(found: Object, expected: list[str]) -> None:
    assert list(next_commands(PackagePlan(subscription("lamp"), found))) == expected
