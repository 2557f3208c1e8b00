"""The life of one process that reads YAML documents for the job that forked it (catalogd.ingest.yaml_worker_pool).

Batches come over a socket, frames go back, each with its length in front of it. Ends when the socket does, and with the job.
Writes nothing else anywhere.
"""

from __future__ import annotations

import gc
import os
import socket
import struct
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Final, NoReturn

import msgspec

from catalogd.ingest.serialized_blobs import SerializedBlob, serialize_blob
from olmkit.fbc.blobs import parse_blob
from olmkit.fbc.documents import RawDocument
from olmkit.fbc.errors import BadDocument
from olmkit.jobs import child, syscalls

MAX_FRAME_BYTES = 256 * 1024
"""Of what was made of documents; with more of it the frame is sent. It may hold one document more."""
MAX_FRAME_BLOBS = 512
"""The same: a line takes some KB while it is kept, however short it is."""
MAX_ERROR_LENGTH = 500
"""Characters."""

_HEAD: Final = struct.Struct("<I")


class DocumentBatch(msgspec.Struct, array_like=True):
    """Documents of one or more files: number of the file, line in it, text."""

    documents: list[tuple[int, int, bytes]]


class FileBlobs(msgspec.Struct, array_like=True):
    """What some documents of one file are, in their order. `fault` is what stopped its reading behind them ("" nothing)."""

    file: int
    blobs: list[SerializedBlob]
    error: str = ""


class Frame(msgspec.Struct, array_like=True):
    """Some of what a batch holds, or why there is no more. `memory`: it would need more than there may be."""

    parts: list[FileBlobs]
    is_last: bool = False
    out_of_memory: bool = False
    unexpected_error: str = ""


_DECODER: Final = msgspec.msgpack.Decoder(DocumentBatch)
_NO_MEMORY: Final = msgspec.msgpack.encode(Frame([], out_of_memory=True))


def run_worker(channel: int, parent: int, memory: int, *, bundle_metadata: bool) -> NoReturn:
    """Read what arrives on `channel`, a socket, and end the process. To be called right after the fork. `memory` in bytes."""
    code = 1
    try:
        syscalls.die_with_parent(parent)
        child.reset_inherited_state(channel)
        child.limit_memory(memory)
        gc.freeze()  # the collector must not touch, and so copy, pages that the job shares
        with socket.socket(fileno=channel) as connection, suppress(ConnectionError):
            _Reading(bundle_metadata).answer_all(connection)
        code = 0
    except BaseException:  # nothing may unwind into the job's frames
        _log_error()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


class _Reading:
    """What is read of batches, one after the other."""

    def __init__(self, bundle_metadata: bool) -> None:
        self._bundle_metadata = bundle_metadata
        self._stopped_in = -1

    def answer_all(self, connection: socket.socket) -> None:
        """Until the other end is closed, or something is wrong with this process rather than with a document."""
        batches = connection.makefile("rb")
        try:
            while (batch := _next(batches)) is not None:
                for frame in self.frames(batch):
                    _send(connection, msgspec.msgpack.encode(frame))
            return
        except MemoryError:
            last = _NO_MEMORY
        except ConnectionError:
            return
        except Exception as error:
            _log_error()
            text = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
            last = msgspec.msgpack.encode(Frame([], unexpected_error=text[:MAX_ERROR_LENGTH]))
        # Whatever filled the memory hung on the traceback's frames.
        _send(connection, last)

    def frames(self, batch: DocumentBatch) -> Iterator[Frame]:
        """What there is to say about a batch, as it is read."""
        parts: list[FileBlobs] = []
        size = count = 0
        for file, line, text in batch.documents:
            if file == self._stopped_in:
                continue
            if not parts or parts[-1].file != file:
                parts.append(FileBlobs(file, []))
            try:
                made = serialize_blob(
                    parse_blob(RawDocument(text, line).parse()), bundle_metadata=self._bundle_metadata
                )
            except BadDocument as error:
                parts[-1].error, self._stopped_in = str(error), file
                continue
            parts[-1].blobs.append(made)
            size, count = size + len(made.line) + len(made.part) + len(made.spec), count + 1
            if size >= MAX_FRAME_BYTES or count >= MAX_FRAME_BLOBS:
                yield Frame(parts)
                parts, size, count = [], 0, 0
        yield Frame(parts, is_last=True)


def _log_error() -> None:
    with suppress(OSError):
        traceback.print_exc()


def _next(batches: IO[bytes]) -> DocumentBatch | None:
    head = batches.read(_HEAD.size)
    return _DECODER.decode(batches.read(_HEAD.unpack(head)[0])) if len(head) == _HEAD.size else None


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(_HEAD.pack(len(data)))
    connection.sendall(data)
