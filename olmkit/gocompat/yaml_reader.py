"""The one reader of YAML: for catalogs, objects in catalogs, and the files of bundles.

The values and errors are those of olmkit.gocompat.yaml_composer, at twice its speed or more: ryaml is libyaml in another
language, so it finds the scalars and collections that the composer finds; it differs in what plain scalars, keys, tags and
anchors mean. The composer reads every text in which that could matter, every text that would cost ryaml much time or memory, and
every text with an error. Pure.
"""

from __future__ import annotations

import re
from typing import Any

import ryaml

from olmkit.gocompat import yaml_composer, yaml_scalars
from olmkit.gocompat.yaml_composer import ReadOptions

_MAX_FAST_BYTES = 4 * 1024 * 1024
_MAX_INDICATORS = 50_000
"""ryaml needs up to 450 bytes of memory for each."""
_MAX_COMPARISONS = 100_000_000
"""libyaml compares each token with every open flow collection; this many comparisons take about a second."""
_ALWAYS_CHEAP_BYTES = 10_000
"""A text of this size cannot reach either limit."""

_NO_INDICATORS = bytes(set(range(256)) - set(b"-?:,[]{}"))
_BYTE_ORDER_MARK = "\ufeff".encode()
"""ryaml does not skip it everywhere the composer does."""
_PROPERTIES = {b"!": frozenset({b"["}), b"&": frozenset({b"&", b"#", b" ", b"=", b"\n"})}
"""The first characters of a tag and of an anchor, and some characters that cannot follow them."""
_BEFORE_PROPERTY = frozenset(b"\n\r,:[{?-") | frozenset(char.encode()[-1] for char in "\x85\u2028\u2029")
"""Characters that can come before a tag or anchor, blanks ignored; of Unicode's line breaks the last bytes."""
_LINE_BREAK_ENDS = frozenset(char.encode()[-1] for char in "\n\r\x85\u2028\u2029")
_DOCUMENT_MARKERS = (b"---", b"...")
"""The markers of the beginning and the end of a document, at the start of a line."""

_INT64 = 2**63
_OTHER_WORDS = {word for word, value in yaml_scalars.WORDS.items() if isinstance(value, bool)}
_OTHER_WORDS.difference_update(("true", "True", "TRUE", "false", "False", "FALSE"))
_OTHER_WORDS.add("<<")
"""Plain scalars that ryaml returns as strings and the composer as other values."""
_QUOTED = re.compile(r"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)?")
"""Texts that ryaml too reads as null or as a number: if it returns one as a string, the text was quoted."""


class Unsure(Exception):
    """The composer has to read this text."""


def load(text: bytes, options: ReadOptions) -> Any:
    """The first document of `text`; None when it contains only comments. Raises ParseError with a place within `text`."""
    try:
        return load_fast(text, options)
    except Unsure:
        return yaml_composer.compose(text, options)


def load_all(text: bytes, options: ReadOptions) -> list[Any]:
    """All documents of `text` in order, without empty ones. Raises ParseError with a place within `text`."""
    if not may_hold_several(text):
        try:
            return [document for document in (load_fast(text, options),) if document is not None]
        except Unsure:
            pass
    return yaml_composer.compose_all(text, options)


def may_hold_several(text: bytes) -> bool:
    """Report whether a document may begin or end after the first line."""
    for marker in _DOCUMENT_MARKERS:
        at = text.find(marker, 1)
        while at > 0:
            if text[at - 1] in _LINE_BREAK_ENDS:
                return True
            at = text.find(marker, at + 1)
    return False


def load_fast(text: bytes, options: ReadOptions) -> Any:
    """Return the same as yaml_composer.compose, at twice its speed. Raises Unsure for a text that the composer has to read."""
    if not _is_cheap(text, options) or _has_mark(text) or _has_properties(text):
        raise Unsure
    try:
        value = ryaml.loads(text.decode())  # type: ignore[attr-defined] # not named in its __all__
    except ValueError as error:
        raise Unsure from error
    if not _is_certain(value, exact_numbers=options.exact_numbers):
        raise Unsure
    return value


def _is_cheap(text: bytes, options: ReadOptions) -> bool:
    """Report whether ryaml needs little time and memory. Without aliases a text has at most as many values as bytes."""
    if len(text) > _MAX_FAST_BYTES or (1 + options.bytes_per_value) * len(text) > options.max_bytes:
        return False
    if len(text) <= _ALWAYS_CHEAP_BYTES:
        return True
    indicators = len(text.translate(None, _NO_INDICATORS))
    return indicators <= _MAX_INDICATORS and indicators * (text.count(b"{") + text.count(b"[")) <= _MAX_COMPARISONS


def _has_mark(text: bytes) -> bool:
    """Report whether the text has a byte order mark. Searching one byte first is several times as fast as searching three."""
    return _BYTE_ORDER_MARK[:1] in text and _BYTE_ORDER_MARK in text


def _has_properties(text: bytes) -> bool:
    """Report whether the text may contain a tag or an anchor. An alias without an anchor is an error."""
    for sign, never_follow in _PROPERTIES.items():
        at = text.find(sign)
        while at >= 0:
            if text[at + 1 : at + 2] not in never_follow and _may_begin_token(text, at):
                return True
            at = text.find(sign, at + 1)
    return False


def _may_begin_token(text: bytes, at: int) -> bool:
    at -= 1
    while at >= 0 and text[at] in b" \t":
        at -= 1
    return at < 0 or text[at] in _BEFORE_PROPERTY


def _is_certain(root: Any, *, exact_numbers: bool) -> bool:
    """Report whether the composer returns this value too, whichever of its strings were plain."""
    containers: list[Any] = [[root]]
    texts: list[str] = []
    while containers:
        container = containers.pop()
        if type(container) is dict:
            texts += container
            container = container.values()
        for member in container:
            kind = type(member)
            if kind is str:
                texts.append(member)
            elif kind is dict or kind is list:
                containers.append(member)
            elif kind is float or (kind is int and not exact_numbers and not -_INT64 <= member < _INT64):
                return False
    try:
        return _OTHER_WORDS.isdisjoint(texts) and not any([_may_be_number(text) for text in texts if text < ":"])
    except TypeError:  # a key that is no string
        return False


def _may_be_number(text: str) -> bool:
    """Report whether the composer reads this text, if it was plain, as a number and ryaml does not. Such texts sort before
    `:`."""
    if _QUOTED.fullmatch(text):
        return False
    try:
        return type(yaml_scalars.resolve(text)) is not str
    except ValueError:
        return True
