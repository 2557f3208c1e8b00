"""Texts that messages are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable

MAX_NAMES_SHOWN = 5


def list_names(
    names: Iterable[str], separator: str = ", ", limit: int = MAX_NAMES_SHOWN, count: int | None = None
) -> str:
    """The first `limit` names, sorted, and how many more there are. `count`: of all, if `names` are only the first."""
    known = sorted(names)
    more = (len(known) if count is None else count) - limit
    return separator.join(known[:limit]) + (f"{separator}and {more} more" if more > 0 else "")
