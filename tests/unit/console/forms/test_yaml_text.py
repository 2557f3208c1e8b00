"""The YAML that people edit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.forms.yaml_text import BadYaml, dump, load, load_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    text = dump(value)
    assert text.replace("\n", "").isprintable()
    assert load(text) == value


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(12)
)
BAD = [
    pytest.param("a: [1", 1, id="an open list"),
    pytest.param("a: 1\nb: {\n", 2, id="an open mapping"),
    pytest.param("a: 1\n---\nb: 1\n", 0, id="two documents"),
    pytest.param(BOMB, None, id="aliases that multiply"),
    pytest.param("[" * 10_000, None, id="ten thousand levels"),
    pytest.param("x" * 600_000, 0, id="too large"),
    pytest.param("[1]", 0, id="no object"),
    pytest.param("", 0, id="nothing"),
]


@pytest.mark.parametrize(("text", "line"), BAD)
def test_what_cannot_be_read_names_its_line(text: str, line: int | None) -> None:
    with pytest.raises(BadYaml) as caught:
        load_object(text)
    assert caught.value.message
    if line is not None:
        assert line == 0 or caught.value.line >= line
