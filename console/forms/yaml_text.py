"""YAML of the console: an object as text that people edit, and back. Pure.

Text is read as the files of bundles are: YAML 1.1 as Kubernetes' tools read it, with limits on depth, size and aliases.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from olmkit.errors import encodable
from olmkit.gocompat.documents import read
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper
from olmkit.gocompat.yaml_scalars import is_plain_string

MAX_BYTES: Final = 512 * 1024
"""Bytes of a text that is read: the API server stores no object that is larger than 1.5 MB."""


class _Dumper(TreeDumper):
    """Quotes every string that a reader of YAML 1.1 or 1.2 could read as another type."""

    def style(self, text: str) -> str | None:
        return None if is_plain_string(text) else "'"


class BadYaml(ValueError):
    """The message says what is wrong; `line` is the line, 0 if it is unknown."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def dump(value: Any) -> str:
    """A YAML document without a start marker, in which characters that are not printable are escaped."""
    text = ""
    for is_unicode_kept in (True, False):
        text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=is_unicode_kept, width=UNLIMITED_WIDTH)
        if text.replace("\n", "").isprintable():
            break
    return text.removesuffix("...\n")


def load(text: str) -> Any:
    """The value of one YAML or JSON document; None for a text without any. Raises BadYaml."""
    data = encodable(text).encode()
    if len(data) > MAX_BYTES:
        raise BadYaml(f"it has more than {MAX_BYTES // 1024} KiB")
    try:
        found = read(data)
    except ParseError as error:
        raise BadYaml(error.text, error.line) from error
    if len(found) > 1:
        raise BadYaml(f"it has {len(found)} documents: edit one object at a time")
    return found[0] if found else None


def load_object(text: str) -> dict[str, Any]:
    """The object of a text. Raises BadYaml."""
    found = load(text)
    if not isinstance(found, dict):
        raise BadYaml("it is no object: begin with apiVersion, kind and metadata")
    return found
