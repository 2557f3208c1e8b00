"""The states of the objects of the suite."""

from __future__ import annotations

import pytest

from olmctl.suite.objects import version_text


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param("example.com/suite:v1.0.0", "v1.0.0", id="the same tag"),
        pytest.param(f"example.com/suite:v1.0.0@sha256:{'0' * 64}", "v1.0.0", id="the same tag, and a digest"),
        pytest.param("example.com/suite:v1.0.1", "v1.0.0 (image v1.0.1)", id="another tag"),
        pytest.param("example.com/suite", "v1.0.0 (image latest)", id="no tag"),
        pytest.param(f"example.com/suite@sha256:{'0' * 64}", "v1.0.0 (image sha256:000000000000)", id="a digest"),
        pytest.param("Bad Image", "v1.0.0 (image unknown)", id="no image"),
    ],
)
def test_the_version_says_if_the_image_is_of_another(image: str, expected: str) -> None:
    assert version_text("v1.0.0", image) == expected
