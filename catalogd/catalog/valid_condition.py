"""The condition Valid of one Catalog: what is wrong with what is served, and which objects could not have their usual name.

Called by catalogd.catalog.report. Every Package object under another name is told before the samples of problems, up to the
length that a message may have; problems are counted, and the first of them quoted. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import World
from olmkit.api.catalogs import ConditionType, Reason
from olmkit.api.conditions import DesiredCondition, truncate
from olmkit.api.meta import MAX_MESSAGE_BYTES
from olmkit.sources.errors import printable, quoted

MAX_QUOTED_PROBLEMS = 10
MAX_PROBLEM_CHARACTERS = 300
"""Characters of a sentence about a blob: a catalog gives the names in it."""
MAX_NAME_CHARACTERS = 100
MAX_ERROR_BYTES = 4096
"""Bytes of what is quoted out of a catalog's content."""
COUNT_BYTES = 100
"""Bytes that are kept for saying how many there are where nothing more fits."""


def valid_condition(world: World, nothing: str) -> DesiredCondition:
    """The condition; `nothing` is what is said while nothing is served."""
    served = world.served
    if served is None:
        return DesiredCondition(ConditionType.VALID, "Unknown", Reason.NOT_READ_YET, nothing)
    summary = served.summary
    notes = _listed(summary.notes, len(summary.notes))
    if summary.problem_count == 0:
        text = _told(f"all {count(summary.blob_count, 'blob')} could be read", "", notes, world)
        return DesiredCondition(ConditionType.VALID, "True", Reason.ALL_BLOBS_READ, text)
    problems = f"{count(summary.problem_count, 'problem')}: {_listed(summary.problems, summary.problem_count)}"
    return DesiredCondition(ConditionType.VALID, "False", Reason.PROBLEMS_FOUND, _told("", problems, notes, world))


def count(number: int, noun: str) -> str:
    """`1 blob`, `2 blobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _told(head: str, problems: str, notes: str, world: World) -> str:
    """Packages under other names get all the room that head, problems and notes leave, BundleMetadata what is left then."""
    said = [each for each in (head, problems, notes) if each]
    room = MAX_MESSAGE_BYTES - len("; ".join(said).encode())
    packages = _renamed(world.package_diff, "Packages", room - (COUNT_BYTES if world.bundle_diff.renamed else 0))
    bundles = _renamed(world.bundle_diff, "BundleMetadata", room - len(packages.encode()))
    return "; ".join(each for each in (head, packages, problems, notes, bundles) if each)


def _renamed(difference: Difference, kind: str, room: int) -> str:
    """What is named otherwise, as pairs of true name and object, in at most `room` bytes; how many more there are is in them."""
    if not difference.renamed:
        return ""
    pairs: list[str] = []
    text = f"{kind} whose objects have other names: "
    used = len(text) + len("; ") + len(f", and {len(difference.renamed)} more")
    for subject, name in difference.renamed:
        pair = f"{quoted(subject, MAX_NAME_CHARACTERS)} -> {name}"
        used += len(pair.encode()) + len(", ")
        if used > room:
            break
        pairs.append(pair)
    more = len(difference.renamed) - len(pairs)
    if not pairs:
        return f"{kind} whose objects have other names: {more}"
    return text + ", ".join(pairs) + (f", and {more} more" if more else "")


def _listed(sentences: Sequence[str], number: int) -> str:
    """The first sentences in at most ERROR_LIMIT bytes, and how many more than them there are in all."""
    shown = truncate("; ".join(_brief(each) for each in sentences[:MAX_QUOTED_PROBLEMS]), MAX_ERROR_BYTES)
    more = max(number, len(sentences)) - min(len(sentences), MAX_QUOTED_PROBLEMS)
    return f"{shown}; and {more} more" if more > 0 else shown


def _brief(sentence: str) -> str:
    sentence = printable(sentence)  # it may hold any name that a catalog gives
    return sentence if len(sentence) <= MAX_PROBLEM_CHARACTERS else sentence[:MAX_PROBLEM_CHARACTERS] + "…"
