"""The printing of documents in the format of the option --output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from tempfile import SpooledTemporaryFile
from typing import Any

from olmctl.authoring.serialize import Format, serialize, written_place
from olmctl.terminal_output import write_document
from olmkit.fbc.blobs import Blob

MAX_MEMORY_BYTES = 32 * 1024 * 1024
"""Bytes of documents that are kept in memory; all of them are in a temporary file if they are more."""


def print_documents(values: Iterable[Mapping[str, Any]], form: Format) -> None:
    """Write the documents to standard output. The caller flushes it."""
    for value in values:
        write_document(serialize(value, form))


def print_sorted(blobs: Iterable[Blob], form: Format) -> None:
    """Write blobs in opm's order to standard output once all have been read; nothing if the iterator raises.

    The caller flushes it.
    """
    found: list[tuple[tuple[str, int, str], int, int]] = []
    with SpooledTemporaryFile(MAX_MEMORY_BYTES) as file:
        for blob in blobs:
            start, text = file.tell(), serialize(blob.value, form)
            file.write(text)
            found.append((written_place(blob), start, len(text)))
        for _, start, length in sorted(found, key=lambda each: each[0]):
            file.seek(start)
            write_document(file.read(length))
