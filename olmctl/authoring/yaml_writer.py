"""A value of JSON as a YAML document, as opm writes it (formats 1.9), or as Kubernetes' own library writes it (sdk 2.3).

pyyaml represents a value as nodes before it writes them, which takes most of the time of a large catalog. Here the structure is
written directly, and the text of scalars that are obviously plain or a block; every other scalar is written by pyyaml. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson
import yaml

from olmkit.gocompat.numbers import float_g
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH, TreeDumper
from olmkit.gocompat.yaml_scalars import WORDS, is_plain_string, is_quoted_string

_PLAIN: Final = re.compile(
    r"[A-Za-z/_](?:[ -\"$-9;-~]|:(?! |\Z)|(?<! )#)*(?<! )"  # text
    r"|[0-9]+\.[0-9]+\.[0-9][\w.+-]*"  # a version
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}Z?",  # a time
    re.ASCII,
)
"""Strings that are written without quotes, unless they are WORDS. Not all of them: the others are tried by pyyaml."""
_BLOCK: Final = re.compile(r"[!-~](?:[!-~\u00a1-\u1fff\u2010-\u2027\u2030-\ud7ff]| (?!\n|\Z)|\n(?!\n\Z))*")
"""Text of several lines that is written as a block. A reader keeps one line end after it, or none."""
_LINE_WITH_TEXT: Final = re.compile(r"\n(?=[^\n])")
_OTHER_LINE_END: Final = re.compile("[\r\u0085\u2028\u2029]")
_AFTER_TEXT: Final = "\n- 0\n"
_MAX_CACHED_CHARACTERS = 100
"""Most strings of a catalog are short and occur often."""
_KUBERNETES_WIDTH = 80
_OPEN_END = "...\n"
_INDENT = "  "
_NEXT_LINE = "\n" + _INDENT


class _Dumper(TreeDumper):
    """Quotes strings that go-yaml would read as another type."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - a str is written plain unless style() returns quotes

    def style(self, text: str) -> str | None:
        return None if is_plain_string(text) else '"'


def _json_scalar(dumper: yaml.CSafeDumper, value: Any) -> yaml.ScalarNode:
    """A scalar that is no string, in its JSON form, which is valid YAML."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", orjson.dumps(value).decode())


for _type in (int, bool, type(None), orjson.Fragment):
    _Dumper.add_representer(_type, _json_scalar)


class _KubernetesDumper(_Dumper):
    """Writes scalars as sigs.k8s.io/yaml does, also where they can be read without quotes."""

    def style(self, text: str) -> str | None:
        return '"' if not is_plain_string(text) or is_quoted_string(text) else None


def _kubernetes_float(dumper: yaml.CSafeDumper, value: float) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", float_g(value))


_KubernetesDumper.add_representer(float, _kubernetes_float)


def yaml_document(value: Mapping[str, Any]) -> str:
    """The document after a `---`, with sorted keys and the newline at its end. The value has at least one key."""
    parts = ["---\n"]
    try:
        _mapping(value, "", "", parts)
    except _UnusualText:
        return "---\n" + _dumped(value)
    return "".join(parts)


def kubernetes_document(value: Mapping[str, Any]) -> str:
    """The document as Kubernetes' own library writes it: without a `---`, with sorted keys, and long lines are folded."""
    text: str = yaml.dump(value, Dumper=_KubernetesDumper, allow_unicode=True, width=_KUBERNETES_WIDTH)
    return text.removesuffix(_OPEN_END)  # libyaml writes it after a block that ends with empty lines


class _UnusualText(Exception):
    """A key of several lines or many characters, or a block that ends with empty lines or has line ends of other kinds.

    Pyyaml writes the whole document: such text changes how others of it are written.
    """


def _mapping(value: Mapping[str, Any], first_indent: str, indent: str, parts: list[str]) -> None:
    """Add the lines of a mapping. The first line is indented by `first_indent`: "" behind a dash."""
    deeper = indent + _INDENT
    for name in sorted(value):
        parts.append(first_indent + _key(name))
        first_indent, each = indent, value[name]
        if each and isinstance(each, dict):
            parts.append("\n")
            _mapping(each, deeper, deeper, parts)
        elif each and isinstance(each, list):
            parts.append("\n")
            _sequence(each, indent, indent, parts)
        else:
            parts.append(_scalar(each, deeper))


def _sequence(value: Sequence[Any], first_indent: str, indent: str, parts: list[str]) -> None:
    """Add the lines of a sequence. The first line is indented by `first_indent`: "" behind a dash."""
    deeper = indent + _INDENT
    for each in value:
        parts.append(first_indent + "-")
        first_indent = indent
        if each and isinstance(each, dict):
            parts.append(" ")
            _mapping(each, "", deeper, parts)
        elif each and isinstance(each, list):
            parts.append(" ")
            _sequence(each, "", deeper, parts)
        else:
            parts.append(_scalar(each, deeper))


def _scalar(value: Any, indent: str) -> str:
    """Write the value that follows a key or a dash on its line. Further lines of a text have this indent."""
    if not isinstance(value, str):  # a number, true, false, null, {} and [] have one form in JSON and YAML
        return f" {orjson.dumps(value).decode()}\n"
    text = _cached(value) if len(value) <= _MAX_CACHED_CHARACTERS else _text(value)
    if "\n" in text:
        text = text.replace(_NEXT_LINE, "\n" + indent)
    return f" {text}\n"


def _text(value: str) -> str:
    """A string, with further lines indented by one level."""
    if _PLAIN.fullmatch(value) and value not in WORDS:
        return value
    if "\n" in value and _BLOCK.fullmatch(value):
        body = value.removesuffix("\n")
        return ("|" if body != value else "|-") + _NEXT_LINE + _LINE_WITH_TEXT.sub(_NEXT_LINE, body)
    text = _dumped([value, 0])
    if not text.endswith(_AFTER_TEXT) or ("\n" in text and _OTHER_LINE_END.search(text)):
        raise _UnusualText
    return text.removesuffix(_AFTER_TEXT).removeprefix("- ")


_cached = lru_cache(maxsize=16384)(_text)


@lru_cache(maxsize=1024)
def _key(name: str) -> str:
    """The key with its colon."""
    text = _dumped({name: 0})
    if text.startswith("? "):
        raise _UnusualText
    return text.removesuffix(" 0\n")


def _dumped(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=UNLIMITED_WIDTH)
    return text
