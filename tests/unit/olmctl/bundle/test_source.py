"""The name that a bundle gives its BundleDeployment."""

from __future__ import annotations

import pytest

from olmctl.bundle.source import default_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("message-board", "message-board", id="of the package, the directory or the image"),
        pytest.param("Message_Board 1.0.0", "message-board-1-0-0", id="with other characters"),
        pytest.param(f"{'a' * 44}.b", "a" * 44, id="that is too long"),
        pytest.param("___", "", id="that gives none"),
    ],
)
def test_the_default_name(text: str, name: str) -> None:
    assert default_name(text) == name
