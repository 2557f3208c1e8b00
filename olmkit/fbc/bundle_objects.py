"""The manifests that olm.bundle.object properties carry as base64, and the CSV among them (formats 1.5). Pure.

Called where a bundle's own words are needed: by olmkit.fbc.catalog and catalogd.ingest.package_summaries. A manifest is
decoded only if it may be what is looked for: a catalog with bundle objects is a gigabyte of them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from olmkit.fbc.documents import CATALOG_YAML
from olmkit.gocompat import yaml_reader

CSV = "ClusterServiceVersion"
_START = 512
"""Characters of base64 in which JSON that was written with sorted keys tells its kind."""
_KIND = re.compile(rb'\s*\{\s*"apiVersion"\s*:\s*"[^"\\]*"\s*,\s*"kind"\s*:\s*"([A-Za-z0-9]+)"')


def find_csv(values: Iterable[Any], wanted: Callable[[bytes], bool] = bool) -> Mapping[str, Any] | None:
    """The first CSV among the values of olm.bundle.object properties whose text is `wanted`; None when there is none."""
    for value in values:
        text = _csv_text(value.get("data") if isinstance(value, Mapping) else None)
        if text and wanted(text) and (found := _manifest(text)) is not None and found.get("kind") == CSV:
            return found
    return None


def _csv_text(data: Any) -> bytes:
    """The manifest if it may be a CSV."""
    if not isinstance(data, str):
        return b""
    try:
        start = _KIND.match(base64.b64decode(data[:_START]))
        if start is not None and start[1] != CSV.encode():
            return b""
        text = base64.b64decode(data)
    except ValueError:
        return b""
    return text if CSV.encode() in text else b""


def _manifest(text: bytes) -> Mapping[str, Any] | None:
    try:
        found = orjson.loads(text) if text.lstrip().startswith(b"{") else yaml_reader.load(text, CATALOG_YAML)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
