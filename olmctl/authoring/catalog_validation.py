"""Validation of a catalog's directory as `opm validate` does it.

Reads file after file and keeps of each bundle only what the model checks need. Never writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olmctl.authoring.catalog_check import CatalogCheck
from olmctl.authoring.directory import discover
from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.documents import read_documents
from olmkit.fbc.errors import NO_BLOBS_MESSAGE, BadBlob, BadCatalog, BadDocument


@dataclass(frozen=True)
class ValidationFailure:
    """opm's message for an invalid catalog; `place` is the file and line when one document or blob cannot be read, else ""."""

    opm_message: str
    place: str = ""


def validate(root: Path) -> ValidationFailure | None:
    """None when opm accepts the catalog in the directory `root`. A catalog without a blob, which opm accepts, is refused."""
    catalog = CatalogCheck()
    has_blobs = False
    try:
        for value, place in _blobs(root):
            has_blobs = True
            try:
                catalog.add(value.schema, value.value)
            except BadBlob as error:
                return ValidationFailure(error.opm_message, f"{place}: {error.place}" if error.place else place)
    except _Unreadable as error:
        return error.failure
    if not has_blobs:
        return ValidationFailure(NO_BLOBS_MESSAGE)
    message = catalog.error()
    return ValidationFailure(message) if message else None


class _Unreadable(Exception):
    """A file cannot be read, which ends the validation."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.failure = ValidationFailure(message, place)


def _blobs(root: Path) -> Iterator[tuple[Blob, str]]:
    """Every blob with its file and line. Raises _Unreadable."""
    path = ""
    try:
        for path in discover(root):
            with open(root / path, "rb", buffering=0) as stream:
                for document in read_documents(stream):
                    yield parse_blob(document), f"{path}, line {document.line}"
    except BadDocument as error:
        raise _Unreadable(error.opm_message, f"{path}, line {error.line}" if error.line else path) from error
    except BadCatalog as error:
        raise _Unreadable(str(error), "") from error
    except OSError as error:
        raise _Unreadable(f"cannot be read: {error.strerror}", path) from error
