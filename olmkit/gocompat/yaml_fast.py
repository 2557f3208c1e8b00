"""One YAML document to a JSON value, as olmkit.gocompat.yaml_reader reads it and at twice its speed.

Called by olmkit.fbc.documents. ryaml is libyaml in another language, so it finds the scalars and collections that the reference
finds; it differs in what plain scalars, keys, tags and anchors mean. The reference reads a document in which that could show,
one that would cost ryaml much time or memory, and one with a fault: what is wrong with a document only it says. Pure.
"""

from __future__ import annotations

import re
from typing import Any

import ryaml

from olmkit.gocompat import yaml_reader, yaml_scalars

_SIZE_LIMIT = 4 * 1024 * 1024
_INDICATORS_LIMIT = 50_000
"""ryaml needs up to 450 bytes of memory for each."""
_LOOKS_LIMIT = 100_000_000
"""libyaml looks at every open flow collection for each token; this many looks take about a second."""
_CHEAP = 10_000
"""Bytes that cannot hold as much of either, whatever they are."""

_NO_INDICATORS = bytes(set(range(256)) - set(b"-?:,[]{}"))
_BYTE_ORDER_MARK = "\ufeff".encode()
"""ryaml does not skip it everywhere the reference does."""
_PROPERTIES = {b"!": frozenset({b"["}), b"&": frozenset({b"&", b"#", b" ", b"=", b"\n"})}
"""How a tag and an anchor begin, and some of what makes it none."""
_BEFORE_PROPERTY = frozenset(b"\n\r,:[{?-") | frozenset(char.encode()[-1] for char in "\x85\u2028\u2029")
"""What may stand before one, blanks aside; last bytes of line breaks of Unicode too. Right behind a value each is a fault."""

_OTHER_WORDS = {word for word, value in yaml_scalars.WORDS.items() if isinstance(value, bool)}
_OTHER_WORDS.difference_update(("true", "True", "TRUE", "false", "False", "FALSE"))
_OTHER_WORDS.add("<<")
"""What ryaml gives as a string although the reference takes it, if it was plain, for something else."""
_QUOTED = re.compile(r"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)?")
"""To ryaml too nothing or a number: given as a string, it was quoted."""


class Unsure(Exception):
    """The reference has to read this document."""


def load(text: bytes, weight_limit: int) -> Any:
    """What yaml_values.load returns or raises for the same arguments."""
    try:
        return quick(text, weight_limit)
    except Unsure:
        return yaml_reader.load(text, weight_limit)


def quick(text: bytes, weight_limit: int) -> Any:
    """What yaml_values.load returns, at twice its speed. Raises Unsure for a document that it leaves to the reference."""
    if not _is_cheap(text, weight_limit) or _has_mark(text) or _has_properties(text):
        raise Unsure
    try:
        value = ryaml.loads(text.decode())  # type: ignore[attr-defined] # not named in its __all__
    except ValueError as error:
        raise Unsure from error
    if not _is_certain(value):
        raise Unsure
    return value


def _is_cheap(text: bytes, weight_limit: int) -> bool:
    """Whether ryaml needs little time and memory. Without aliases no value weighs more than two for each byte."""
    if len(text) > _SIZE_LIMIT or 2 * len(text) > weight_limit:
        return False
    if len(text) <= _CHEAP:
        return True
    indicators = len(text.translate(None, _NO_INDICATORS))
    return indicators <= _INDICATORS_LIMIT and indicators * (text.count(b"{") + text.count(b"[")) <= _LOOKS_LIMIT


def _has_mark(text: bytes) -> bool:
    """Whether there is a byte order mark. One byte is found several times as fast as three."""
    return _BYTE_ORDER_MARK[:1] in text and _BYTE_ORDER_MARK in text


def _has_properties(text: bytes) -> bool:
    """Whether a tag or an anchor may be in it. An alias without an anchor is a fault."""
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


def _is_certain(root: Any) -> bool:
    """Whether the reference gives this value too, whichever of its strings were plain."""
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
            elif kind is float:
                return False
    try:
        return _OTHER_WORDS.isdisjoint(texts) and not any([_may_be_number(text) for text in texts if text < ":"])
    except TypeError:  # a key that is no string
        return False


def _may_be_number(text: str) -> bool:
    """Whether the reference takes it, if it was plain, for a number that ryaml does not know. Such begin below `:`."""
    if _QUOTED.fullmatch(text):
        return False
    try:
        return type(yaml_scalars.resolve(text)) is not str
    except ValueError:
        return True
