"""Which statuses are held back, and for how long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from olmkit.runtime.held_progress import (
    FIRST_DELAY,
    MAX_DELAY,
    MAX_V1_DELAY,
    NEXT_DELAY,
    HeldProgress,
    is_progress,
    is_v1_progress,
)


def status(*rows: str, **fields: Any) -> dict[str, Any]:
    """A status of generation 1; each row is `Type Status Reason message`."""
    names = ("type", "status", "reason", "message")
    return {
        "observedGeneration": 1,
        "conditions": [dict(zip(names, row.split(" ", 3), strict=True)) for row in rows],
        **fields,
    }


NEW = {"observedGeneration": -1}
INSTALLING = status(
    "Resolved True Success r",
    "Installed Unknown Pending p",
    "Ready False Installing p",
    "Reconciling True Installing p",
)
LATER = status(
    "Resolved True Success r",
    "Installed Unknown Pending q",
    "Ready False Installing q",
    "Reconciling True Installing q",
)
INSTALLED = status(
    "Resolved True Success r", "Installed True Success i", "Ready False Progressing h", "Reconciling True Progressing h"
)
READY = status("Resolved True Success r", "Installed True Success i", "Ready True Succeeded w")
UPGRADING = status(
    "Resolved True Success r", "Installed True Success i", "Ready False Upgrading u", "Reconciling True Upgrading u"
)
FAILED = status(
    "Resolved True Success r",
    "Installed False InstallationFailed f",
    "Ready False Installing f",
    "Reconciling True Installing f",
)
RETRYING = status("Installed Unknown Pending x", "Ready False Installing x", "Reconciling True Retrying x")
STALLED = status(
    "Resolved True Success r", "Installed False InstallFailed b", "Ready False Installing b", "Stalled True Blocked b"
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(NEW, INSTALLING, True, id="work begins"),
        pytest.param(INSTALLING, LATER, True, id="work goes on"),
        pytest.param(INSTALLING, INSTALLED, False, id="something is reached"),
        pytest.param(INSTALLED, READY, False, id="the outcome"),
        pytest.param(INSTALLING, FAILED, False, id="a failure"),
        pytest.param(INSTALLING, RETRYING, False, id="something is retried"),
        pytest.param(INSTALLING, STALLED, False, id="a failure that stays"),
        pytest.param(STALLED, {**INSTALLING, "observedGeneration": 2}, False, id="a failure of another spec is over"),
        pytest.param(STALLED, INSTALLING, True, id="what has failed is tried again"),
        pytest.param({**STALLED, "failure": "f"}, INSTALLING, True, id="a failure that is tried again is over"),
        pytest.param({**STALLED, "failure": "f"}, {**INSTALLING, "failure": "g"}, False, id="another failure"),
        pytest.param(INSTALLING, {**LATER, "failure": "f"}, False, id="a failure beside work"),
        pytest.param(READY, UPGRADING, False, id="something is lost"),
        pytest.param(NEW, {**INSTALLING, "resolution": "x"}, True, id="a field that describes the work"),
        pytest.param(INSTALLING, {**LATER, "activeBundle": "x"}, False, id="a field that others read"),
    ],
)
def test_only_progress_is_held_back(before: dict[str, Any], after: dict[str, Any], expected: bool) -> None:
    assert is_progress(before, after, frozenset({"resolution"})) is expected


V1_NOT_INSTALLED = status("Installed False Absent No bundle installed", "Deprecated False NotDeprecated n")
V1_INSTALLED = status("Progressing True Succeeded d", "Installed True Succeeded i")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, V1_NOT_INSTALLED, True, id="nothing is installed yet"),
        pytest.param(
            V1_NOT_INSTALLED, status("Installed False Absent n", "Deprecated True d d"), True, id="no outcome yet"
        ),
        pytest.param(V1_NOT_INSTALLED, V1_INSTALLED, False, id="the outcome"),
        pytest.param({}, status("Progressing True Retrying f", "Installed False Failed n"), False, id="a failure"),
        pytest.param(
            status("Progressing False Blocked f", "Installed False Failed n"),
            V1_NOT_INSTALLED,
            False,
            id="a failure is over",
        ),
        pytest.param(V1_NOT_INSTALLED, status("Installed True Succeeded i"), False, id="a bundle is installed"),
        pytest.param(status("Installed True Succeeded i"), V1_NOT_INSTALLED, False, id="a bundle is gone"),
    ],
)
def test_only_progress_of_the_kinds_of_olm_v1_is_held_back(
    before: dict[str, Any], after: dict[str, Any], expected: bool
) -> None:
    assert is_v1_progress(before, after, frozenset()) is expected


def test_progress_is_due_after_a_moment_and_later_progress_after_a_longer_one() -> None:
    held = HeldProgress()
    assert held.remaining("a", NEW, 1, 10.0) == FIRST_DELAY
    assert held.remaining("a", NEW, 1, 10.75) == FIRST_DELAY - timedelta(seconds=0.75)
    assert held.remaining("a", NEW, 1, 11.0) == timedelta()
    assert held.remaining("a", INSTALLING, 1, 12.0) == NEXT_DELAY
    assert held.remaining("a", INSTALLING, 2, 12.5) == FIRST_DELAY - timedelta(seconds=0.5), "of another generation"


def test_an_outcome_ends_the_delay() -> None:
    held = HeldProgress()
    held.remaining("a", NEW, 1, 10.0)
    held.release("a")
    assert held.remaining("a", NEW, 1, 20.0) == FIRST_DELAY


def test_the_more_objects_are_in_progress_the_longer_each_waits() -> None:
    held = HeldProgress()
    delays = [held.remaining(str(number), NEW, 1, 10.0) for number in range(1000)]
    assert delays[:3] == [FIRST_DELAY] * 3
    assert delays[8] == timedelta(seconds=3)
    assert delays[-1] == MAX_DELAY
    assert held.remaining("v1", NEW, 1, 10.0, MAX_V1_DELAY) == MAX_V1_DELAY
    assert held.remaining("new", NEW, 1, 71.0) == FIRST_DELAY, "objects that nobody looked at again do not count"
