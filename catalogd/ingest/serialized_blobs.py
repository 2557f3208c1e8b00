"""Serializes one blob for the writer of a content, in the process that parsed it.

Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from catalogd.ingest.package_objects import bundle_spec, fingerprint, object_body
from olmkit.fbc import catalog, resolution_document
from olmkit.fbc.blobs import Blob
from olmkit.fbc.checks import package_check
from olmkit.fbc.errors import BadBlob
from olmkit.sources.errors import quoted


class SerializedBlob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One blob: its envelope, its line in all.jsonl, and for a bundle the data that is needed later.

    `part` is JSON: [resolution_document.bundle_part, package_check.check_bundle, the error if the blob is invalid]. `spec` is
    the body of the BundleMetadata object, if requested, with its `subject` and `fingerprint`; `note` is a message about what
    was left out of it.
    """

    schema: str
    package: str
    name: str
    line: bytes
    part: bytes = b""
    spec: bytes = b""
    subject: str = ""
    fingerprint: str = ""
    note: str = ""


def serialize_blob(blob: Blob, *, bundle_metadata: bool) -> SerializedBlob:
    """Serialize a blob. `bundle_metadata`: also the BundleMetadata object."""
    if blob.schema != catalog.BUNDLE:
        return SerializedBlob(blob.schema, blob.package, blob.name, blob.line)
    try:
        bundle = catalog.bundle(blob.value)
    except BadBlob as error:
        bad = {**resolution_document.invalid_bundle_part(blob.name, str(error)), "properties": "[]"}
        return SerializedBlob(blob.schema, blob.package, blob.name, blob.line, orjson.dumps([bad, None, str(error)]))
    metadata = _bundle_metadata(blob, bundle) if bundle_metadata and bundle.name else ()
    return SerializedBlob(blob.schema, blob.package, blob.name, blob.line, orjson.dumps(_part(bundle)), *metadata)


def _part(bundle: catalog.Bundle) -> list[Any]:
    part = package_check.check_bundle(bundle)
    resolved = resolution_document.bundle_part(bundle, None if part.problem else (part.version, part.release))
    # As a string, so that numbers are not changed when this is parsed again.
    resolved["properties"] = orjson.dumps(resolved["properties"], option=orjson.OPT_SORT_KEYS).decode()
    return [resolved, part.to_json(), ""]


def _bundle_metadata(blob: Blob, bundle: catalog.Bundle) -> tuple[bytes, str, str, str]:
    """The last four fields of SerializedBlob."""
    spec, left_out = bundle_spec(blob.value, bundle)
    line = orjson.dumps(object_body(spec), option=orjson.OPT_APPEND_NEWLINE)
    note = (
        f"the BundleMetadata of {quoted(bundle.name, 100)} is too large and does without {left_out}" if left_out else ""
    )
    return line, f"{bundle.package}/{bundle.name}", fingerprint(orjson.loads(line)), note
