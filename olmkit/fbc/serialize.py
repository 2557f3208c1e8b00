"""Blobs as JSON or YAML, in the order and form in which opm writes them (formats 1.9). Called by olmctl.catalog.

Reading the text again gives the same values, in YAML too: a string that go-yaml v2 would read as another type is quoted. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import orjson
import yaml

from olmkit.fbc.blobs import Blob
from olmkit.fbc.catalog import BUNDLE, CHANNEL, DEPRECATIONS, PACKAGE
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper
from olmkit.gocompat.yaml_scalars import is_plain_string

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
_INDENTATION = re.compile(rb"^ +", re.MULTILINE)


def sort_blobs(blobs: Iterable[Blob]) -> list[Blob]:
    """The blobs package by package, those without a package first: package, channels and bundles by name, others by schema,
    deprecations. The sort is stable.
    """
    return sorted(blobs, key=_place)


def _place(blob: Blob) -> tuple[str, int, str]:
    rank = _RANK.get(blob.schema, _OTHERS)
    package = blob.name if blob.schema == PACKAGE else blob.package
    return package, rank, blob.schema if rank == _OTHERS else blob.name


def order_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """A blob's value with its fields in opm's order."""
    ordered: dict[str, Any] = _ordered(value, _FIELDS.get(str(value.get("schema")), {"schema": {}}))
    return ordered


def _ordered(value: Any, fields: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_ordered(each, fields) for each in value]
    if not isinstance(value, Mapping):
        return value
    first = [name for name in fields if name in value]
    return {
        name: _ordered(value[name], fields.get(name, {})) for name in (*first, *sorted(value.keys() - fields.keys()))
    }


def serialize(value: Mapping[str, Any], form: Format) -> bytes:
    """One document with the newline at its end: JSON with an indent of 4, or YAML after a `---` with sorted keys."""
    return _json(value) if form == "json" else _yaml(value)


def _json(value: Mapping[str, Any]) -> bytes:
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    text = _INDENTATION.sub(lambda match: match[0] * 2, text)  # no string contains a newline, so this changes none
    return text.replace("\u2028".encode(), b"\\u2028").replace("\u2029".encode(), b"\\u2029")


def _yaml(value: Mapping[str, Any]) -> bytes:
    text = yaml.dump(
        value,
        Dumper=_Dumper,
        explicit_start=True,
        allow_unicode=True,
        encoding="utf-8",
        width=UNLIMITED_WIDTH,
    )
    assert isinstance(text, bytes)
    return text


class _Dumper(TreeDumper):
    """Quotes strings that go-yaml would read as another type."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - a str is written plain unless style() returns quotes

    def style(self, text: str) -> str | None:
        return None if is_plain_string(text) else '"'


def _plain(dumper: yaml.CSafeDumper, value: Any) -> yaml.ScalarNode:
    """A scalar that is no string, in its JSON form, which is valid YAML."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", orjson.dumps(value).decode())


for _type in (int, bool, type(None), orjson.Fragment):
    _Dumper.add_representer(_type, _plain)
