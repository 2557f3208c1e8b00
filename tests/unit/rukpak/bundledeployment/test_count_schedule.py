"""When custom resources are counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from olmkit.api.bundledeployment_status import COUNT_ANNOTATION, CustomResourceCount
from olmkit.api.bundledeployments import BundleDeployment
from rukpak.bundledeployment.count_schedule import (
    COUNT_INTERVAL,
    MIN_COUNT_INTERVAL,
    NO_DELAY,
    CustomResourceCounts,
    time_to_count,
)
from tests.unit.rukpak.bundledeployment.worlds import NOW, deleting, installed


def count(number: int | None) -> CustomResourceCount:
    return CustomResourceCount(group="example.com", kind="Boat", count=number)


def counted(
    age: timedelta, *counts: int | None, request: str = "one", is_deleting: bool = False
) -> CustomResourceCounts:
    return CustomResourceCounts(request, NOW - age, is_deleting, tuple(map(count, counts)))


def deployment(request: str = "", **metadata: Any) -> BundleDeployment:
    annotations = {COUNT_ANNOTATION: request} if request else {}
    seen = installed()
    return BundleDeployment.load(
        {**seen.raw, "metadata": {**seen.raw["metadata"], "annotations": annotations, **metadata}}
    )


REQUESTED, DELETED = deployment("one"), deleting().deployment
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.mark.parametrize(
    ("desired", "last", "expected"),
    [
        pytest.param(deployment(), None, None, id="nobody requests a count: never"),
        pytest.param(deployment(), counted(HOUR, 5), None, id="the request was withdrawn: never again"),
        pytest.param(REQUESTED, None, NO_DELAY, id="requested, and this process has made no count: now"),
        pytest.param(REQUESTED, counted(SECOND, 0), COUNT_INTERVAL - SECOND, id="counted: again after the interval"),
        pytest.param(REQUESTED, counted(SECOND, 0, 5), MIN_COUNT_INTERVAL - SECOND, id="in use: again in a minute"),
        pytest.param(
            REQUESTED, counted(SECOND, 1, 500), COUNT_INTERVAL - SECOND, id="in use by many: after the interval"
        ),
        pytest.param(REQUESTED, counted(HOUR, 5), NO_DELAY, id="counted long ago: now"),
        pytest.param(REQUESTED, counted(SECOND), COUNT_INTERVAL - SECOND, id="no CRDs: again after the interval"),
        pytest.param(
            deployment("two"),
            counted(SECOND, 5),
            MIN_COUNT_INTERVAL - SECOND,
            id="another request: at most one a minute",
        ),
        pytest.param(deployment("two"), counted(MINUTE, 5), NO_DELAY, id="another request after a minute: now"),
        pytest.param(
            REQUESTED,
            counted(SECOND, 5, None),
            MIN_COUNT_INTERVAL - SECOND,
            id="one was not countable: again in a minute",
        ),
        pytest.param(REQUESTED, counted(-HOUR, 5), NO_DELAY, id="the clock was set back: now"),
        pytest.param(DELETED, None, NO_DELAY, id="being deleted: before its objects are deleted"),
        pytest.param(DELETED, counted(SECOND, 5), NO_DELAY, id="being deleted, counted a moment before: again"),
        pytest.param(
            DELETED,
            counted(SECOND, 5, is_deleting=True),
            MIN_COUNT_INTERVAL - SECOND,
            id="being deleted, custom resources remain: again in a minute",
        ),
        pytest.param(
            DELETED,
            counted(SECOND, None, is_deleting=True),
            MIN_COUNT_INTERVAL - SECOND,
            id="being deleted, one was not countable: again in a minute",
        ),
        pytest.param(DELETED, counted(HOUR, 0, is_deleting=True), None, id="being deleted, none remains: never again"),
    ],
)
def test_when_custom_resources_are_counted(
    desired: BundleDeployment, last: CustomResourceCounts | None, expected: timedelta | None
) -> None:
    assert time_to_count(desired, last, NOW) == expected


def test_a_request_counts_up_to_its_limit_of_length() -> None:
    last = counted(SECOND, 0, request="x" * 1024)
    assert time_to_count(deployment("x" * 1024 + "y"), last, NOW) == COUNT_INTERVAL - SECOND
