"""Processes that read YAML documents beside the job: reading holds Python's lock, and a machine has more than one processor.

Made by catalogd.ingest.load_job before the job has threads, used by catalogd.ingest.catalog_files. Documents go to the readers
in batches; what they make of them (catalogd.ingest.serialized_blobs) comes back in the order the documents were given. Never
waits for a reader without also sending to it, so neither waits for the other; what is under way is bounded, however large the
values in the documents are.

A reader has the job's limits for itself, and less memory. How one ends without an answer is how the job ends: see WorkerDied.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import msgspec

from catalogd.ingest import yaml_worker
from catalogd.ingest.yaml_worker import DocumentBatch, FileBlobs, Frame
from catalogd.ingest.yaml_worker_limits import YAML_WORKER_MEMORY_BYTES, YAML_WORKERS
from olmkit.fbc.documents import RawDocument

DOCUMENT_BATCH_BYTES = 128 * 1024
"""Of documents, about. So much fits into a socket twice: a reader need not wait for the job."""
MAX_BATCHES_IN_FLIGHT = 3
"""Batches per reader that are sent and not answered."""
MAX_BUFFERED_BYTES = 512 * 1024
"""Of answers of one reader that may wait for answers of another."""
RECEIVE_BYTES = 256 * 1024

BlobsCallback = Callable[[FileBlobs], None]
_HEAD: Final = struct.Struct("<I")
_DECODER: Final = msgspec.msgpack.Decoder(Frame)


class WorkerDied(Exception):
    """A reader ended without an answer; `signal` is what ended it, 0 nothing did."""

    def __init__(self, number: int) -> None:
        super().__init__(f"a process that reads YAML ended ({signal.Signals(number).name if number else 'no signal'})")
        self.signal = number

    def raise_signal(self) -> None:
        """End this process in the same way, so that whoever waits for it learns why. Returns when there is no such way."""
        if self.signal:
            os.kill(os.getpid(), self.signal)


class YamlWorkerPool:
    """`count` readers, ended by leaving the `with` block, by the end of this process and by that of the thread that made them.

    `bundle_metadata` as in catalogd.ingest.serialized_blobs. The `take` of methods is given what came back: all parts of a
    file that was added before come before those of the next, and after a part with a fault there is nothing more of its file.
    Raises WorkerDied, MemoryError when a reader needed more than its limit, and RuntimeError for an error nobody foresaw.
    """

    def __init__(
        self, *, bundle_metadata: bool, count: int = YAML_WORKERS, batch_bytes: int = DOCUMENT_BATCH_BYTES
    ) -> None:
        self._batch_bytes = batch_bytes
        self._all: deque[_Worker] = deque()
        self._turns: deque[_Worker] = deque()
        self._batch: list[tuple[int, int, bytes]] = []
        self._size = 0
        self._fault_in = -1
        try:
            for _ in range(count):
                self._all.append(_start(bundle_metadata))
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def add(self, file: int, document: RawDocument, take: BlobsCallback) -> None:
        """Have a document read. `file` is the file's number; files come one after the other."""
        self._batch.append((file, document.line, document.text))
        self._size += len(document.text)
        if self._size >= self._batch_bytes:
            self._send()
            while len(self._turns) > MAX_BATCHES_IN_FLIGHT * len(self._all):
                self._receive(take)

    def drain(self, take: BlobsCallback) -> None:
        """Wait until everything that was added is read."""
        self._send()
        while self._turns:
            self._receive(take)

    def _send(self) -> None:
        if self._batch:
            self._all.rotate()
            self._turns.append(self._all[0])
            self._all[0].send(DocumentBatch(self._batch))
            self._batch, self._size = [], 0

    def _receive(self, take: BlobsCallback) -> None:
        """Take the next part of what the reader says whose turn it is."""
        turn = self._turns[0]
        while not turn.frames:
            self._exchange(turn)
        frame = _DECODER.decode(turn.frames.popleft())
        if frame.out_of_memory:
            raise MemoryError
        if frame.unexpected_error:
            raise RuntimeError(frame.unexpected_error)
        for part in frame.parts:
            if part.file != self._fault_in:
                if part.error:
                    self._fault_in = part.file
                take(part)
        if frame.is_last:
            self._turns.popleft()

    def _exchange(self, turn: _Worker) -> None:
        """Wait until a reader has something to say, or takes what it has not been sent yet."""
        poll, by_number = select.poll(), {each.connection.fileno(): each for each in self._all}
        for number, each in by_number.items():
            hear = select.POLLIN if each is turn or each.held < MAX_BUFFERED_BYTES else 0
            poll.register(number, hear | (select.POLLOUT if each.unsent else 0))
        for number, events in poll.poll():
            if events & select.POLLOUT:
                by_number[number].flush()
            if events & ~select.POLLOUT:
                by_number[number].hear()

    def _end(self) -> None:
        for each in self._all:
            each.connection.close()
        for each in self._all:
            each.end()


class _Worker:
    """The job's side of one reader. No method waits, but the last."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.connection = connection
        self.unsent: deque[memoryview] = deque()
        self.frames: deque[bytes | bytearray] = deque()
        self._pid = pid
        self._heard = bytearray()
        connection.setblocking(False)

    @property
    def held(self) -> int:
        """Bytes that it said and nobody took."""
        return len(self._heard) + sum(map(len, self.frames))

    def send(self, batch: DocumentBatch) -> None:
        """Send as much as it takes now, keep the rest."""
        data = msgspec.msgpack.encode(batch)
        self.unsent += (memoryview(_HEAD.pack(len(data))), memoryview(data))
        self.flush()

    def flush(self) -> None:
        """Send on."""
        try:
            while self.unsent:
                sent = self.connection.send(self.unsent[0])
                self.unsent[0] = self.unsent[0][sent:]
                if not self.unsent[0]:
                    self.unsent.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._died()

    def hear(self) -> None:
        """Take in some of what it says."""
        try:
            data = self.connection.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._died()
        self._heard += data
        while len(self._heard) >= _HEAD.size:
            end = _HEAD.size + _HEAD.unpack_from(self._heard)[0]
            if len(self._heard) < end:
                break
            self.frames.append(self._heard[_HEAD.size : end])
            del self._heard[:end]

    def _died(self) -> None:
        status = os.waitpid(self._pid, 0)[1]
        self._pid = 0
        raise WorkerDied(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        if self._pid:
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            except PermissionError:
                # The sandbox allows to signal the group only, which holds this process and its readers.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.kill(0, signal.SIGTERM)
            os.waitpid(self._pid, 0)


def _start(bundle_metadata: bool) -> _Worker:
    ours, theirs = socket.socketpair()
    with theirs:
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * DOCUMENT_BATCH_BYTES)
        parent = os.getpid()
        try:
            pid = os.fork()
        except BaseException:
            ours.close()
            raise
        if pid == 0:
            yaml_worker.run_worker(theirs.fileno(), parent, YAML_WORKER_MEMORY_BYTES, bundle_metadata=bundle_metadata)
        return _Worker(pid, ours)
