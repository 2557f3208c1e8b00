"""Numbers as Go's JSON writes and reads them.

Exact numbers are for catalogs, which are served as they were written: integers keep every digit, other numbers are written as
Go's encoder writes a float64; a number that orjson would write otherwise is held as an orjson.Fragment, its text. Numbers of
Kubernetes objects are int64 or float64. Pure.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, NoReturn

import orjson

from olmkit.gocompat.parse_errors import shorten

_INT64 = 2**63
_LOWEST, _HIGHEST = -_INT64, 2**64 - 1


def float_text(value: float) -> str:
    """A finite float as Go's encoding/json writes it: 1, 0.5, 0.000001, 1e-7, 100000000000000000000, 1e+21."""
    size = abs(value)
    if size != 0 and (size < 1e-6 or size >= 1e21):
        mantissa, _, exponent = repr(value).partition("e")
        return f"{mantissa.removesuffix('.0')}e{exponent[0]}{exponent[1:].lstrip('0')}"
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def float_g(value: float) -> str:
    """A finite float as Go's FormatFloat writes it with the format g: 0.5, 1e-05, 1.2345675e+06."""
    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    power = int(exponent)
    return float_text(value) if -5 < power < 6 else f"{mantissa}e{power:+03d}"


def integer(text: str) -> int | orjson.Fragment:
    """A decimal integer in JSON's form, exact whatever its length."""
    if len(text) < 19 or (len(text) <= 20 and _LOWEST <= int(text) <= _HIGHEST):
        return int(text)
    return orjson.Fragment(text.encode())


def decimal(text: str) -> orjson.Fragment:
    """A number with fraction or exponent. Raises ValueError when a float64 cannot hold it."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number {shorten(text)} is out of range")
    return orjson.Fragment(float_text(value).encode())


def int64_or_float64(value: Any) -> Any:
    """A number as Kubernetes' decoder of objects holds it: whole numbers of 64 bits as int, all others as float64.

    Any other value is returned as it is. Raises ValueError for a number that a float64 cannot hold.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | orjson.Fragment):
        return value
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return value
    try:
        number = float(orjson.dumps(value)) if isinstance(value, orjson.Fragment) else float(value)
    except OverflowError as error:
        raise ValueError("a number is out of range") from error
    if not math.isfinite(number):
        raise ValueError("a number is out of range")
    return int(number) if not isinstance(value, int) and number.is_integer() and abs(number) < _INT64 else number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def exact_json(text: str) -> Any:
    """JSON with every number exact. Much slower than orjson: for the few texts that need it. Raises ValueError."""
    return json.loads(text, parse_float=decimal, parse_int=integer, parse_constant=_refuse)


def read_json(text: str | bytes) -> Any:
    """JSON as orjson reads it, and text that contains an integer beyond float64, which orjson refuses, as exact_json reads it.

    As fast as orjson for all other text. Raises orjson.JSONDecodeError.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        try:
            value = exact_json(text if isinstance(text, str) else text.decode())
            orjson.dumps(value)  # refuses what json permits beyond orjson: halves of surrogate pairs, and deep nesting
        except (ValueError, TypeError, RecursionError):
            raise error from None
        return value
