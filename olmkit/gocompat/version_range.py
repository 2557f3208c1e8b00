"""The grammar of Operator.spec.version: a version or a range as the Go library Masterminds/semver 3.5 reads them.

A version with all three parts matches that version alone; a prerelease matches only if the range itself names one. Ranges inside
catalogs have another grammar: olmkit.gocompat.versions.BlangRange. Pure; invalid text raises BadRange and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import BadRange, BadVersion, Version, parse_version

MAX_RANGE_LENGTH = 512
"""Characters."""
MAX_RANGE_GROUPS = 32
"""Alternatives between `||`."""
EXAMPLES = 'for example "1.2.3", ">=1.2.0 <2.0.0", "~1.4" or "1.x"'

_BLANK = r"[\t\n\f\r ]"
_PART = r"[0-9xX*]+"
_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = rf"v?({_PART})(?:\.({_PART}))?(?:\.({_PART}))?(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?"
_COMPARATOR = re.compile(rf"([=!<>~^]*){_BLANK}*{_VERSION}")
_HYPHEN_RANGE = re.compile(rf"{_VERSION}{_BLANK}+-{_BLANK}+{_VERSION}")
_SEPARATOR = re.compile(rf"{_BLANK}*,{_BLANK}*|{_BLANK}+")
_OPERATORS = {symbol: symbol for symbol in ("=", "!=", ">", "<", ">=", "<=", "~", "^")}
_OPERATORS |= {"": "=", "=>": ">=", "=<": "<=", "~>": "~"}


@dataclass(frozen=True)
class Comparator:
    """One comparison. `parts_given` counts the parts before a missing one or a wildcard: 0 for `*`, 2 for `1.2` or `1.2.x`."""

    operator: str
    operand: Version
    parts_given: int

    def matches(self, version: Version) -> bool:
        """Report whether the comparison holds. The rule about prereleases concerns the group, not one comparison."""
        precedence, bound = version.precedence, self.operand.precedence
        match self.operator:
            case "=":
                return precedence == bound if self.parts_given == 3 else self._tilde(version)
            case "!=":
                return self._differs(version)
            case ">":
                return (
                    precedence > bound
                    if self.parts_given in (0, 3)
                    else self._parts(version) > self._parts(self.operand)
                )
            case ">=":
                return precedence >= bound
            case "<":
                return precedence < bound
            case "<=":
                return (
                    precedence <= bound if self.parts_given == 3 else self._parts(version) <= self._parts(self.operand)
                )
            case "~":
                return self._tilde(version)
        return self._caret(version)

    def _parts(self, version: Version) -> tuple[int, ...]:
        """The parts that a partial version compares. `*` counts as 0.0 here, as in the library."""
        return (version.major,) if self.parts_given == 1 else (version.major, version.minor)

    def _differs(self, version: Version) -> bool:
        if self.parts_given in (0, 3):
            return version.precedence != self.operand.precedence
        if self._parts(version) != self._parts(self.operand):
            return True
        return self.parts_given == 2 and version.prerelease != self.operand.prerelease

    def _tilde(self, version: Version) -> bool:
        floor = self.operand
        if version.precedence < floor.precedence:
            return False
        if self.parts_given in (0, 3) and (floor.major, floor.minor, floor.patch) == (0, 0, 0):
            return True
        return self._parts(version) == self._parts(floor)

    def _caret(self, version: Version) -> bool:
        floor = self.operand
        if version.precedence < floor.precedence or version.major != floor.major:
            return False
        if floor.major > 0 or self.parts_given == 1:
            return True
        if version.minor != floor.minor:
            return False
        return floor.minor > 0 or self.parts_given == 2 or version.patch == floor.patch


@dataclass(frozen=True)
class MastermindsRange:
    """A range of spec.version: groups joined by `||`, each of comparators joined by blanks or commas."""

    text: str
    groups: tuple[tuple[Comparator, ...], ...]

    @classmethod
    def parse(cls, text: str) -> MastermindsRange:
        """Raises BadRange, whose message quotes the text and the place of the error."""
        return _parse(text)

    def matches(self, version: Version, *, prereleases: bool = False) -> bool:
        """Report whether the range contains the version, whose release is ignored. `prereleases` admits those that it does not
        name."""
        return any(
            (prereleases or not version.prerelease or any(one.operand.prerelease for one in group))
            and all(one.matches(version) for one in group)
            for group in self.groups
        )

    @property
    def pinned(self) -> Version | None:
        """The version, if the range is exactly one: 1.2.3 or =1.2.3."""
        match self.groups:
            case ((Comparator(operator="=", parts_given=3) as comparator,),):
                return comparator.operand
        return None


@lru_cache(maxsize=4096)
def _parse(text: str) -> MastermindsRange:
    if len(text) > MAX_RANGE_LENGTH:
        raise BadRange(f"a range has at most {MAX_RANGE_LENGTH} characters")
    groups = text.split("||")
    if len(groups) > MAX_RANGE_GROUPS:
        raise BadRange(f"a range has at most {MAX_RANGE_GROUPS} parts between '||'")
    return MastermindsRange(text, tuple(tuple(_parse_group(group.strip("\t\n\f\r "), text)) for group in groups))


def _parse_group(group: str, text: str) -> list[Comparator]:
    comparators: list[Comparator] = []
    position = 0
    while True:
        hyphen, single = _HYPHEN_RANGE.match(group, position), _COMPARATOR.match(group, position)
        if hyphen is not None:
            position = hyphen.end()
            comparators += [_comparator(">=", hyphen.groups()[:5], text), _comparator("<=", hyphen.groups()[5:], text)]
        elif single is not None and single.group(1) in _OPERATORS:
            position = single.end()
            comparators.append(_comparator(_OPERATORS[single.group(1)], single.groups()[1:], text))
        else:
            raise BadRange(_syntax_error(group[position:], text))
        if position == len(group):
            return comparators
        separator = _SEPARATOR.match(group, position)
        if separator is None:
            raise BadRange(_syntax_error(group[position:], text))
        position = separator.end()


def _comparator(operator: str, found: Sequence[str | None], text: str) -> Comparator:
    """Makes a comparator of the three parts of a version and its prerelease. Build metadata is ignored."""
    parts: list[str] = []
    for part in found[:3]:
        if part is None or part in ("x", "X", "*"):
            break
        if not part.isdigit():
            raise BadRange(_syntax_error(part, text))
        parts.append(part.lstrip("0") or "0")
    prerelease = f"-{found[3]}" if found[3] else ""
    try:
        return Comparator(operator, parse_version(".".join([*parts, "0", "0", "0"][:3]) + prerelease), len(parts))
    except BadVersion as error:
        raise BadRange(f"{error} in {quoted(text)}") from error


def _syntax_error(rest: str, text: str) -> str:
    where = f" (at {quoted(rest)})" if rest and rest != text else ""
    return f"{quoted(text)} is neither a version nor a range of versions{where}"
