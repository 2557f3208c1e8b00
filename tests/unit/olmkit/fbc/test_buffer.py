"""The buffer of a stream: its place in the file, for chunks of any size."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.fbc.buffer import Buffer


class Pieces:
    """A stream that gives at most `size` bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = io.BytesIO(data)
        self._size = size

    def read(self, size: int, /) -> bytes:
        return self._data.read(min(size, self._size))


@given(st.lists(st.text("aé\U0001f600\n\r ", max_size=6), max_size=12), st.integers(1, 12))
def test_a_place_is_that_of_an_editor(texts: list[str], size: int) -> None:
    """Lines end with a newline, columns count characters; reading on changes neither."""
    buffer = Buffer(Pieces("".join(texts).encode(), size))
    before = ""
    for text in texts:
        while buffer.left() < len(text.encode()):
            assert buffer.more()
        buffer.take(len(text.encode()))
        before += text
        assert (buffer.line, buffer.column()) == (before.count("\n") + 1, len(before) - before.rfind("\n"))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_needle_is_found_across_chunks(size: int) -> None:
    buffer = Buffer(Pieces(b" \n {abc\nd", size))
    assert buffer.opens_with_brace()
    assert buffer.skip_space()
    assert (buffer.line, buffer.column()) == (2, 2)
    assert buffer.starts_with(b"{ab")
    assert buffer.length_to(b"c\n") == 5
    assert buffer.length_to(b"e") == -1
    assert buffer.take(5) == b"{abc\n"
    assert (buffer.line, buffer.column(), buffer.left()) == (3, 1, 1)
