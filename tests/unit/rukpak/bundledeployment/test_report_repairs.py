"""Ready is False as long as what somebody changed cannot be changed back, and nothing else is called a repair."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from olmkit.api.bundledeployments import Reason
from olmkit.errors import Unavailable, Waiting
from rukpak.bundledeployment.world import BriefWait, World
from tests.unit.rukpak.bundledeployment.worlds import MANAGER, SECRET, installed, member, report_of

FAILED = Unavailable(500, "InternalError", "failed calling webhook")
WAITED_FOR = Waiting(Reason.RETRYING, "Deployment engine refuses connections", timedelta(minutes=1))
LISTED = BriefWait(Reason.OBJECT_LOOKUP_FAILURE, "listing Secret", timedelta(minutes=1))
CHANGED = replace(
    installed(), labeled={**installed().labeled, SECRET: member(SECRET, applied_fields={MANAGER: "else"})}
)


@pytest.mark.parametrize(
    ("seen", "outcome", "ready"),
    [
        pytest.param(
            CHANGED, FAILED, "False/Retrying cannot repair: Unavailable: failed calling webhook", id="a repair fails"
        ),
        pytest.param(CHANGED, WAITED_FOR, f"False/Retrying {WAITED_FOR.message}", id="a repair is waited for"),
        pytest.param(
            replace(CHANGED, brief_wait_since=CHANGED.now - timedelta(hours=1)),
            LISTED,
            "True/Succeeded listing Secret",
            id="whether there is something to repair is not known",
        ),
        pytest.param(
            installed(),
            FAILED,
            "True/Succeeded a request failed and is retried: Unavailable: failed calling webhook",
            id="a request fails, and nothing was changed",
        ),
    ],
)
def test_ready(seen: World, outcome: Exception, ready: str) -> None:
    written = report_of(seen, outcome)
    found = {one.type: f"{one.status}/{one.reason} {one.message}" for one in written.status.conditions}
    assert found["Ready"] == ready
    assert found["Reconciling"].startswith("True/Retrying ")
    assert "Stalled" not in found
