"""The condition Valid of one Catalog: the problems in the served content, and the objects without their plain name.

Every renamed Package object is listed before the problems, up to the maximum length of a message. Problems are counted, and the
first ones are quoted. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import World
from olmkit.api.catalogs import ConditionType, Reason
from olmkit.api.conditions import Cause, DesiredCondition
from olmkit.api.meta import MAX_MESSAGE_BYTES
from olmkit.gocompat.text import printable, truncate
from olmkit.sources.errors import quoted

MAX_QUOTED_PROBLEMS = 10
MAX_PROBLEM_CHARACTERS = 300
"""Longer descriptions of a problem are truncated, because they contain names from the catalog."""
MAX_NAME_CHARACTERS = 100
MAX_ERROR_BYTES = 4096
"""The size of all text in the message that is quoted from the content of the catalog."""


def valid_condition(world: World, nothing_served: str) -> DesiredCondition:
    """The condition Valid. `nothing_served` is its message while nothing is served."""
    served = world.served
    if served is None:
        return DesiredCondition(ConditionType.VALID, "Unknown", Reason.NOT_READ_YET, nothing_served)
    summary = served.summary
    notes = _quoted(summary.notes, len(summary.notes))
    if summary.problem_count == 0:
        text = _message(f"all {count(summary.blob_count, 'blob')} could be read", "", notes, world)
        return DesiredCondition(ConditionType.VALID, "True", Reason.ALL_BLOBS_READ, text)
    problems = f"{count(summary.problem_count, 'problem')}: {_quoted(summary.problems, summary.problem_count)}"
    text, cause = _message("", problems, notes, world), Cause(Reason.PROBLEMS_FOUND, frozenset(summary.problems))
    return DesiredCondition(ConditionType.VALID, "False", Reason.PROBLEMS_FOUND, text, cause)


def count(number: int, noun: str) -> str:
    """The number with its noun, such as `1 blob` or `2 blobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _message(head: str, problems: str, notes: str, world: World) -> str:
    """The message. Renamed Packages get all the room that head, problems and notes leave."""
    others = [each for each in (head, problems, notes) if each]
    packages = _renamed(world.package_diff, MAX_MESSAGE_BYTES - len("; ".join(others).encode()))
    return "; ".join(each for each in (head, packages, problems, notes) if each)


def _renamed(difference: Difference, room: int) -> str:
    """The renamed Packages as pairs of package and name, and the number of omitted Packages, in at most `room` bytes."""
    if not difference.renamed:
        return ""
    pairs: list[str] = []
    text = "Packages whose objects have other names: "
    used = len(text) + len("; ") + len(f", and {len(difference.renamed)} more")
    for package, name in difference.renamed:
        pair = f"{quoted(package, MAX_NAME_CHARACTERS)} -> {name}"
        used += len(pair.encode()) + len(", ")
        if used > room:
            break
        pairs.append(pair)
    more = len(difference.renamed) - len(pairs)
    if not pairs:
        return f"{text}{more}"
    return text + ", ".join(pairs) + (f", and {more} more" if more else "")


def _quoted(sentences: Sequence[str], number: int) -> str:
    """The first sentences in at most MAX_ERROR_BYTES, and the number of omitted sentences."""
    shown = truncate("; ".join(_brief(each) for each in sentences[:MAX_QUOTED_PROBLEMS]), MAX_ERROR_BYTES)
    more = max(number, len(sentences)) - min(len(sentences), MAX_QUOTED_PROBLEMS)
    return f"{shown}; and {more} more" if more > 0 else shown


def _brief(sentence: str) -> str:
    sentence = printable(sentence)  # names from a catalog may have any characters
    return sentence if len(sentence) <= MAX_PROBLEM_CHARACTERS else sentence[:MAX_PROBLEM_CHARACTERS] + "…"
