"""The failures that are remembered, so that each has one Event."""

from __future__ import annotations

import pytest

from olmkit.api.clusterextensions import ClusterExtensionStatus
from olmkit.api.conditions import Cause, StatusReport
from olmkit.runtime.informer import Change
from operator_controller.clusterextension.reconciler import ReportedFailures
from tests.unit.operator_controller.clusterextension.worlds import UID, extension_object, world

BEFORE, AFTER = Cause("CatalogUnavailable"), Cause("NamespaceMissing")


def status_report(reason: str, cause: Cause | None) -> StatusReport[ClusterExtensionStatus]:
    condition = {"type": "Progressing", "status": "True", "reason": reason, "message": "", "lastTransitionTime": "t"}
    status = ClusterExtensionStatus.load({"conditions": [condition]})
    return StatusReport(status, causes={"Progressing": cause} if cause is not None else {})


@pytest.mark.parametrize(
    ("then", "remembered"),
    [
        pytest.param(status_report("Retrying", AFTER), AFTER, id="another failure"),
        pytest.param(status_report("Retrying", None), BEFORE, id="work in progress: the failure before"),
        pytest.param(status_report("Succeeded", None), None, id="a success"),
    ],
)
def test_the_cause_of_the_last_failure_is_remembered(
    then: StatusReport[ClusterExtensionStatus], remembered: Cause | None
) -> None:
    failures = ReportedFailures()
    failures.record(world(), status_report("Retrying", BEFORE))
    failures.record(world(), then)
    assert failures.cause(UID) == remembered


def test_a_clusterextension_that_is_gone_is_forgotten() -> None:
    failures = ReportedFailures()
    failures.record(world(), status_report("Retrying", BEFORE))
    failures.forget_deleted(Change(extension_object(), None))
    assert failures.cause(UID) is None
