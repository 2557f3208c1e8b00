"""The canonical text of a resource.Quantity, as Kubernetes writes it.

The rules are those of k8s.io/apimachinery: a quantity keeps its family of suffixes (1Ki, 1k, 1e3); the number before the suffix
is an integer and as small as possible; values are rounded up to a nano. Pure.
"""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]+)"
)
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_DECIMAL_EXPONENT = {suffix: exponent for exponent, suffix in _DECIMAL.items()}
_MAX_CHARACTERS = 64


def canonical(text: str) -> str:
    """`1000m` -> `1`, `1024Mi` -> `1Gi`, `0.5` -> `500m`, `1000` -> `1k`. Raises ValueError on what is no quantity."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or len(text) > _MAX_CHARACTERS:
        raise ValueError(f"{text[:_MAX_CHARACTERS]!r} is no quantity such as 100m, 1.5 or 64Mi")
    suffix = match["suffix"]
    value = Fraction(match["sign"] + match["digits"].rstrip("."))
    if suffix in _BINARY[1:]:
        return _binary(value * 1024 ** _BINARY.index(suffix))
    if suffix in _DECIMAL_EXPONENT:
        return _decimal(value * Fraction(10) ** _DECIMAL_EXPONENT[suffix], scientific=False)
    exponent = int(suffix[1:])
    if abs(exponent) > 99:
        raise ValueError(f"{text[:_MAX_CHARACTERS]!r} has an exponent beyond 99")
    return _decimal(value * Fraction(10) ** exponent, scientific=True)


def _binary(value: Fraction) -> str:
    if abs(value) < 1024 or value.denominator != 1:
        return _decimal(value, scientific=False)
    number, power = value.numerator, 0
    while number % 1024 == 0 and power < len(_BINARY) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY[power]}"


def _decimal(value: Fraction, *, scientific: bool) -> str:
    nanos = value * 10**9
    number = -(-nanos.numerator // nanos.denominator) if nanos > 0 else nanos.numerator // nanos.denominator
    if number == 0:
        return "0"
    exponent = -9
    while number % 1000 == 0 and exponent < max(_DECIMAL):
        number, exponent = number // 1000, exponent + 3
    if scientific:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL[exponent]}"
