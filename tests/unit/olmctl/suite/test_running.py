"""Whether all controllers are of one image."""

from __future__ import annotations

import pytest

from olmctl.suite.manifests import load_manifests
from olmctl.suite.objects import ObjectState
from olmctl.suite.running import with_image_differences


@pytest.mark.parametrize(
    ("images", "different"),
    [
        pytest.param(("a:1", "a:1", "a:1"), (), id="one image"),
        pytest.param(("a:1", "a:2", "a:1"), ("a:2",), id="one of three"),
        pytest.param(("a:1", "a:2", "a:3"), ("a:1", "a:2", "a:3"), id="three images"),
        pytest.param(("a:1", "a:2"), ("a:1", "a:2"), id="no majority"),
    ],
)
def test_controllers_with_another_image_are_not_good(images: tuple[str, ...], different: tuple[str, ...]) -> None:
    states = []
    for expected, image in zip(load_manifests().deployments, images, strict=False):
        container = {"name": expected["metadata"]["name"], "image": image}
        found = {**expected, "spec": {"template": {"spec": {"containers": [container]}}}}
        states.append(ObjectState(expected, found, "Available", is_good=True))
    assert tuple(each.image for each in with_image_differences(states) if not each.is_good) == different
