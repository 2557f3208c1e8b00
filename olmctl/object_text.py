"""Objects as JSON and YAML text for people and files. Pure.

Characters that control a terminal are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson
import yaml

from olmkit.api.meta import Object
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper
from olmkit.gocompat.yaml_scalars import is_plain_string


def object_list(items: Iterable[Object]) -> Object:
    """The objects as kubectl prints several of them."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(items)}


def without_managed_fields(obj: Object) -> Object:
    """The object as kubectl prints it: without metadata.managedFields."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def as_json(value: Any) -> str:
    """JSON with an indent of 2, as orjson writes it, in which characters that are not printable are escaped."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if text.replace("\n", "").isprintable():
        return text
    return re.sub(r"[^\n]", lambda match: match[0] if match[0].isprintable() else _escaped(match[0]), text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


class _Dumper(TreeDumper):
    """Quotes every string that a reader of YAML 1.1 or 1.2 could read as another type."""

    def style(self, text: str) -> str | None:
        return None if is_plain_string(text) else "'"


def as_yaml(value: Any) -> str:
    """A YAML document without a start marker, in which characters that are not printable are escaped."""
    for is_unicode_kept in (True, False):
        text: str = yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, allow_unicode=is_unicode_kept, width=UNLIMITED_WIDTH
        )
        if text.replace("\n", "").isprintable():
            break
    return text
