"""A whole folder judged as `opm validate` judges it. Called by `python -m olmkit.fbc validate`.

Reads file after file and keeps of each bundle only what the model check needs. Never changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.checks.catalog_check import CatalogCheck
from olmkit.fbc.documents import read_documents
from olmkit.fbc.errors import NO_BLOBS_MESSAGE, BadBlob, BadCatalog, BadDocument
from olmkit.fbc.folder import discover


@dataclass(frozen=True)
class ValidationFailure:
    """Why opm refuses a catalog, in its words; and the file and line when it is one blob or document that ends the reading."""

    opm_message: str
    place: str = ""


def validate(root: Path) -> ValidationFailure | None:
    """None when opm accepts the catalog below `root`, which must be a folder; one without a blob, which opm accepts, is refused
    as catalogd refuses it."""
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
        return error.refusal
    if not has_blobs:
        return ValidationFailure(NO_BLOBS_MESSAGE)
    words = catalog.error()
    return ValidationFailure(words) if words else None


class _Unreadable(Exception):
    """What ends the reading of the files."""

    def __init__(self, words: str, place: str) -> None:
        super().__init__(words)
        self.refusal = ValidationFailure(words, place)


def _blobs(root: Path) -> Iterator[tuple[Blob, str]]:
    """Every blob and where it is. Raises _Unreadable."""
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
