"""One process that parses YAML documents for the job that forked it (catalogd.ingest.yaml_worker_pool).

Receives batches and sends frames over a socket, each with its length in front. Ends when the socket is closed, and with the job.
Writes nothing else.
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
from olmkit.jobs import child, resource_limits, syscalls

MAX_FRAME_BYTES = 256 * 1024
"""A frame is sent when it has reached this size; it may exceed it by one document."""
MAX_FRAME_BLOBS = 512
"""A frame is sent when it has this many blobs: each takes a few KB of memory, however short it is."""
MAX_ERROR_LENGTH = 500
"""Messages of unexpected errors are truncated to this length."""

_FRAME_HEADER: Final = struct.Struct("<I")


class DocumentBatch(msgspec.Struct, array_like=True):
    """Documents of one or more files: number of the file, line number, text."""

    documents: list[tuple[int, int, bytes]]


class FileBlobs(msgspec.Struct, array_like=True):
    """Blobs of one file, in order. `error` is what stopped the parsing of the file after them; "" for none."""

    file: int
    blobs: list[SerializedBlob]
    error: str = ""


class Frame(msgspec.Struct, array_like=True):
    """Some blobs of a batch, or the error that ended it. `out_of_memory`: the memory limit was reached."""

    parts: list[FileBlobs]
    is_last: bool = False
    out_of_memory: bool = False
    unexpected_error: str = ""


_DECODER: Final = msgspec.msgpack.Decoder(DocumentBatch)
_NO_MEMORY: Final = msgspec.msgpack.encode(Frame([], out_of_memory=True))


def run_worker(channel: int, parent: int, memory: int) -> NoReturn:
    """Parse the batches of the socket `channel`, then end the process. Call it right after the fork. `memory` is in bytes."""
    code = 1
    try:
        syscalls.die_with_parent(parent)
        child.reset_inherited_state(channel)
        resource_limits.limit_memory(memory)
        gc.freeze()  # the collector must not touch, and so copy, pages that the job shares
        with socket.socket(fileno=channel) as connection, suppress(ConnectionError):
            _Parser().serve(connection)
        code = 0
    except BaseException:  # nothing may unwind into the job's frames
        _log_error()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


class _Parser:
    """Parses batches one after the other."""

    def __init__(self) -> None:
        self._stopped_in = -1

    def serve(self, connection: socket.socket) -> None:
        """Parse batches until the socket is closed, or an error occurs that is not the document's."""
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
        # Outside of the except clause: the frames of the traceback hold the memory.
        _send(connection, last)

    def frames(self, batch: DocumentBatch) -> Iterator[Frame]:
        """The frames of a batch, as it is parsed."""
        parts: list[FileBlobs] = []
        size = count = 0
        for file, line, text in batch.documents:
            if file == self._stopped_in:
                continue
            if not parts or parts[-1].file != file:
                parts.append(FileBlobs(file, []))
            try:
                blob = serialize_blob(parse_blob(RawDocument(text, line).parse()))
            except BadDocument as error:
                parts[-1].error, self._stopped_in = str(error), file
                continue
            parts[-1].blobs.append(blob)
            size, count = size + len(blob.line) + len(blob.part), count + 1
            if size >= MAX_FRAME_BYTES or count >= MAX_FRAME_BLOBS:
                yield Frame(parts)
                parts, size, count = [], 0, 0
        yield Frame(parts, is_last=True)


def _log_error() -> None:
    with suppress(OSError):
        traceback.print_exc()


def _next(batches: IO[bytes]) -> DocumentBatch | None:
    head = batches.read(_FRAME_HEADER.size)
    return _DECODER.decode(batches.read(_FRAME_HEADER.unpack(head)[0])) if len(head) == _FRAME_HEADER.size else None


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(_FRAME_HEADER.pack(len(data)))
    connection.sendall(data)
