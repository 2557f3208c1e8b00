"""What the writer of a content is given of one blob: made wherever the blob is read, which may be another process.

Used by catalogd.ingest.content_writer, and by catalogd.ingest.yaml_worker_pool beside the job. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from catalogd.ingest import resolution_document
from catalogd.ingest.package_objects import bundle_spec, fingerprint, object_body
from olmkit.fbc import catalog
from olmkit.fbc.blobs import Blob
from olmkit.fbc.checks import package_check
from olmkit.fbc.errors import BadBlob
from olmkit.sources.errors import quoted


class SerializedBlob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One blob: its envelope, the line it is kept as, and if it is a bundle what is needed of it later.

    `part` is JSON, [resolution.bundle_part, check_bundle as JSON, why neither ("" nothing)]. `spec` is the line of what a
    BundleMetadata object says, if that is asked for, with `subject` and `fingerprint`; `note` is what had to be left out of it.
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
    """What there is to write of a blob; `bundle_metadata`: also what BundleMetadata objects say."""
    if blob.schema != catalog.BUNDLE:
        return SerializedBlob(blob.schema, blob.package, blob.name, blob.line)
    try:
        bundle = catalog.bundle(blob.value)
    except BadBlob as error:
        bad = {**resolution_document.invalid_bundle_part(blob.name, str(error)), "properties": "[]"}
        return SerializedBlob(blob.schema, blob.package, blob.name, blob.line, orjson.dumps([bad, None, str(error)]))
    offered = _offered(blob, bundle) if bundle_metadata and bundle.name else ()
    return SerializedBlob(blob.schema, blob.package, blob.name, blob.line, orjson.dumps(_part(bundle)), *offered)


def _part(bundle: catalog.Bundle) -> list[Any]:
    part = package_check.check_bundle(bundle)
    resolved = resolution_document.bundle_part(bundle, None if part.problem else (part.version, part.release))
    # As text, so that numbers stay as they are when this is read again.
    resolved["properties"] = orjson.dumps(resolved["properties"], option=orjson.OPT_SORT_KEYS).decode()
    return [resolved, part.to_json(), ""]


def _offered(blob: Blob, bundle: catalog.Bundle) -> tuple[bytes, str, str, str]:
    """Entry's last four."""
    spec, left_out = bundle_spec(blob.value, bundle)
    line = orjson.dumps(object_body(spec), option=orjson.OPT_APPEND_NEWLINE)
    note = (
        f"the BundleMetadata of {quoted(bundle.name, 100)} is too large and does without {left_out}" if left_out else ""
    )
    return line, f"{bundle.package}/{bundle.name}", fingerprint(orjson.loads(line)), note
