"""Canonical text of quantities."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.gocompat.go_encoding import canonical


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0", "0"), ("100m", "100m"), ("1000m", "1"), ("1500m", "1500m"), ("0.5", "500m"), (".5", "500m"), ("5.", "5"),
        ("1000", "1k"), ("1024", "1024"), ("1000000", "1M"), ("1k", "1k"), ("0.001k", "1"), ("64Mi", "64Mi"),
        ("1024Mi", "1Gi"), ("0.5Gi", "512Mi"), ("1.5Gi", "1536Mi"), ("1Ki", "1Ki"), ("0.5Ki", "512"), ("1E", "1E"),
        ("1e3", "1e3"), ("1000e0", "1e3"), ("1E3", "1e3"), ("12e1", "120"), ("1e-3", "1e-3"), ("0.1n", "1n"), ("-0.1n", "-1n"),
        ("-1.5", "-1500m"), ("+1", "1"), ("1.10", "1100m"), ("2000M", "2G"), ("0Mi", "0"), ("0.3Ki", "307200m"),
    ],
)  # fmt: skip
def test_canonical(text: str, wanted: str) -> None:
    assert canonical(text) == wanted


@pytest.mark.parametrize("text", ["", "1 Mi", "1mi", "1KB", "ten", "1e", "--1", "1e400", "1" * 65, ".", "0x1"])
def test_invalid_quantities_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no quantity|exponent beyond"):
        canonical(text)


@settings(deadline=None)
@given(st.integers(-(10**9), 10**9), st.sampled_from(["", "n", "u", "m", "k", "M", "Ki", "Mi", "Gi", "e3", "e-3"]))
def test_canonical_text_is_its_own_canonical_text(number: int, suffix: str) -> None:
    once = canonical(f"{number}{suffix}")
    assert canonical(once) == once
