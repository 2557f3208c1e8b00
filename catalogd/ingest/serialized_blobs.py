"""Serializes one blob for the writer of a content, in the process that parsed it.

Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from olmkit.fbc import catalog, resolution_document
from olmkit.fbc.blobs import Blob
from olmkit.fbc.checks import package_check
from olmkit.fbc.errors import BadBlob


class SerializedBlob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One blob: its envelope, its line in all.jsonl, and for a bundle the data that is needed later.

    `part` is JSON: [resolution_document.bundle_part, package_check.check_bundle, the error if the blob is invalid].
    """

    schema: str
    package: str
    name: str
    line: bytes
    part: bytes = b""


def serialize_blob(blob: Blob) -> SerializedBlob:
    """Serialize a blob."""
    if blob.schema != catalog.BUNDLE:
        return SerializedBlob(blob.schema, blob.package, blob.name, blob.line)
    try:
        bundle = catalog.bundle(blob.value)
    except BadBlob as error:
        bad = {**resolution_document.invalid_bundle_part(blob.name, str(error)), "properties": "[]"}
        return SerializedBlob(blob.schema, blob.package, blob.name, blob.line, orjson.dumps([bad, None, str(error)]))
    return SerializedBlob(blob.schema, blob.package, blob.name, blob.line, orjson.dumps(_part(bundle)))


def _part(bundle: catalog.Bundle) -> list[Any]:
    part = package_check.check_bundle(bundle)
    resolved = resolution_document.bundle_part(bundle, None if part.problem else (part.version, part.release))
    # As a string, so that numbers are not changed when this is parsed again.
    resolved["properties"] = orjson.dumps(resolved["properties"], option=orjson.OPT_SORT_KEYS).decode()
    return [resolved, part.to_json(), ""]
