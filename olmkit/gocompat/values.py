"""JSON values as Go's fmt prints them: with %v, and with %t, which opm uses by mistake for a value that is no string.

In Go every number is a float64. Pure.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

_SHORTEST: Final = 6
"""Go writes an exponent from here on when the shortest digits are asked for; fewer digits than that are never padded."""


def format_v(value: Any) -> str:
    """The value as %v writes it."""
    return _printed(value, "%v")


def format_t(value: Any) -> str:
    """The value as %t writes it: true and false, and for every other value Go's text for a wrong verb."""
    return "%!t(<nil>)" if value is None else _printed(value, "%t")


def _printed(value: Any, verb: str) -> str:
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{' '.join(_printed(each, verb) for each in value)}]"
        case dict():
            pairs = (f"{_printed(key, verb)}:{_printed(value[key], verb)}" for key in sorted(value))
            return f"map[{' '.join(pairs)}]"
        case str():
            return value if verb == "%v" else f"%!t(string={value})"
    number = _number(value)
    return number if verb == "%v" else f"%!t(float64={number})"


def _number(value: Any) -> str:
    """A float64 with the fewest digits that identify it."""
    number = float(orjson.dumps(value)) if isinstance(value, orjson.Fragment) else _float(value)
    if number in (float("inf"), float("-inf")):
        return "+Inf" if number > 0 else "-Inf"
    sign = "-" if str(number).startswith("-") else ""
    digits, exponent = _digits(abs(number))
    if not -4 <= exponent < _SHORTEST and digits != "0":
        mantissa = digits[0] + (f".{digits[1:]}" if digits[1:] else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{whole}" + (f".{digits[exponent + 1 :]}" if digits[exponent + 1 :] else "")


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _digits(number: float) -> tuple[str, int]:
    """The digits without trailing zeros, and the power of ten of the first digit."""
    mantissa, _, exponent = f"{number:.16e}".partition("e")
    for count in range(17):
        text = f"{number:.{count}e}"
        if float(text) == number:
            mantissa, _, exponent = text.partition("e")
            break
    return mantissa.replace(".", "").rstrip("0") or "0", int(exponent)
