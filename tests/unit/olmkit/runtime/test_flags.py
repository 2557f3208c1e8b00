"""Quantities of memory in flags."""

from __future__ import annotations

import pytest

from olmkit.runtime.flags import quantity

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("1Ki", 1024), ("1536Mi", 1536 * MEBIBYTE), ("3Gi", 3 << 30)], ids=str
)
def test_quantity(text: str, size: int) -> None:
    assert quantity(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1.5Gi", "3G", "Gi", "1 Gi", "max"])
def test_an_invalid_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a number of bytes"):
        quantity(text)
