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
    """The selector cannot be read, or selects nothing."""


@dataclass(frozen=True)
class _Requirement:
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "exists":
                return self.key in labels
            case "!":
                return self.key not in labels
            case "=" | "in":
                return labels.get(self.key) in self.values
        return labels.get(self.key) not in self.values

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
        return f"{self.key}{self.operator}{self.values[0]}"


@dataclass(frozen=True)
class Selector:
    """Requirements that all have to be met; without any, everything is selected."""

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

    def __str__(self) -> str:
        """The selector as Kubernetes prints it."""
        return ",".join(map(str, sorted(self.requirements, key=lambda one: one.key)))


def _requirement(text: str) -> _Requirement:
    if found := _EQUAL.fullmatch(text):
        return _Requirement(found[1], "!=" if found[2] == "!=" else "=", (found[3],))
    if found := _IN.fullmatch(text):
        return _Requirement(found[1], found[2], tuple(each.strip() for each in found[3].split(",")))
    if found := _EXISTS.fullmatch(text):
        return _Requirement(found[2], found[1] or "exists")
    forms = "suite=olm, test in (a,b) or !slow"
    raise BadSelector(f"unable to parse requirement: {quoted(text.strip())} has no form such as {forms}")
