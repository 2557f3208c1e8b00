"""JSON that nests deeper than orjson reads."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from olmkit.gocompat.json_depth import MAX_LEVELS, is_deeper, loads


def nested(levels: int, value: str = "1") -> str:
    """The text of a value in so many objects."""
    return '{"a":' * levels + value + "}" * levels


@pytest.mark.parametrize("levels", [1, MAX_LEVELS, 1024, 1025, 9_000])
def test_what_is_beside_a_deep_value_is_read(levels: int) -> None:
    deep = nested(levels, r'["}\\\"]", {}, [[]]]')
    text = f'{{"items": [{{"name": "]}}\\"[", "spec": {deep}, "status": {{"n": 1}}}}, {{"name": "b", "spec": []}}]}}'
    first, second = loads(text.encode())["items"]
    assert second == {"name": "b", "spec": []}
    assert (first["name"], first["status"]) == (']}"[', {"n": 1})
    assert is_deeper(first["spec"], MAX_LEVELS) == (levels + 2 > MAX_LEVELS), "what is cut is still too deep"


def test_nothing_but_a_text_that_is_too_deep_is_cut() -> None:
    assert is_deeper(loads(nested(1_020).encode()), 1_019)


@pytest.mark.parametrize("text", ["", "[", "]]", '{"a', nested(2_000)[:-1], f"{nested(2_000)},", '{"a":' * 2_000])
def test_what_is_no_json_is_an_error(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        loads(text.encode())


@pytest.mark.parametrize(
    ("value", "levels"),
    [
        pytest.param("a", 0, id="a text"),
        pytest.param({}, 1, id="an empty object"),
        pytest.param([{"a": [1]}, 2], 3, id="lists and objects"),
    ],
)
def test_the_levels_of_a_value(value: Any, levels: int) -> None:
    assert not is_deeper(value, levels)
    assert levels == 0 or is_deeper(value, levels - 1)
