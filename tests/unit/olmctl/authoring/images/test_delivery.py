"""The warnings before an image is pushed."""

from __future__ import annotations

import pytest

from olmctl.authoring.images.delivery import unwritten_registries


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        pytest.param(
            "team/a:v1", '"team/a:v1" names no registry: it is pushed to docker.io, as docker.io/team/a:v1', id="none"
        ),
        pytest.param(
            "a:v1", '"a:v1" names no registry: it is pushed to docker.io, as docker.io/library/a:v1', id="a word"
        ),
        pytest.param("quay.io/a:v1", "", id="a registry"),
        pytest.param("localhost/a:v1", "", id="a registry on this machine"),
        pytest.param("docker.io/team/a:v1", "", id="the default registry, which is written"),
        pytest.param("index.docker.io/team/a:v1", "", id="the old name of that one"),
    ],
)
def test_a_reference_without_a_registry_is_pushed_to_the_public_one(reference: str, words: str) -> None:
    assert list(unwritten_registries([reference])) == ([words] if words else [])
