"""Blocks that are read ahead: all of them, in order, and nothing goes on when nobody wants more."""

from __future__ import annotations

import io
import threading

import pytest

from olmkit.sources.oci.read_ahead import BLOCK_BYTES, MAX_QUEUED_BLOCKS, read_ahead


def test_all_blocks_come_in_order_and_then_nothing() -> None:
    data = bytes(range(256)) * (BLOCK_BYTES // 64)
    with read_ahead(io.BytesIO(data).read) as next_block:
        found = [next_block() for _ in range(6)]
    assert b"".join(found) == data
    assert found[-2:] == [b"", b""]


def test_what_the_stream_raises_is_raised_and_again() -> None:
    def read(size: int) -> bytes:
        raise EOFError("cut off")

    with read_ahead(read) as next_block:
        for _ in range(2):
            with pytest.raises(EOFError, match="cut off"):
                next_block()


def test_no_more_than_a_few_blocks_are_read_ahead_and_no_thread_stays() -> None:
    before = threading.active_count()
    asked: list[int] = []

    def read(size: int) -> bytes:
        asked.append(size)
        return b"x"

    with read_ahead(read) as next_block:
        assert next_block() == b"x"
    assert len(asked) <= MAX_QUEUED_BLOCKS + 4
    assert threading.active_count() == before
