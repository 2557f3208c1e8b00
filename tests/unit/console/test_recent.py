"""Which results are found again."""

from __future__ import annotations

import pytest

from console.recent import Recent

ONE, TWO, EQUAL_TO_ONE = ["a"], ["b"], ["a"]


@pytest.mark.parametrize(
    ("key", "made_of", "found"),
    [
        pytest.param("page", [ONE, TWO], "result", id="the same objects"),
        pytest.param("other page", [ONE, TWO], None, id="another key"),
        pytest.param("page", [EQUAL_TO_ONE, TWO], None, id="an object that is equal, but another one"),
        pytest.param("page", [TWO, ONE], None, id="another order"),
        pytest.param("page", [ONE], None, id="an object less"),
        pytest.param("page", [ONE, TWO, TWO], None, id="an object more"),
    ],
)
def test_a_result_is_found_by_what_it_was_made_of(key: str, made_of: list[object], found: str | None) -> None:
    recent: Recent[str] = Recent(4)
    recent.put("page", [ONE, TWO], "result")
    assert recent.find(key, made_of) == found


def test_the_oldest_result_gives_way() -> None:
    recent: Recent[int] = Recent(2)
    for number in range(3):
        recent.put(number, [ONE], number)
    assert [recent.find(number, [ONE]) for number in range(3)] == [None, 1, 2]
