"""What HasValidBundle reports while the Bundle cannot be created."""

from __future__ import annotations

import pytest

from olmkit.api.conditions import find_condition
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.report import report
from tests.unit.rukpak.bundledeployment.worlds import raw, world


@pytest.mark.parametrize("provisioner", ["core-rukpak-io-helm", "core-rukpak-io-registry"])
def test_a_bundle_that_is_never_created_is_not_waited_for(provisioner: str) -> None:
    seen = world(raw(provisioner=provisioner))
    decision = decide(seen)
    assert isinstance(decision.plan, Exception)
    written = report(seen, decision.evaluation, decision.plan)
    assert written is not None
    found = find_condition(written.status.conditions, "HasValidBundle")
    stalled = find_condition(written.status.conditions, "Stalled")
    assert found is not None
    assert stalled is not None
    assert (found.status, found.reason, found.message) == ("False", "Blocked", stalled.message)
    assert "spec.provisionerClassName" in found.message
