"""Versions and the ranges that catalogs are written in: semantic versions with releases, and blang's grammar of ranges.

The library semantic_version parses versions; ranges, and the words of errors, are those of the Go library blang/semver, which opm
uses (docs/decisions/0029). The grammar of an Operator's spec.version is in olmkit/gocompat/version_range.py.
Text that cannot be read raises BadVersion or BadRange and nothing else. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, total_ordering

import semantic_version

from olmkit.gocompat.text import quoted

MAX_RELEASE_LENGTH = 20
"""Longest release, in characters."""
MAX_LENGTH = 1024
"""Characters of the longest version or range that is parsed; no real one comes near."""
MAX_CACHED_LENGTH = 64
"""Characters of the longest range that is cached: a cache full of the longest ones would take a gigabyte."""
_NUMBERS_END = 2**64
"""The first number that blang/semver does not accept."""
_NUMERIC = re.compile(r"[0-9]+")
_DIGITS = frozenset("0123456789")
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")
_PLAIN = re.compile(r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")
"""Three numbers of less than 64 bits and nothing else."""

Identifier = tuple[int, int, str]
"""One dot-separated part, in an order of its own: (0, number, "") below (1, 0, text)."""
Precedence = tuple[int, int, int, tuple[Identifier | int, ...]]
"""Major, minor, patch and the prerelease, in the order of semver.org 2.0.0."""
Order = tuple[Precedence, tuple[Identifier, ...]]
"""The precedence, then the release."""


class BadVersion(ValueError):
    """The text is no version. The message is that of blang/semver."""


class BadRange(ValueError):
    """The text is no range. The message is that of blang/semver."""


@total_ordering
@dataclass(frozen=True, eq=False, slots=True)
class Version:
    """A semantic version and the release of its packaging. Ordered by precedence, then release; build metadata never counts."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()
    build: str = ""
    release: str = ""
    precedence: Precedence = field(init=False, repr=False)
    """The part that ranges compare: everything but build metadata and release."""
    order: Order = field(init=False, repr=False)
    """The key by which versions compare. As the key of a sort it saves a Python call for each comparison."""

    def __post_init__(self) -> None:
        rank: tuple[Identifier | int, ...] = (0, *map(_identifier, self.prerelease)) if self.prerelease else (1,)
        precedence = (self.major, self.minor, self.patch, rank)
        release = tuple(map(_identifier, self.release.split("."))) if self.release else ()
        object.__setattr__(self, "precedence", precedence)
        object.__setattr__(self, "order", (precedence, release))

    def __eq__(self, other: object) -> bool:
        return self.order == other.order if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self.order < other.order

    def __hash__(self) -> int:
        return hash(self.order)

    def __str__(self) -> str:
        suffix = self.release or self.build
        prerelease = "-" + ".".join(self.prerelease) if self.prerelease else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}" + (f"+{suffix}" if suffix else "")


def _identifier(part: str) -> Identifier:
    return (0, int(part), "") if _NUMERIC.fullmatch(part) else (1, 0, part)


def parse_version(text: str) -> Version:
    """Exactly three numbers without leading zeros, then perhaps -prerelease and +build (semver.org 2.0.0). Raises BadVersion."""
    plain = _PLAIN.fullmatch(text)
    if plain is not None:  # most versions of a catalog: a third of the time
        return Version(int(plain[1]), int(plain[2]), int(plain[3]))
    parsed = _parsed(text)
    if parsed is None:
        raise BadVersion(_reason(text))
    return Version(parsed.major, parsed.minor, parsed.patch, tuple(parsed.prerelease), ".".join(parsed.build))


def plain_order(text: str) -> Order | None:
    """The order of a version of three numbers and nothing else; None for every other text."""
    plain = _PLAIN.fullmatch(text)
    if plain is None:
        return None
    major, minor, patch = plain.groups()
    return (int(major), int(minor), int(patch), (1,)), ()


def parse_tolerant_version(text: str) -> Version:
    """A version as CSVs and rules write it: blanks around it, one `v`, leading zeros and missing parts are allowed.

    Raises BadVersion, also for a short version with a suffix, such as 1.2-alpha.
    """
    parts = [_without_leading_zeros(part) for part in text.strip().removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(mark in parts[-1] for mark in "-+"):
        raise BadVersion("Short version cannot contain PreRelease/Build meta data")
    return parse_version(".".join([*parts, "0", "0"][: max(3, len(parts))]))


def is_newer(version: str, other: str) -> bool:
    """Report whether a version is above another one; no other text is."""
    try:
        return parse_tolerant_version(version) > parse_tolerant_version(other)
    except BadVersion:
        return False


def version_hint(text: str) -> str:
    """The advice that ends an error about a text that is a version but for its v, as the tag of an image has it; else ""."""
    meant = text.removeprefix("v")
    try:
        return f": write {parse_version(meant)}" if meant != text else ""
    except BadVersion:
        return ""


def _without_leading_zeros(part: str) -> str:
    """The part as blang/semver passes it on: one zero stands before a part that begins with no digit, also in its errors."""
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in _DIGITS else f"0{rest}"


def _parsed(text: str) -> semantic_version.Version | None:
    """The version as semantic_version parses it; None also for what only that library accepts: digits of other scripts, a line
    end, numbers of more than 64 bits."""
    if len(text) > MAX_LENGTH or not (text.isascii() and text.isprintable()):
        return None
    try:
        parsed = semantic_version.Version(text)
    except ValueError:
        return None
    numbers = (parsed.major, parsed.minor, parsed.patch, *(int(each) for each in parsed.prerelease if each.isdigit()))
    return parsed if max(numbers) < _NUMBERS_END else None


def parse_bundle_version(text: str, release: str | None = None) -> Version:
    """The version of an olm.package property, with its release. Raises BadVersion.

    An explicit release wins ("" is none) and leaves build metadata alone; without one, build metadata that is a valid release
    is taken as the release, as OLM reads 1.0.0+2.
    """
    version = parse_version(text)
    if release is not None:
        return replace(version, release=parse_release(release)) if release else version
    if not version.build:
        return version
    try:
        return replace(version, build="", release=parse_release(version.build))
    except BadVersion:
        return version


def parse_release(text: str) -> str:
    """The release itself: "" or at most 20 characters of dot-separated prerelease identifiers. Raises BadVersion."""
    if len(text) > MAX_RELEASE_LENGTH:
        raise BadVersion(f"invalid release {quoted(text)}: exceeds maximum length of {MAX_RELEASE_LENGTH} characters")
    for index, part in enumerate(text.split(".") if text else ()):
        if reason := _identifier_reason(part):
            raise BadVersion(f"invalid release {quoted(text)}: segment {index}: {reason}")
    return text


def _reason(text: str) -> str:
    """The error of blang/semver for a text that is no version: opm prints it, and authors of catalogs know it."""
    if not text:
        return "Version string empty"
    if len(text) > MAX_LENGTH:
        return f"version is longer than {MAX_LENGTH} characters"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    numbers = (("Major", parts[0]), ("Minor", parts[1]), ("Patch", patch))
    reasons = [_number_reason(name, number) for name, number in numbers]
    reasons += [_identifier_reason(part) for part in prerelease.split(".") if dash]
    reasons += [_build_reason(part) for part in build.split(".") if plus]
    return next(filter(None, reasons), "not a semantic version")


def _number_reason(name: str, text: str) -> str:
    if not _NUMERIC.fullmatch(text):
        return f"Invalid character(s) found in {name.lower()} number {quoted(text)}"
    if len(text) > 1 and text[0] == "0":
        return f"{name} number must not contain leading zeroes {quoted(text)}"
    return f"{name} number is too large {quoted(text)}" if int(text) >= _NUMBERS_END else ""


def _identifier_reason(part: str) -> str:
    if not part:
        return "Prerelease is empty"
    if not _IDENTIFIER.fullmatch(part):
        return f"Invalid character(s) found in prerelease {quoted(part)}"
    if not _NUMERIC.fullmatch(part):
        return ""
    if len(part) > 1 and part[0] == "0":
        return f"Numeric PreRelease version must not contain leading zeroes {quoted(part)}"
    return f"Prerelease number is too large {quoted(part)}" if int(part) >= _NUMBERS_END else ""


def _build_reason(part: str) -> str:
    if not part:
        return "Build meta data is empty"
    return "" if _IDENTIFIER.fullmatch(part) else f"Invalid character(s) found in build meta data {quoted(part)}"


Comparator = tuple[str, Version]
_HOLDS: dict[str, Callable[[tuple[object, ...], tuple[object, ...]], bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
}
_BLANG_OPERATORS = {"": "=", "=": "=", "==": "=", "!": "!=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
_PLAIN_COMPARATOR = re.compile(rf"([<>!=]?=?){_PLAIN.pattern}")


@dataclass(frozen=True)
class BlangRange:
    """A range of olm.package.required, skipRange, olm.constraint or dependencies.yaml, read as the library blang/semver reads it.

    `||` between blanks is OR, blanks are AND. Prereleases are plain versions. Wildcards are trailing lower-case `x`.
    """

    text: str
    groups: tuple[tuple[Comparator, ...], ...]

    def __hash__(self) -> int:
        return hash(self.text)

    @classmethod
    def parse(cls, text: str) -> BlangRange:
        """The range in a text, cached unless it is long, because one catalog repeats its ranges. Raises BadRange."""
        return _parse_blang(text) if len(text) <= MAX_CACHED_LENGTH else _parse_blang.__wrapped__(text)

    def matches(self, version: Version) -> bool:
        """Report whether the version, without its release, is in the range."""
        return any(
            all(_HOLDS[operator](version.precedence, bound.precedence) for operator, bound in group)
            for group in self.groups
        )

    def slices(self, points: Sequence[Precedence]) -> Iterator[tuple[int, int]]:
        """The half-open slices of the ascending, distinct `points` that are in the range; those of different groups may overlap.

        Costs a binary search per comparison, however many points there are.
        """
        for group in self.groups:
            low, high, holes = 0, len(points), set[int]()
            for operator, bound in group:
                at = bisect_left(points, bound.precedence)
                after = at + 1 if at < len(points) and points[at] == bound.precedence else at
                match operator:
                    case "=":
                        low, high = max(low, at), min(high, after)
                    case "!=":
                        holes.update(range(at, after))
                    case ">" | ">=":
                        low = max(low, after if operator == ">" else at)
                    case _:
                        high = min(high, at if operator == "<" else after)
            for hole in sorted(holes):
                if low < min(hole, high):
                    yield low, min(hole, high)
                low = max(low, hole + 1)
            if low < high:
                yield low, high


@lru_cache(maxsize=16_384)
def _parse_blang(text: str) -> BlangRange:
    if len(text) > MAX_LENGTH:
        raise BadRange(f"range is longer than {MAX_LENGTH} characters")
    plain = [_PLAIN_COMPARATOR.fullmatch(token) for token in text.split(" ")]
    if all(plain):  # most skipRanges of a catalog: a third of the time
        return BlangRange(text, (tuple(_plain_comparator(found) for found in plain if found),))
    groups: list[tuple[Comparator, ...]] = []
    for group in _split_or(range_tokens(text)):
        expanded = [plain for token in group for plain in _expand_wildcard(token)]
        groups.append(tuple(parse_comparator(token) for token in expanded))
    return BlangRange(text, tuple(groups))


def _plain_comparator(found: re.Match[str]) -> Comparator:
    return _BLANG_OPERATORS[found[1]], Version(int(found[2]), int(found[3]), int(found[4]))


def range_tokens(text: str) -> list[str]:
    """The parts between blanks; a blank after <, > or = does not separate. As blang/semver does, drops tokens of one byte."""
    tokens: list[str] = []
    start, previous = 0, ""
    for index, character in enumerate(text):
        if character != " ":
            previous = character
        elif previous not in ("<", ">", "="):
            tokens.append(text[start:index])
            start = index + 1
    tokens.append(text[start:])
    return [token.replace(" ", "") for token in tokens if len(token.encode(errors="replace")) > 1]


def _split_or(tokens: list[str]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for index, token in enumerate(tokens):
        if token != "||":
            groups[-1].append(token)
        elif index == 0:
            raise BadRange("First element in range is '||'")
        else:
            groups.append([])
    if not groups[-1]:
        raise BadRange("Last element in range is '||'")
    if not all(groups):
        raise BadRange("Two '||' follow each other")
    return groups


def split_operator(token: str) -> tuple[str, str]:
    """The text before the first digit, and the rest. Raises BadRange when there is no digit."""
    digit = re.search(r"\d", token)
    if digit is None:
        raise BadRange(f"Could not get version from string: {quoted(token)}")
    return token[: digit.start()].strip(), token[digit.start() :]


def parse_comparator(token: str) -> Comparator:
    """An operator and a version, without wildcards. Raises BadRange."""
    operator, text = split_operator(token)
    if operator not in _BLANG_OPERATORS:
        raise BadRange(
            f"Could not parse Range {quoted(token)}: Could not parse comparator {quoted(operator)} in {quoted(operator + text)}"
        )
    try:
        return _BLANG_OPERATORS[operator], parse_version(text)
    except BadVersion as error:
        raise BadRange(
            f"Could not parse Range {quoted(token)}: Could not parse version {quoted(text)} in {quoted(operator + text)}: {error}"
        ) from error


def _expand_wildcard(token: str) -> list[str]:
    """`1.2.x` becomes `>=1.2.0 <1.3.0` and so on; `!=1.2.x` becomes an AND that never holds, as in the library."""
    if "x" not in token:
        return [token]
    operator, text = split_operator(token)
    floor = text.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
    if floor.count(".") == 1:
        floor += ".0"
    match _BLANG_OPERATORS.get(operator):
        case ">=":
            return [f">={floor}"]
        case "<":
            return [f"<{floor}"]
        case ">":
            return [f">={_ceiling(token, text, floor)}"]
        case "<=":
            return [f"<{_ceiling(token, text, floor)}"]
        case "=":
            return [f">={floor}", f"<{_ceiling(token, text, floor)}"]
        case "!=":
            return [f"<{floor}", f">={_ceiling(token, text, floor)}"]
    raise BadRange(
        f"Could not parse Range {quoted(token)}: Could not parse comparator {quoted(operator)} in {quoted(token)}"
    )


def _ceiling(token: str, text: str, floor: str) -> str:
    """The first version above all versions of the wildcard."""
    parts = floor.split(".")
    wild = text.split(".")
    place = len(wild) - 2
    if wild[-1] != "x" or place not in (0, 1) or not _NUMERIC.fullmatch(parts[place]):
        raise BadRange(f"Could not parse Range {quoted(token)}: a wildcard is the last part of a version, as in 1.2.x")
    parts[place] = str(int(parts[place]) + 1)
    return ".".join(parts)
