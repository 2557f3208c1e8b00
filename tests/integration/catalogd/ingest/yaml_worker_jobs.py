"""Functions that test_yaml_worker_pool.py runs as jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalogd.ingest.yaml_worker_pool import YamlWorkerPool
from olmkit.fbc.documents import RawDocument


def read_one(arguments: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Have a reader read a document of so many letters."""
    text = b"schema: ".ljust(arguments["letters"], b"x")
    with YamlWorkerPool(bundle_metadata=False, count=1) as readers:
        readers.add(0, RawDocument(text, 1), lambda part: None)
        readers.drain(lambda part: None)
    return {}
