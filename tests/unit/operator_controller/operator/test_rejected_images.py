"""What is remembered of images that rukpak refused."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.runtime.informer import Change
from operator_controller.operator.rejected_images import MAX_REJECTED_IMAGES, RejectedImages
from tests.unit.operator_controller.operator.builders import deployment

IMAGE = {"image": "registry/p@1.0.0", "message": "webhooks"}
"""As the builders' images: what follows the @ stands for a digest."""
VALID = [("HasValidBundle", "True", "UnpackSuccessful", "")]


def said(refused: dict[str, str] | None, **changes: Any) -> Change:
    known = deployment("1.0.0", **changes)
    status = {**known.raw["status"], **({"refused": refused} if refused else {})}
    return Change(None, {**known.raw, "status": status})


def after(*changes: Change) -> dict[str, str]:
    refusals = RejectedImages()
    for change in changes:
        refusals.learn(change)
    return dict(refusals.snapshot())


@pytest.mark.parametrize(
    ("changes", "remembered"),
    [
        pytest.param([said(None)], {}, id="nothing was refused"),
        pytest.param([said(IMAGE)], {"1.0.0": "webhooks"}, id="a refusal is remembered"),
        pytest.param([said(IMAGE), said(None)], {"1.0.0": "webhooks"}, id="while nothing else is known it stays"),
        pytest.param(
            [said(IMAGE), Change(said(IMAGE).new, None)],
            {"1.0.0": "webhooks"},
            id="also when its BundleDeployment goes",
        ),
        pytest.param([said(IMAGE), said(None, conditions=VALID)], {}, id="it goes when the image is taken"),
        pytest.param(
            [said(IMAGE), said(None, conditions=VALID, generation=2, observed=1)],
            {"1.0.0": "webhooks"},
            id="what is said of another template does not count",
        ),
        pytest.param(
            [said(IMAGE), Change(None, {**(said(None).new or {}), "spec": {}})],
            {"1.0.0": "webhooks"},
            id="an object that an older schema let in says nothing",
        ),
    ],
)
def test_what_is_remembered(changes: list[Change], remembered: dict[str, str]) -> None:
    assert after(*changes) == remembered


def test_the_oldest_go_when_there_are_too_many() -> None:
    many = [said({"image": f"r@{number}", "message": "m"}) for number in range(MAX_REJECTED_IMAGES + 2)]
    found = after(*many)
    assert len(found) == MAX_REJECTED_IMAGES
    assert "0" not in found
