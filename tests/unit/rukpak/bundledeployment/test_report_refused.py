"""What the API server, or a rule, refuses: the fields of spec that would permit it, and the workloads without pods."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from olmkit.api.bundledeployment_status import PermittingField
from olmkit.api.bundledeployments import Reason
from olmkit.api.failures import FailureReason
from olmkit.errors import Unavailable
from rukpak.bundledeployment.plan import Activate, Done
from rukpak.bundledeployment.world import ApplyRejected, Refused
from tests.unit.rukpak.bundledeployment.worlds import WORKLOAD, installed, report_of, unpacked

MINUTE = timedelta(minutes=1)


def test_the_fields_that_permit_a_refusal_are_named_as_long_as_it_lasts() -> None:
    seen = unpacked()
    fields: frozenset[PermittingField] = frozenset({"crdUpgradeSafety.ignoredRules", "adoptionPolicy"})
    error = ApplyRejected(Reason.BLOCKED, "it exists", MINUTE, permitted_by=fields)
    status = report_of(seen, error).status
    assert status.permitted_by == ["adoptionPolicy", "crdUpgradeSafety.ignoredRules"]
    permitted: frozenset[PermittingField] = frozenset({"crdUpgradeSafety.ignoredRules"})
    refused = Refused(FailureReason.CRD_UPGRADE_UNSAFE, Reason.BLOCKED, "enum-added", [], permitted)
    assert report_of(seen, refused).status.permitted_by == ["crdUpgradeSafety.ignoredRules"]
    seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))
    assert report_of(seen, Unavailable(503, "", "later")).status.permitted_by == status.permitted_by
    assert report_of(seen, ApplyRejected(Reason.BLOCKED, "it is another's", MINUTE)).status.permitted_by is None
    assert report_of(seen, Done(Activate())).status.permitted_by is None


def test_workloads_whose_pods_are_refused_are_named() -> None:
    seen = installed()
    assert report_of(seen, Done(Activate())).status.refused_pods is None
    refused = replace(seen.labeled[WORKLOAD], has_refused_pods=True)
    seen = replace(seen, labeled={**seen.labeled, WORKLOAD: refused})
    assert [each.name for each in report_of(seen, Done(Activate())).status.refused_pods or ()] == [WORKLOAD.name]
