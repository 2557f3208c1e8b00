"""Runs another program of this machine, such as a credential helper or kustomize, with limits on its time and on its output.

A program that prints more than the limit is ended. Other processes that it has started, and that keep its pipes open, are not
waited for. Never uses a shell, and never prints what it reads.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, cast

_CHUNK_BYTES = 65_536
_POLL_SECONDS = 0.05
"""The time after which a program is seen to have ended although another one keeps its pipes open."""


@dataclass(frozen=True)
class Ended:
    """The exit status and the output of a program; `errors` is empty if they were not asked for."""

    status: int
    output: bytes
    errors: bytes = b""


class TimeIsUp(Exception):
    """The program has not ended in time."""


class TooMuchOutput(Exception):
    """The program prints more than is read."""


def run_program(
    command: Sequence[str], seconds: float, max_bytes: int, given: bytes = b"", *, with_errors: bool = True
) -> Ended:
    """Run the program until it ends. `given` is its standard input; `max_bytes` are those of each of its outputs.

    Raises TimeIsUp, TooMuchOutput, OSError, ValueError.
    """
    errors = subprocess.PIPE if with_errors else subprocess.DEVNULL
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process,
        _ended(process),
    ):
        streams = _Streams(process, given, max_bytes)
        streams.transfer(time.monotonic() + seconds)
        status = process.wait()
        return Ended(status, streams.output, streams.errors)


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the program if the block has not waited for its end."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


class _Streams:
    """The pipes of a program."""

    def __init__(self, process: subprocess.Popen[bytes], given: bytes, max_bytes: int) -> None:
        self._process = process
        self._given = memoryview(given)
        self._max_bytes = max_bytes
        self._read: Mapping[IO[bytes] | None, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
        self._open = selectors.DefaultSelector()

    @property
    def output(self) -> bytes:
        """The part of the standard output that was read."""
        return bytes(self._read[self._process.stdout])

    @property
    def errors(self) -> bytes:
        """The part of the standard error output that was read."""
        return bytes(self._read[self._process.stderr]) if self._process.stderr is not None else b""

    def transfer(self, deadline: float) -> None:
        """Write and read until the program has ended, or has closed its outputs. Raises TimeIsUp, TooMuchOutput."""
        process = self._process
        with self._open:
            for stream, event in (
                (process.stdin, selectors.EVENT_WRITE),
                (process.stdout, selectors.EVENT_READ),
                (process.stderr, selectors.EVENT_READ),
            ):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    self._open.register(stream, event)
            while self._is_reading() and time.monotonic() < deadline:
                has_ended = process.poll() is not None
                ready = self._open.select(0 if has_ended else _POLL_SECONDS)
                for key, _ in ready:
                    self._step(cast("IO[bytes]", key.fileobj))
                if has_ended and not any(key.fileobj is not process.stdin for key, _ in ready):
                    return
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeIsUp from None

    def _is_reading(self) -> bool:
        return any(key.events == selectors.EVENT_READ for key in self._open.get_map().values())

    def _step(self, stream: IO[bytes]) -> None:
        if stream is self._process.stdin:
            with suppress(BlockingIOError):
                self._write(stream)
            return
        data = os.read(stream.fileno(), _CHUNK_BYTES)
        if not data:
            self._open.unregister(stream)
        found = self._read[stream]
        found += data
        if len(found) > self._max_bytes:
            raise TooMuchOutput

    def _write(self, stream: IO[bytes]) -> None:
        try:
            count = os.write(stream.fileno(), self._given[:_CHUNK_BYTES])
        except BrokenPipeError:
            count = len(self._given)
        self._given = self._given[count:]
        if not self._given:
            self._open.unregister(stream)
            stream.close()
