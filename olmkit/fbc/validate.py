"""A whole folder judged as `opm validate` judges it. Called by `python -m olmkit.fbc validate`.

Reads file after file and keeps of each bundle only what the model check needs. Never changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olmkit.fbc.blobs import Blob, blob
from olmkit.fbc.checks.catalog_check import WholeCatalog
from olmkit.fbc.documents import read
from olmkit.fbc.errors import NO_BLOBS, BadBlob, BadCatalog, BadDocument
from olmkit.fbc.indexignore import discover


@dataclass(frozen=True)
class Refusal:
    """Why opm refuses a catalog, in its words; and the file and line when it is one blob or document that ends the reading."""

    words: str
    place: str = ""


def validate(root: Path) -> Refusal | None:
    """None when opm accepts the catalog below `root`, which must be a folder; one without a blob, which opm accepts, is refused
    as catalogd refuses it."""
    catalog = WholeCatalog()
    has_blobs = False
    try:
        for value, place in _blobs(root):
            has_blobs = True
            try:
                catalog.add(value.schema, value.value)
            except BadBlob as error:
                return Refusal(error.words, f"{place}: {error.place}" if error.place else place)
    except _Unreadable as error:
        return error.refusal
    if not has_blobs:
        return Refusal(NO_BLOBS)
    words = catalog.fault()
    return Refusal(words) if words else None


class _Unreadable(Exception):
    """What ends the reading of the files."""

    def __init__(self, words: str, place: str) -> None:
        super().__init__(words)
        self.refusal = Refusal(words, place)


def _blobs(root: Path) -> Iterator[tuple[Blob, str]]:
    """Every blob and where it is. Raises _Unreadable."""
    path = ""
    try:
        for path in discover(root):
            with open(root / path, "rb", buffering=0) as stream:
                for document in read(stream):
                    yield blob(document), f"{path}, line {document.line}"
    except BadDocument as error:
        raise _Unreadable(error.words, f"{path}, line {error.line}" if error.line else path) from error
    except BadCatalog as error:
        raise _Unreadable(str(error), "") from error
    except OSError as error:
        raise _Unreadable(f"cannot be read: {error.strerror}", path) from error
