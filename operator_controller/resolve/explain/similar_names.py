"""Names similar to a name that does not exist ("did you mean …?"). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

MAX_SUGGESTIONS = 3
MIN_SIMILARITY_RATIO = 0.7
"""The lowest similarity of a name that is suggested, from 0 (nothing in common) to 1 (equal)."""
MAX_NAME_LENGTH = 253
"""Characters; longer names are not compared, because the cost is the product of both lengths."""
COMMON_WORD = "operator"
"""A word that many package names contain: it is ignored."""


def similar_names(requested: str, known: Iterable[str]) -> list[str]:
    """Return at most MAX_SUGGESTIONS of `known`, the most similar first, then by name."""
    ratio = {name: _similarity(requested, name) for name in set(known) if len(name) <= MAX_NAME_LENGTH}
    similar = [name for name, value in ratio.items() if value >= MIN_SIMILARITY_RATIO]
    return sorted(similar, key=lambda name: (-ratio[name], name))[:MAX_SUGGESTIONS]


def _similarity(one: str, other: str) -> float:
    """The similarity of the words that remain without a common prefix and suffix, from 0 to 1, without regard to case. A common
    suffix counts for nothing; if one name is a prefix of the other, they are similar.
    """
    left, right = _distinctive_words(one), _distinctive_words(other)
    while left and right and left[0] == right[0]:
        del left[0], right[0]
        if not left or not right:
            return 1.0 if left == right else MIN_SIMILARITY_RATIO
    while left and right and left[-1] == right[-1]:
        del left[-1], right[-1]
    return SequenceMatcher(None, "-".join(left), "-".join(right), autojunk=False).ratio()


def _distinctive_words(name: str) -> list[str]:
    return [word for word in name.casefold().split("-") if word != COMMON_WORD]
