"""A stream read ahead of whoever needs it, in a thread: inflating and reading a disk then happen beside other work.

Used by layers.py. Both let go of Python's lock, so a second processor does them. Holds a few blocks and no more.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BLOCK_BYTES = 1024 * 1024
"""Bytes that are read at a time: enough that taking Python's lock for each costs nothing."""
MAX_QUEUED_BLOCKS = 2
"""Blocks that may wait."""


@contextmanager
def read_ahead(read: Callable[[int], bytes]) -> Iterator[Callable[[], bytes]]:
    """A function that gives the next block of what `read` gives, b"" at its end; raises what `read` raised.

    When the context ends nothing reads any more.
    """
    blocks: queue.Queue[bytes | BaseException] = queue.Queue(MAX_QUEUED_BLOCKS)
    unwanted = threading.Event()

    def work() -> None:
        block: bytes | BaseException = b"more"
        while block and not isinstance(block, BaseException) and not unwanted.is_set():
            try:
                block = read(BLOCK_BYTES)
            except BaseException as error:  # told to the reader, who is in the middle of something else
                block = error
            blocks.put(block)

    thread = threading.Thread(target=work, name="read ahead", daemon=True)
    thread.start()
    try:
        yield lambda: _block(blocks)
    finally:
        unwanted.set()
        while thread.is_alive():
            try:
                blocks.get(timeout=0.01)
            except queue.Empty:
                continue
        thread.join()


def _block(blocks: queue.Queue[bytes | BaseException]) -> bytes:
    block = blocks.get()
    if isinstance(block, BaseException):
        blocks.put(block)  # whoever asks again hears the same
        raise block
    if not block:
        blocks.put(block)
    return block
