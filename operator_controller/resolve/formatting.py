"""Names, versions and values of catalogs in messages, shortened. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olmkit.gocompat.text import quoted, truncate
from olmkit.gocompat.versions import Version

MAX_ITEMS_SHOWN = 10
"""Names or versions of one list; a longer list is shortened."""
MAX_NAMES_SHOWN = 5
"""Names that first_names shows."""
MAX_CHANNELS_SHOWN = 4
MAX_VALUE_BYTES = 200
"""UTF-8 bytes of a value from a catalog in a message."""


def quoted_value(value: object) -> str:
    """A value from a catalog, in quotes: one line of limited length, whatever the value is."""
    return quoted(truncate(str(value), MAX_VALUE_BYTES))


def plain_value(value: object) -> str:
    """Same as quoted_value, without the quotes."""
    return quoted_value(value)[1:-1]


def join_names(names: Sequence[str], last: str) -> str:
    """`a, b and c`; of a long list the first names and the number of the others."""
    if len(names) > MAX_ITEMS_SHOWN:
        return f"{', '.join(names[:MAX_ITEMS_SHOWN])} and {len(names) - MAX_ITEMS_SHOWN} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def name_catalogs(names: Sequence[str]) -> str:
    """`catalog "a"`, `catalogs "a" and "b"`."""
    return f"catalog{'s' if len(names) > 1 else ''} {join_names([quoted(name) for name in names], 'and')}"


def name_channels(names: Sequence[str]) -> str:
    """`channel a`, `channels a and b`."""
    return f"channel{'s' if len(names) > 1 else ''} {join_names(names, 'and')}"


def first_names(names: Iterable[str]) -> str:
    """`a, b, c`; of many the first ones, in the form of rukpak's messages, and the number of the others."""
    found = [*names]
    more = [f"and {len(found) - MAX_NAMES_SHOWN} more"] if len(found) > MAX_NAMES_SHOWN else []
    return ", ".join([*found[:MAX_NAMES_SHOWN], *more])


def join_sentences(sentences: Sequence[str], limit: int) -> str:
    """The sentences, joined by semicolons, as many of the first as have at most `limit` bytes; the first one is cut."""
    text = truncate(sentences[0], limit)
    for each in sentences[1:]:
        if len(f"{text}; {each}".encode()) > limit:
            break
        text = f"{text}; {each}"
    return text


def format_versions(versions: Sequence[Version], near: Version | None, last: str = "") -> str:
    """`versions`, which are ascending; of a long list the number, and those nearest to `near` or (None) the newest. `last`: the
    word before the last one of a short list."""
    if not versions:
        return "no version"
    if len(versions) <= MAX_ITEMS_SHOWN:
        texts = [str(each) for each in versions]
        return join_names(texts, last) if last else ", ".join(texts)
    if near is None:
        shown = versions[-3:]
        word = "newest"
    else:
        below = [version for version in versions if version < near][-2:]
        shown = [*below, *[version for version in versions if version > near][:2]]
        word = "nearest"
    return f"{len(versions)} versions from {versions[0]} to {versions[-1]}, {word} {', '.join(map(str, shown))}"
