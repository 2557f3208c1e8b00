"""Reads a stream ahead in a thread, so that disk reads and decompression run in parallel to the consumer.

Both release the GIL, so they use a second CPU. At most MAX_QUEUED_BLOCKS blocks are kept in memory.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BLOCK_BYTES = 1024 * 1024
"""The bytes of one read: large enough that acquiring the GIL for each costs nothing."""
MAX_QUEUED_BLOCKS = 2
"""Blocks that wait for the consumer."""


@contextmanager
def read_ahead(read: Callable[[int], bytes]) -> Iterator[Callable[[], bytes]]:
    """A function that returns the next block of `read`, b"" at the end, or raises what `read` raised.

    The thread has ended when the context ends.
    """
    blocks: queue.Queue[bytes | BaseException] = queue.Queue(MAX_QUEUED_BLOCKS)
    stopped = threading.Event()

    def work() -> None:
        block: bytes | BaseException = b"more"
        while block and not isinstance(block, BaseException) and not stopped.is_set():
            try:
                block = read(BLOCK_BYTES)
            except BaseException as error:  # raised again in the consumer's thread
                block = error
            blocks.put(block)

    thread = threading.Thread(target=work, name="read ahead", daemon=True)
    thread.start()
    try:
        yield lambda: _block(blocks)
    finally:
        stopped.set()
        while thread.is_alive():
            try:
                blocks.get(timeout=0.01)
            except queue.Empty:
                continue
        thread.join()


def _block(blocks: queue.Queue[bytes | BaseException]) -> bytes:
    block = blocks.get()
    if isinstance(block, BaseException):
        blocks.put(block)  # the next call raises it too
        raise block
    if not block:
        blocks.put(block)
    return block
