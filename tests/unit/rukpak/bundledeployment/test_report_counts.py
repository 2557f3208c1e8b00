"""What the status of a BundleDeployment says about custom resources."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from olmkit.api.bundledeployment_status import COUNT_ANNOTATION, CustomResourceCount
from olmkit.api.bundledeployments import BundleDeployment, Reason
from olmkit.errors import Waiting
from rukpak.bundledeployment.count_schedule import CustomResourceCounts
from rukpak.bundledeployment.plan import Done, Keep
from rukpak.bundledeployment.world import World
from tests.unit.rukpak.bundledeployment.worlds import NOW, deleting, installed, report_of


def counts(*numbers: int | None, request: str = "one") -> CustomResourceCounts:
    entries = tuple(CustomResourceCount(group="example.com", kind=f"Boat{n}", count=n) for n in numbers)
    return CustomResourceCounts(request, NOW, False, entries)


def requested(request: str = "one", **status: Any) -> World:
    seen = installed()
    metadata = {**seen.raw["metadata"], "annotations": {COUNT_ANNOTATION: request}}
    obj = {**seen.raw, "metadata": metadata, "status": {**seen.raw["status"], **status}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def test_a_count_is_reported_with_its_request() -> None:
    status = report_of(replace(requested(), custom_resource_counts=counts(5, 0, None)), Done(Keep())).status.dump()
    assert status["lastHandledCount"] == "one"
    assert [(entry["kind"], entry.get("count")) for entry in status["customResources"]] == [
        ("Boat5", 5),
        ("Boat0", 0),
        ("BoatNone", None),
    ]


def test_a_bundle_deployment_without_crds_handles_a_request_too() -> None:
    status = report_of(replace(requested(), custom_resource_counts=counts()), Done(Keep())).status
    assert (status.last_handled_count, status.custom_resources) == ("one", None)


def test_a_request_that_is_not_handled_yet_leaves_the_counts_of_the_one_before() -> None:
    before = counts(5)
    seen = requested("two", customResources=[before.counts[0].dump()], lastHandledCount="one")
    for last in (None, before):
        status = report_of(replace(seen, custom_resource_counts=last), Done(Keep())).status
        assert (status.last_handled_count, status.custom_resources) == ("one", [before.counts[0]])


def test_no_count_is_reported_when_nobody_requests_one() -> None:
    seen = installed()
    old = {**seen.raw["status"], "customResources": [counts(5).counts[0].dump()], "lastHandledCount": "one"}
    obj = {**seen.raw, "status": old}
    status = report_of(replace(seen, raw=obj, deployment=BundleDeployment.load(obj)), Done(Keep())).status
    assert (status.last_handled_count, status.custom_resources) == (None, None)


def test_custom_resources_are_reported_while_a_bundle_deployment_is_deleted() -> None:
    seen = replace(deleting(), custom_resource_counts=counts(5, request=""))
    status = report_of(seen, Waiting(Reason.REMOVING, "removing custom resources", timedelta(1))).status
    assert (status.last_handled_count, status.custom_resources) == (None, [*counts(5).counts])
