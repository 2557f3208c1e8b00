"""Images that rukpak rejected."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.runtime.informer import Change
from operator_controller.operator.rejected_images import MAX_REJECTED_IMAGES, RejectedImages
from tests.unit.operator_controller.operator.worlds import deployment

IMAGE = {"image": "registry/p@1.0.0", "message": "webhooks"}
"""As the images of worlds.py: the text after @ stands for a digest."""
VALID = [("HasValidBundle", "True", "UnpackSuccessful", "")]


def change_of(refused: dict[str, str] | None, **changes: Any) -> Change:
    known = deployment("1.0.0", **changes)
    status = {**known.raw["status"], **({"refused": refused} if refused else {})}
    return Change(None, {**known.raw, "status": status})


def after(*changes: Change) -> dict[str, str]:
    images = RejectedImages()
    for change in changes:
        images.record(change)
    return dict(images.snapshot())


@pytest.mark.parametrize(
    ("changes", "rejected"),
    [
        pytest.param([change_of(None)], {}, id="nothing was rejected"),
        pytest.param([change_of(IMAGE)], {"1.0.0": "webhooks"}, id="a rejection"),
        pytest.param(
            [change_of(IMAGE), change_of(None)],
            {"1.0.0": "webhooks"},
            id="it stays without a newer result",
        ),
        pytest.param(
            [change_of(IMAGE), Change(change_of(IMAGE).new, None)],
            {"1.0.0": "webhooks"},
            id="it stays when its BundleDeployment is deleted",
        ),
        pytest.param(
            [change_of(IMAGE), change_of(None, conditions=VALID)], {}, id="it is removed when the image is accepted"
        ),
        pytest.param(
            [change_of(IMAGE), change_of(None, conditions=VALID, generation=2, observed=1)],
            {"1.0.0": "webhooks"},
            id="the status of another generation does not count",
        ),
        pytest.param(
            [change_of(IMAGE), Change(None, {**(change_of(None).new or {}), "spec": {}})],
            {"1.0.0": "webhooks"},
            id="an object that an older schema admitted is ignored",
        ),
    ],
)
def test_the_rejected_images(changes: list[Change], rejected: dict[str, str]) -> None:
    assert after(*changes) == rejected


def test_the_oldest_are_dropped_beyond_the_maximum() -> None:
    many = [change_of({"image": f"r@{number}", "message": "m"}) for number in range(MAX_REJECTED_IMAGES + 2)]
    found = after(*many)
    assert len(found) == MAX_REJECTED_IMAGES
    assert "0" not in found
