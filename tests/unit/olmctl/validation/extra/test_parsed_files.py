"""The integers of a file that Kubernetes reads as other numbers."""

from __future__ import annotations

import pytest

from olmctl.validation.extra.parsed_files import MAX_ROUNDED, Rounded, rounded_numbers


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: 9223372036854775807", id="the largest of 64 bits"),
        pytest.param("a: -9223372036854775808", id="the smallest of 64 bits"),
        pytest.param("a: 18446744073709551616", id="one that a float holds"),
        pytest.param("a: '18446744073709551617'", id="text in quotes"),
        pytest.param("a: |\n  18446744073709551617\n", id="text of several lines"),
        pytest.param("maximum: 18446744073709551615", id="a limit of a schema, which is a float"),
        pytest.param("a: {: 18446744073709551617", id="after a fault of the YAML"),
    ],
)
def test_numbers_that_stay(text: str) -> None:
    assert list(rounded_numbers(text.encode())) == []


def test_a_number_that_is_rounded() -> None:
    found = list(rounded_numbers(b'{"a": "b",\n"c": [1, 18446744073709551617]}'))
    assert found == [Rounded("18446744073709551617", 18446744073709551616.0, 2)]


def test_the_first_numbers_of_many_are_named() -> None:
    assert len(list(rounded_numbers(b"- 18446744073709551617\n" * 100))) == MAX_ROUNDED
