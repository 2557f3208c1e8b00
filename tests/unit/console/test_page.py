"""What a page gets of a URL and of a form."""

from __future__ import annotations

import pytest

from console.page import MAX_FIELDS, BadInput, Fields


def test_fields_have_one_or_several_values() -> None:
    fields = Fields([("a", "1"), ("b", ""), ("a", "2")])
    assert (fields.one("a"), fields.all("a"), fields.one("b", "x"), fields.one("c", "x")) == ("1", ("1", "2"), "", "x")
    assert "a" in fields
    assert "c" not in fields
    assert list(fields) == [("a", "1"), ("b", ""), ("a", "2")]


@pytest.mark.parametrize(
    "pairs",
    [
        [("a", "\0")],
        [("\0", "a")],
        [("a", "\udcff")],
        [("a", "x" * (1024 * 1024 + 1))],
        [("a", "1")] * (MAX_FIELDS + 1),
    ],
)
def test_what_no_field_has_is_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(BadInput):
        Fields(pairs)


def test_a_choice_is_one_of_those_that_there_are() -> None:
    assert Fields([("sort", "name")]).choice("sort", ("age", "name"), "age") == "name"
    assert Fields([("sort", "")]).choice("sort", ("age", "name"), "age") == "age"
    with pytest.raises(BadInput, match="x is none of age, name") as error:
        Fields([("sort", "x")]).choice("sort", ("name", "age"))
    assert error.value.name == "sort"


@pytest.mark.parametrize(("text", "number"), [("", 1), ("1", 1), ("50", 50), ("007", 7)])
def test_a_number(text: str, number: int) -> None:
    assert Fields([("page", text)]).number("page", 1, 1, 50) == number


@pytest.mark.parametrize("text", ["0", "51", "-1", "1.0", "\uff11", "1e3", "9" * 5000, "x"])
def test_what_is_no_number_within_the_bounds_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="no number from 1 to 50"):
        Fields([("page", text)]).number("page", 1, 1, 50)
