"""The CSV among the manifests that olm.bundle.object properties contain as base64 (formats 1.5).

Only manifests that may be a CSV are decoded: a catalog can hold a gigabyte of manifests. Pure.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from olmkit.fbc.documents import CATALOG_YAML
from olmkit.gocompat import yaml_reader
from olmkit.gocompat.numbers import read_json

CSV = "ClusterServiceVersion"
_KIND_CHARACTERS = 512
"""Characters of base64 that contain the kind of an object, if its JSON was written with sorted keys."""
_KIND = re.compile(rb'\s*\{\s*"apiVersion"\s*:\s*"[^"\\]*"\s*,\s*"kind"\s*:\s*"([A-Za-z0-9]+)"')


def find_csv(values: Iterable[Any], wanted: Callable[[bytes], bool] = bool) -> Mapping[str, Any] | None:
    """The first CSV among the values of olm.bundle.object properties for whose text `wanted` is true; None when there is none."""
    for value in values:
        text = _csv_text(value.get("data") if isinstance(value, Mapping) else None)
        if text and wanted(text) and (found := _manifest(text)) is not None and found.get("kind") == CSV:
            return found
    return None


def _csv_text(data: Any) -> bytes:
    """The text of the manifest if it may be a CSV, else b""."""
    if not isinstance(data, str):
        return b""
    try:
        start = _KIND.match(base64.b64decode(data[:_KIND_CHARACTERS]))
        if start is not None and start[1] != CSV.encode():
            return b""
        text = base64.b64decode(data)
    except ValueError:
        return b""
    return text if CSV.encode() in text else b""


def _manifest(text: bytes) -> Mapping[str, Any] | None:
    try:
        found = read_json(text) if text.lstrip().startswith(b"{") else yaml_reader.load(text, CATALOG_YAML)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
