"""The image of the chart's values is that of the manifests, with everything that a reference can have."""

from __future__ import annotations

import pytest

from olmctl.suite.manifests import load_manifests
from release.chart_values import chart_values

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("image", "repository", "tag", "digest"),
    [
        pytest.param("registry.example.com/suite:v1", "registry.example.com/suite", "v1", "", id="a tag"),
        pytest.param("localhost:5000/x/suite:v1", "localhost:5000/x/suite", "v1", "", id="a port and a tag"),
        pytest.param(f"example.com/suite@{DIGEST}", "example.com/suite", "", DIGEST, id="a digest"),
        pytest.param(f"localhost:5000/suite@{DIGEST}", "localhost:5000/suite", "", DIGEST, id="a port and a digest"),
        pytest.param(f"example.com/suite:v1@{DIGEST}", "example.com/suite", "v1", DIGEST, id="a tag and a digest"),
        pytest.param(
            f"localhost:5000/suite:v1@{DIGEST}", "localhost:5000/suite", "v1", DIGEST, id="a port, a tag and a digest"
        ),
        pytest.param("localhost:5000/suite", "localhost:5000/suite", "latest", "", id="a port alone"),
        pytest.param("suite", "suite", "latest", "", id="a name alone"),
    ],
)
def test_the_values_are_the_parts_of_the_image(image: str, repository: str, tag: str, digest: str) -> None:
    values = {each.path: each.default for each in chart_values(load_manifests(image), [])}
    found = tuple(values[f"image.{part}"] for part in ("repository", "tag", "digest"))
    assert found == (repository, tag, digest)
