"""Names and versions in a sentence, and how many of them are named. Called by explain and near_misses. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.gocompat.versions import Version

MAX_ITEMS_SHOWN = 10
"""Items of a list that are named; of a longer one the nearest."""
MAX_CHANNELS_SHOWN = 4


def join_names(names: Sequence[str], last: str) -> str:
    """`a, b and c`; of a long list the first ones and how many more."""
    if len(names) > MAX_ITEMS_SHOWN:
        return f"{', '.join(names[:MAX_ITEMS_SHOWN])} and {len(names) - MAX_ITEMS_SHOWN} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def format_versions(versions: Sequence[Version], near: Version | None) -> str:
    """Ascending; of a long list how many there are and the nearest or the newest."""
    if not versions:
        return "no version"
    if len(versions) <= MAX_ITEMS_SHOWN:
        return ", ".join(map(str, versions))
    if near is None:
        shown = versions[-3:]
        word = "newest"
    else:
        below = [version for version in versions if version < near][-2:]
        shown = [*below, *[version for version in versions if version > near][:2]]
        word = "nearest"
    return f"{len(versions)} versions from {versions[0]} to {versions[-1]}, {word} {', '.join(map(str, shown))}"
