"""Blobs as JSON or YAML, in the order and form in which opm writes them (formats 1.9).

Reading the text again gives the same values, in YAML too: a string that go-yaml v2 would read as another type is quoted. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
import orjson

from olmctl.authoring.yaml_writer import yaml_document
from olmkit.fbc.blobs import Blob
from olmkit.fbc.catalog import BUNDLE, CHANNEL, DEPRECATIONS, PACKAGE

Format = Literal["json", "yaml"]

_FIELDS: Final[dict[str, Any]] = {
    PACKAGE: {
        "schema": {},
        "name": {},
        "defaultChannel": {},
        "icon": {},
        "description": {},
        "properties": {"type": {}},
    },
    CHANNEL: {
        "schema": {},
        "name": {},
        "package": {},
        "entries": {"name": {}, "replaces": {}, "skips": {}, "skipRange": {}},
        "properties": {"type": {}},
    },
    BUNDLE: {
        "schema": {},
        "name": {},
        "package": {},
        "image": {},
        "properties": {"type": {}},
        "relatedImages": {"name": {}, "image": {}},
    },
    DEPRECATIONS: {
        "schema": {},
        "package": {},
        "entries": {"reference": {"schema": {}, "name": {}}, "message": {}},
    },
}
"""The order of the fields that opm has; other fields follow, sorted."""
_RANK: Final = {PACKAGE: 0, CHANNEL: 1, BUNDLE: 2, DEPRECATIONS: 4}
_OTHERS: Final = 3


def written_place(blob: Blob) -> tuple[str, int, str]:
    """The key for a stable sort of blobs: package by package, those without a package first: package, channels and bundles by
    name, others by schema, deprecations.
    """
    rank = _RANK.get(blob.schema, _OTHERS)
    package = blob.name if blob.schema == PACKAGE else blob.package
    return package, rank, blob.schema if rank == _OTHERS else blob.name


def serialize(value: Mapping[str, Any], form: Format) -> bytes:
    """One document with the newline at its end: JSON with an indent of 4 and opm's order of fields, or YAML after a `---` with
    sorted keys. The value has at least one key.
    """
    return _json(value) if form == "json" else yaml_document(value).encode()


def _json(value: Mapping[str, Any]) -> bytes:
    text = msgspec.json.format(
        orjson.dumps(_ordered(value, _FIELDS.get(str(value.get("schema")), {"schema": {}}))), indent=4
    )
    return text.replace("\u2028".encode(), b"\\u2028").replace("\u2029".encode(), b"\\u2029") + b"\n"


def _ordered(value: Any, fields: Mapping[str, Any]) -> Any:
    """The value with these fields first; what has no such fields is sorted by orjson."""
    if not isinstance(value, dict | list):
        return value
    if not fields:
        return orjson.Fragment(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    if isinstance(value, list):
        return [_ordered(each, fields) for each in value]
    first = [name for name in fields if name in value]
    return {
        name: _ordered(value[name], fields.get(name, {})) for name in (*first, *sorted(value.keys() - fields.keys()))
    }
