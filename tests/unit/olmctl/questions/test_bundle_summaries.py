"""The bundle of a catalog that has an image."""

from __future__ import annotations

import pytest

from olmctl.questions.bundle_summaries import CatalogBundle, are_different, bundle_with
from olmctl.questions.planned_bundle import BundleImage

DIGEST, OTHER = "sha256:1", "sha256:2"
BY_DIGEST = CatalogBundle("c", "p", "p.v1.0.0", "1.0.0", f"registry/p@{DIGEST}")
BY_TAG = CatalogBundle("c", "p", "p.v1.0.0", "1.0.0", "registry/p:v1.0.0")
NEWER = CatalogBundle("c", "p", "p.v1.1.0", "1.1.0", "registry/p:v1.1.0")
RUNNING = BundleImage("1.0.0", f"registry/p@{DIGEST}")


@pytest.mark.parametrize(
    ("bundles", "image", "found"),
    [
        pytest.param([NEWER, BY_DIGEST], RUNNING.image, BY_DIGEST, id="the one with its reference"),
        pytest.param([BY_DIGEST], f"mirror/p@{DIGEST}", BY_DIGEST, id="the one with its digest"),
        pytest.param([BY_TAG, NEWER], NEWER.image, NEWER, id="the one with its tag"),
        pytest.param([NEWER, BY_TAG], RUNNING.image, BY_TAG, id="that runs: the one of its version, which a tag names"),
        pytest.param([BY_TAG], f"registry/p@{OTHER}", None, id="not what another digest names"),
        pytest.param([NEWER], RUNNING.image, None, id="none of another version"),
        pytest.param([BY_TAG], "registry/q:v1.0.0", None, id="none with another tag"),
    ],
)
def test_the_bundle_of_an_image(bundles: list[CatalogBundle], image: str, found: CatalogBundle | None) -> None:
    assert bundle_with(bundles, image, RUNNING) == found


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(f"mirror/p@{DIGEST}", False, id="the same digest"),
        pytest.param(f"registry/p@{OTHER}", True, id="a tag that has moved"),
        pytest.param("registry/p:v1.0.0", False, id="an image that was not read"),
    ],
)
def test_a_tag_may_name_another_image_now(one: str, expected: bool) -> None:
    assert are_different(one, RUNNING.image) is expected
