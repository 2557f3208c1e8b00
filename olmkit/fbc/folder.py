"""The blobs of a catalog's folder, file after file, document after document. Called by whoever loads a catalog.

Streams: memory does not grow with the catalog. Stops at the first file that cannot be read, as upstream does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from olmkit.fbc.blobs import Blob, parse_blob
from olmkit.fbc.documents import read_documents
from olmkit.fbc.errors import BadCatalog, BadDocument
from olmkit.fbc.indexignore import discover


def read_folder(root: Path) -> Iterator[Blob]:
    """All blobs below `root` in walk order. Raises BadCatalog, whose text begins with the file's path and the line."""
    if not root.is_dir():
        raise BadCatalog("the catalog is a file, not a folder")
    for path in discover(root):
        try:
            with open(root / path, "rb", buffering=0) as stream:
                for document in read_documents(stream):
                    yield parse_blob(document)
        except BadDocument as error:
            raise BadCatalog(f"{path}: {error}") from error
        except OSError as error:
            raise BadCatalog(f"{path}: cannot be read: {error.strerror}") from error
