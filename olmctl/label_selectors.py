"""Label selectors as text, as kubectl takes them: `suite=olm,test in (a,b),!slow`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from olmkit.gocompat.text import quoted

_EQUAL = re.compile(r"\s*([^\s=!,()]+)\s*(==|=|!=)\s*([^\s=!,()]*)\s*")
_IN = re.compile(r"\s*([^\s=!,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*")
_EXISTS = re.compile(r"\s*(!?)\s*([^\s=!,()]+)\s*")
_SEPARATOR = re.compile(r",(?![^(]*\))")
_MAX_CHARACTERS: Final = 1000


class BadSelector(ValueError):
    """The selector cannot be read."""


@dataclass(frozen=True)
class _Requirement:
    key: str
    is_negative: bool
    values: frozenset[str] | None = None
    """None: the key itself is required."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        found = self.key in labels if self.values is None else labels.get(self.key) in self.values
        return found != self.is_negative


@dataclass(frozen=True)
class Selector:
    """Requirements that all have to be met; none matches everything."""

    requirements: tuple[_Requirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Selector:
        """The selector of a text. Raises BadSelector."""
        if len(text) > _MAX_CHARACTERS:
            raise BadSelector(f"a selector has at most {_MAX_CHARACTERS} characters")
        return cls(tuple(map(_requirement, _SEPARATOR.split(text)))) if text.strip() else cls()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether these labels are selected."""
        return all(each.matches(labels) for each in self.requirements)


def _requirement(text: str) -> _Requirement:
    if found := _EQUAL.fullmatch(text):
        return _Requirement(found[1], found[2] == "!=", frozenset({found[3]}))
    if found := _IN.fullmatch(text):
        return _Requirement(found[1], found[2] == "notin", frozenset(each.strip() for each in found[3].split(",")))
    if found := _EXISTS.fullmatch(text):
        return _Requirement(found[2], bool(found[1]))
    raise BadSelector(f"unable to parse requirement: {quoted(text.strip())} is none, such as suite=olm")
