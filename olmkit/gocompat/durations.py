"""A duration as Go writes it, such as 1h30m. Called for fields of specs that are durations. Pure."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)")


def parse_duration(text: str) -> timedelta:
    """A duration without sign, such as 1h30m or 0. Raises ValueError for anything else."""
    parts = _PART.findall(text)
    if text != "0" and (not parts or "".join(number + unit for number, unit in parts) != text):
        raise ValueError(f'"{text}" is not a duration: write it as 10m or 1h30m')
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    except OverflowError:
        return timedelta.max / 2
