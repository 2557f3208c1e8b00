"""The check of the objects in a bundle (olm.bundle.object). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.fbc.catalog import BUNDLE_OBJECT, Bundle
from olmkit.fbc.documents import CATALOG_YAML
from olmkit.fbc.errors import BadBlob
from olmkit.gocompat import yaml_reader
from olmkit.gocompat.base64_text import decode_bytes, decode_plain_base64
from olmkit.gocompat.fields import field
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.text import sprintf


def check_objects(bundle: Bundle) -> None:
    """Decode and parse the bundle's objects. Raises BadBlob `read bundle objects: …` for one that is not YAML as base64.

    Not part of catalog.bundle, because objects are most of the bytes of a catalog that has them. The part of the message about
    the YAML is not opm's.
    """
    for index, each in enumerate(bundle.properties):
        if each.type != BUNDLE_OBJECT:
            continue
        place = sprintf("read bundle objects: package %q, bundle %q: ", bundle.package, bundle.name)
        data = each.value.get("data") if isinstance(each.value, Mapping) else None
        text = decode_plain_base64(data) if isinstance(data, str) else None
        if text is None:
            if error := each.error():
                raise BadBlob(place + sprintf("parse property at index %d as bundle object: %s", index, error))
            text = decode_bytes(field(each.value or {}, "data"))
        if error := _object_error(text):
            raise BadBlob(place + sprintf("convert bundle object property at index %d to JSON: %s", index, error))


def _object_error(text: bytes) -> str:
    if text.lstrip().startswith(b"{"):
        return ""  # opm does not parse an object that begins like JSON, as nearly all do
    try:
        yaml_reader.load(text, CATALOG_YAML)
    except ParseError as error:
        return f"yaml: line {error.line}: {error.text}" if error.line else f"yaml: {error.text}"
    return ""
