"""Which names may have been meant by a name that does not exist. Called by near_misses.py. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

MAX_SUGGESTIONS = 3
MIN_SIMILARITY_RATIO = 0.7
"""Of 1; the same as nearly half of the letters being wrong is no likeness."""
MAX_NAME_LENGTH = 253
"""Characters of a name that is compared; comparing costs the product of two lengths."""
COMMON_WORD = "operator"
"""The word that says nothing about a package, and is left out as often as not."""


def similar_names(asked: str, known: Iterable[str]) -> list[str]:
    """At most MAX_SUGGESTIONS of `known`, the most alike first, then by name."""
    likeness = {name: _similarity(asked, name) for name in set(known) if len(name) <= MAX_NAME_LENGTH}
    alike = [name for name, value in likeness.items() if value >= MIN_SIMILARITY_RATIO]
    return sorted(alike, key=lambda name: (-likeness[name], name))[:MAX_SUGGESTIONS]


def _similarity(one: str, other: str) -> float:
    """Of what is left without the words that both begin or end with: a shared suffix is no likeness, a whole beginning is."""
    left, right = _distinctive_words(one), _distinctive_words(other)
    while left and right and left[0] == right[0]:
        del left[0], right[0]
        if not left or not right:
            return 1.0 if left == right else MIN_SIMILARITY_RATIO
    while left and right and left[-1] == right[-1]:
        del left[-1], right[-1]
    return SequenceMatcher(None, "-".join(left), "-".join(right), autojunk=False).ratio()


def _distinctive_words(name: str) -> list[str]:
    return [word for word in name.split("-") if word != COMMON_WORD]
