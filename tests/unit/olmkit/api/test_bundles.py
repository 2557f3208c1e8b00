"""Functions that read a Bundle."""

from typing import Any

import pytest

from olmkit.api.bundles import resolved_digest


@pytest.mark.parametrize(
    ("raw", "digest"),
    [
        pytest.param({}, "", id="no status"),
        pytest.param({"status": {"resolvedSource": {"type": "image"}}}, "", id="no image"),
        pytest.param({"status": {"resolvedSource": {"image": {"ref": "r/a:v1"}}}}, "", id="a tag"),
        pytest.param({"status": {"resolvedSource": {"image": {"ref": "r/a@sha256:1"}}}}, "sha256:1", id="a digest"),
    ],
)
def test_the_requested_digest_of_a_bundle(raw: dict[str, Any], digest: str) -> None:
    assert resolved_digest(raw) == digest
