"""What test_readers.py lets jobs do beside loading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalogd.ingest.yaml_worker_pool import Readers
from olmkit.fbc.documents import RawDocument


def read_one(arguments: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Have a reader read a document of so many letters."""
    text = b"schema: ".ljust(arguments["letters"], b"x")
    with Readers(bundle_metadata=False, count=1) as readers:
        readers.add(0, RawDocument(text, 1), lambda part: None)
        readers.drain(lambda part: None)
    return {}
