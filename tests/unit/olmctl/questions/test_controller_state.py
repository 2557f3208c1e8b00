"""Whether a controller leads, by its Lease."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from olmctl.questions.controller_state import lease_problem

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def lease(renewed: object, holder: str = "pod_1") -> dict[str, Any]:
    return {"spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}}


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        pytest.param(None, "it has no Lease", id="no Lease: the suite was removed, or never started"),
        pytest.param(lease("2026-01-01T12:00:00.000000Z", ""), "nobody holds its Lease", id="it has ended"),
        pytest.param(lease("2026-01-01T11:59:50.000000Z"), "", id="renewed"),
        pytest.param(lease("2026-01-01T12:01:30.000000Z"), "", id="renewed by a clock that is ahead"),
        pytest.param(lease("2026-01-01T11:58:00.000000Z"), "", id="renewed by a clock that is behind"),
        pytest.param(
            lease("2026-01-01T11:50:00.000000Z"),
            "its Lease was renewed last at 2026-01-01T11:50:00.000000Z",
            id="not renewed for ten minutes",
        ),
        pytest.param(lease("x"), "", id="a time that cannot be read"),
        pytest.param(lease("2026-01-01T11:50:00"), "", id="a time without a zone"),
        pytest.param(lease(None), "", id="no time"),
    ],
)
def test_what_a_lease_says(found: dict[str, Any] | None, problem: str) -> None:
    assert lease_problem(found, NOW) == problem
