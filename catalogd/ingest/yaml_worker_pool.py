"""Processes that parse YAML documents for a load job: parsing holds the GIL, and a machine has more than one processor.

Documents are sent to the workers in batches; the serialized blobs come back in the order of the documents. The pool never waits
for a worker without also sending to it, so that neither blocks the other. The data in flight is bounded, however large the values
in the documents are.

A worker has the limits of the job, and less memory. If a worker dies, the job ends in the same way: see WorkerDied.
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
from catalogd.ingest.load_task import YAML_WORKER_COUNT, YAML_WORKER_MEMORY_BYTES
from catalogd.ingest.yaml_worker import DocumentBatch, FileBlobs, Frame
from olmkit.fbc.documents import RawDocument

DOCUMENT_BATCH_BYTES = 128 * 1024
"""The size of a batch. The buffer of a socket holds two, so that a worker need not wait for the job."""
MAX_BATCHES_IN_FLIGHT = 3
"""The most batches per worker that are sent and not answered."""
MAX_BUFFERED_BYTES = 512 * 1024
"""The most bytes of one worker that wait for frames of another one."""
RECEIVE_BYTES = 256 * 1024

BlobsCallback = Callable[[FileBlobs], None]
_FRAME_HEADER: Final = struct.Struct("<I")
_DECODER: Final = msgspec.msgpack.Decoder(Frame)


class WorkerDied(Exception):
    """A worker ended unexpectedly; `signal` is the signal that ended it, 0 for none."""

    def __init__(self, number: int) -> None:
        super().__init__(f"a process that reads YAML ended ({signal.Signals(number).name if number else 'no signal'})")
        self.signal = number

    def raise_signal(self) -> None:
        """End this process with the same signal, so that the controller reports the cause. Returns when there is no signal."""
        if self.signal:
            os.kill(os.getpid(), self.signal)


class YamlWorkerPool:
    """`count` workers. They end with the `with` block, with this process, and with the thread that started them.

    Methods call `callback` with the blobs that came back, in the order of the
    files. After blobs with an error there are no more of their file. Methods raise WorkerDied, MemoryError when a worker
    reached its memory limit, and RuntimeError for an unexpected error of a worker.
    """

    def __init__(self, *, count: int = YAML_WORKER_COUNT, batch_bytes: int = DOCUMENT_BATCH_BYTES) -> None:
        self._batch_bytes = batch_bytes
        self._workers: deque[_Worker] = deque()
        self._pending: deque[_Worker] = deque()
        self._batch: list[tuple[int, int, bytes]] = []
        self._size = 0
        self._failed_file = -1
        try:
            for _ in range(count):
                self._workers.append(_start())
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def add(self, file: int, document: RawDocument, callback: BlobsCallback) -> None:
        """Send a document to a worker. `file` is the number of its file; files are added one after the other."""
        self._batch.append((file, document.line, document.text))
        self._size += len(document.text)
        if self._size >= self._batch_bytes:
            self._send()
            while len(self._pending) > MAX_BATCHES_IN_FLIGHT * len(self._workers):
                self._receive(callback)

    def drain(self, callback: BlobsCallback) -> None:
        """Wait until all added documents are parsed."""
        self._send()
        while self._pending:
            self._receive(callback)

    def _send(self) -> None:
        if self._batch:
            self._workers.rotate()
            self._pending.append(self._workers[0])
            self._workers[0].send(DocumentBatch(self._batch))
            self._batch, self._size = [], 0

    def _receive(self, callback: BlobsCallback) -> None:
        """Receive the next frame of the worker whose batch is the oldest."""
        worker = self._pending[0]
        while not worker.frames:
            self._exchange(worker)
        frame = _DECODER.decode(worker.frames.popleft())
        if frame.out_of_memory:
            raise MemoryError
        if frame.unexpected_error:
            raise RuntimeError(frame.unexpected_error)
        for part in frame.parts:
            if part.file != self._failed_file:
                if part.error:
                    self._failed_file = part.file
                callback(part)
        if frame.is_last:
            self._pending.popleft()

    def _exchange(self, current: _Worker) -> None:
        """Wait until a worker can be read from or written to, and do so."""
        poll, by_number = select.poll(), {each.connection.fileno(): each for each in self._workers}
        for number, each in by_number.items():
            events = select.POLLIN if each is current or each.buffered < MAX_BUFFERED_BYTES else 0
            poll.register(number, events | (select.POLLOUT if each.unsent else 0))
        for number, events in poll.poll():
            if events & select.POLLOUT:
                by_number[number].flush()
            if events & ~select.POLLOUT:
                by_number[number].receive()

    def _end(self) -> None:
        for each in self._workers:
            each.connection.close()
        for each in self._workers:
            each.end()


class _Worker:
    """The job's side of one worker. Only end() blocks."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.connection = connection
        self.unsent: deque[memoryview] = deque()
        self.frames: deque[bytes | bytearray] = deque()
        self._pid = pid
        self._received = bytearray()
        connection.setblocking(False)

    @property
    def buffered(self) -> int:
        """Bytes that were received and not processed."""
        return len(self._received) + sum(map(len, self.frames))

    def send(self, batch: DocumentBatch) -> None:
        """Send what the socket accepts now, and keep the rest."""
        data = msgspec.msgpack.encode(batch)
        self.unsent += (memoryview(_FRAME_HEADER.pack(len(data))), memoryview(data))
        self.flush()

    def flush(self) -> None:
        """Send more of the kept data."""
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

    def receive(self) -> None:
        """Receive some data."""
        try:
            data = self.connection.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._died()
        self._received += data
        while len(self._received) >= _FRAME_HEADER.size:
            end = _FRAME_HEADER.size + _FRAME_HEADER.unpack_from(self._received)[0]
            if len(self._received) < end:
                break
            self.frames.append(self._received[_FRAME_HEADER.size : end])
            del self._received[:end]

    def _died(self) -> None:
        status = os.waitpid(self._pid, 0)[1]
        self._pid = 0
        raise WorkerDied(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)

    def end(self) -> None:
        """Kill the process and wait for its end."""
        if self._pid:
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            except PermissionError:
                # The sandbox allows signals to the process group only: this process and its workers.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.kill(0, signal.SIGTERM)
            os.waitpid(self._pid, 0)


def _start() -> _Worker:
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
            yaml_worker.run_worker(theirs.fileno(), parent, YAML_WORKER_MEMORY_BYTES)
        return _Worker(pid, ours)
