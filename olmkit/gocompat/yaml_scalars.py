"""The meaning of a YAML scalar in go-yaml v2, as a value and as a key (formats 1.2).

Pure.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import sys
from typing import Any, Final

import orjson

from olmkit.gocompat.numbers import decimal, float_text, integer
from olmkit.gocompat.parse_errors import shorten

WORDS: Final[dict[str, bool | None]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **{form: True for word in ("y", "yes", "true", "on") for form in (word, word.title(), word.upper())},
    **{form: False for word in ("n", "no", "false", "off") for form in (word, word.title(), word.upper())},
}
"""The plain scalars that are words and not strings."""

_YAML = "tag:yaml.org,2002:"
_NO_FINITE_NUMBERS: Final[dict[str, str]] = {
    **{sign + form: sign.strip("+") + ".inf" for sign in ("", "+", "-") for form in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ".nan"),
}
"""Plain scalars without a JSON value -> their form as a key."""
_NUMERIC = frozenset("+-.0123456789")
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)"
    r"(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
    r"|0b(?P<signed>[-+][01]+)"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_POINT_FIRST = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")
"""Go's ParseFloat removes the underscores of these, as in literals of Go; go-yaml removes all underscores of other numbers."""
_LARGEST = sys.float_info.max
"""Larger integers are strings, as in go-yaml, which would read them as floats."""
_BASES = {"hex": 16, "bin": 2, "oct": 8, "signed": 2}
_DATE = r"[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:[01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](?:\.[0-9]+)?"
_TIMESTAMP = re.compile(rf"{_DATE}(?:[Tt]{_TIME}(?:Z|[-+][0-9]{{2}}:[0-9]{{2}})| {_TIME})?")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")


def resolve(text: str) -> Any:
    """The value of a plain scalar: null, bool, int, a number as text, or the string itself. Raises ValueError for NaN and Inf."""
    if text in WORDS:
        return WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if text in _NO_FINITE_NUMBERS:
        raise ValueError(f"{text} has no JSON representation")
    return _number(text)


def resolve_key(text: str) -> Any:
    """Same as resolve(), for a scalar that is a key: NaN and Inf are valid keys."""
    return _NO_FINITE_NUMBERS.get(text) or resolve(text)


def _number(text: str) -> Any:
    if text[0] == "." and not _POINT_FIRST.fullmatch(text):
        return text
    plain = text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        value = _integer(match)
        if value is not None:
            return value
    if _FLOAT.fullmatch(plain):
        try:
            return decimal(plain)
        except ValueError:
            return text
    return text


def _integer(match: re.Match[str]) -> int | orjson.Fragment | None:
    sign = (match["sign"] or "").replace("+", "")
    if match["dec"]:
        return integer(sign + match["dec"]) if float(match["dec"]) <= _LARGEST else None
    base = match.lastgroup or ""
    value = int(sign + match[base], _BASES[base])
    return value if -(2**63) <= value < 2**64 else None


def tagged(tag: str, text: str, *, text_in_binary: bool = False) -> Any:
    """A scalar with an explicit tag. Other tags than YAML's own leave the text as it is.

    Raises ValueError for a text that the tag does not fit; with `text_in_binary` also for `!!binary` that holds no UTF-8.
    """
    match tag.removeprefix(_YAML) if tag.startswith(_YAML) else "":
        case "int" | "bool" | "null" | "float" as name:
            value = resolve(text) if text or name == "null" else text
            if name == "float" and isinstance(value, int) and not isinstance(value, bool):
                return orjson.Fragment(float_text(float(value)).encode())
            if _kind(value) != name:
                raise ValueError(f"cannot read `{shorten(text)}` as !!{name}")
            return value
        case "timestamp" if not _TIMESTAMP.fullmatch(text):
            raise ValueError(f"cannot read `{shorten(text)}` as !!timestamp")
        case "binary":
            return _binary(text, "strict" if text_in_binary else "replace")
        case _:
            return text


def is_plain_string(text: str) -> bool:
    """Report whether a scalar of this text, written without quotes, is read as this very string, as a value and as a key."""
    try:
        return text != "=" and resolve(text) == resolve_key(text) == text and not is_merge(text, None, True)
    except ValueError:
        return False


def is_quoted_string(text: str) -> bool:
    """Report whether go-yaml quotes a string that it reads as a string without quotes too: a time, and a number of base 60."""
    return bool(_TIMESTAMP.fullmatch(text) or _BASE_60.fullmatch(text))


def is_merge(text: str, tag: str | None, plain: bool) -> bool:
    """Report whether a key is the one that merges."""
    return text == "<<" and (plain or tag == f"{_YAML}merge")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case str():
            return "str"
        case _:
            return "float"


def _binary(text: str, errors: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors=errors)
    except binascii.Error as error:
        raise ValueError("!!binary value is no base64") from error
    except UnicodeDecodeError as error:
        raise ValueError("!!binary value holds no UTF-8 text") from error


def key(value: Any) -> str:
    """A scalar's value as a key of a JSON object. Raises ValueError for null, and for what is no scalar."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case orjson.Fragment():
            text = orjson.dumps(value).decode()
            return text if _INTEGER.fullmatch(text) and integer(text) != int(text) else float_key(float(text))
        case _:
            raise ValueError("a mapping's key must be a string, number or boolean")


def float_key(value: float) -> str:
    """A float as a key: the fewest digits that give the same 32 bits, with an exponent from a million on and below 0.0001."""
    try:
        (short,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return "-.inf" if value < 0 else ".inf"
    digits = next(digits for digits in range(10) if _is_near(short, digits))
    mantissa, _, exponent = f"{short:.{digits}e}".partition("e")
    if -4 <= int(exponent) < 6:
        return f"{short:.{max(digits - int(exponent), 0)}f}"
    return f"{mantissa}e{exponent}"


def _is_near(short: float, digits: int) -> bool:
    try:
        return struct.pack("<f", float(f"{short:.{digits}e}")) == struct.pack("<f", short)
    except OverflowError:
        return False
