"""The answers of catalogd that leave a check as it is, and those after which nothing is known of a bundle."""

from __future__ import annotations

import pytest

from operator_controller.crd_checks.checker import _without_summary


@pytest.mark.parametrize(
    ("status", "is_pending"),
    [
        pytest.param(202, True, id="the image is being read"),
        pytest.param(429, True, id="too many images are being read for other bundles"),
        pytest.param(503, True, id="catalogd cannot answer now"),
        pytest.param(404, False, id="the image cannot be read"),
        pytest.param(401, False, id="catalogd refuses the request"),
    ],
)
def test_a_check_waits_for_a_summary_that_may_be_there_in_a_moment(status: int, is_pending: bool) -> None:
    assert _without_summary(status).is_pending is is_pending
