"""Blocks that are read ahead: complete, in order, and limited."""

from __future__ import annotations

import io
import threading

import pytest

from olmkit.sources.oci.layers import BLOCK_BYTES, MAX_QUEUED_BLOCKS, read_ahead


def test_all_blocks_are_returned_in_order() -> None:
    data = bytes(range(256)) * (BLOCK_BYTES // 64)
    with read_ahead(io.BytesIO(data).read) as next_block:
        found = [next_block() for _ in range(6)]
    assert b"".join(found) == data
    assert found[-2:] == [b"", b""]


def test_an_error_of_the_stream_is_raised_by_each_call() -> None:
    def read(size: int) -> bytes:
        raise EOFError("cut off")

    with read_ahead(read) as next_block:
        for _ in range(2):
            with pytest.raises(EOFError, match="cut off"):
                next_block()


def test_few_blocks_are_read_ahead_and_the_thread_ends() -> None:
    before = threading.active_count()
    asked: list[int] = []

    def read(size: int) -> bytes:
        asked.append(size)
        return b"x"

    with read_ahead(read) as next_block:
        assert next_block() == b"x"
    assert len(asked) <= MAX_QUEUED_BLOCKS + 4
    assert threading.active_count() == before
