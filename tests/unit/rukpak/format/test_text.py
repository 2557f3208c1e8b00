"""Texts that messages are made of."""

from __future__ import annotations

import pytest

from rukpak.format.text import list_names


@pytest.mark.parametrize(
    ("items", "count", "text"),
    [
        pytest.param([], None, "", id="none"),
        pytest.param(["b", "a"], None, "a, b", id="sorted"),
        pytest.param(list("gfedcba"), None, "a, b, c, d, e, and 2 more", id="the first five"),
        pytest.param(list("edcba"), 9, "a, b, c, d, e, and 4 more", id="the first five of nine"),
    ],
)
def test_names_of_many(items: list[str], count: int | None, text: str) -> None:
    assert list_names(items, count=count) == text
