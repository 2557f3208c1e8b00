"""Receives the resolution documents of a catalog into a file, and decides from the header whether the body is needed.

The body is written as it is encoded; content_store.py verifies it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from olmkit.api.names import is_digest
from olmkit.jobs.staging import run_in_thread
from operator_controller.catalog_cache.content_store import storage_errors
from operator_controller.catalog_cache.content_writer import (
    GZIP,
    IDENTITY,
    MAX_CONTENT_BYTES,
    ContentTooLarge,
    InvalidContent,
    too_large_message,
)
from operator_controller.catalog_cache.session import CatalogResponse


class Download:
    """A BodyReceiver that writes to `path`. Content whose digest is among `known` is not read. Use it in a `with` block."""

    def __init__(self, path: Path, known: Collection[str]) -> None:
        self.path = path
        self.content_digest = ""
        """The digest that the last response named."""
        self._known = known
        self._file: IO[bytes] | None = None
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def accepts(self, response: CatalogResponse) -> bool:
        """Report whether the body is to be read: a response of content that is not known. Raises InvalidContent."""
        self.content_digest = response.digest
        if response.status != 200:
            return False
        if not is_digest(response.digest):
            raise InvalidContent("it does not name the digest of its content")
        if response.digest in self._known:
            return False
        if response.is_limited:
            raise InvalidContent(
                "it has only the packages that spec.packages names; catalogd has replicas of different versions"
            )
        if response.encoding not in (IDENTITY, GZIP):
            raise InvalidContent("its encoding was not requested")
        if not response.is_delimited:
            raise InvalidContent("it does not name its length")
        return True

    async def write(self, chunk: bytes) -> None:
        """Append to the file. Raises ContentTooLarge and ContentNotStored."""
        self._size += len(chunk)
        if self._size > MAX_CONTENT_BYTES:
            raise ContentTooLarge(too_large_message())
        with storage_errors():
            await run_in_thread(lambda: self._append(chunk))

    async def finish(self) -> None:
        """Close the file; it exists also if the body was empty. Raises ContentNotStored."""
        with storage_errors():
            await run_in_thread(lambda: self._append(b""))
            assert self._file is not None
            await run_in_thread(self._file.close)

    def _append(self, chunk: bytes) -> None:
        if self._file is None:
            self._file = open(self.path, "wb", buffering=0)  # noqa: SIM115 closed at the end of the with block
        left = memoryview(chunk)
        while left:
            left = left[self._file.write(left) :]
