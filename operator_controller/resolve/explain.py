"""A Decision in words: the message of the Resolved condition, and why it came to this, in at most 1 KB.

Called by resolution.py and by the tests in tests/cases. The messages that the OpenShift 4.14 guide shows are kept letter by
letter, with its single quotes; names and ranges in all others stand in double ones. Nothing is looked up here: every word comes
from the Decision. Pure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, assert_never

from olmkit.api.conditions import truncate
from olmkit.fbc import schemas
from olmkit.gocompat.versions import Version, quoted
from operator_controller.resolve.bundle_identity import has_namesake
from operator_controller.resolve.formatting import CHANNELS_SHOWN, names_text, versions_text
from operator_controller.resolve.package import Property
from operator_controller.resolve.resolver import (
    Asked,
    Chosen,
    Decision,
    Dependent,
    HomeMissing,
    Kept,
    NotFound,
    Refused,
    Running,
    Standing,
    Tied,
    Unreachable,
)
from operator_controller.resolve.suggestions import TOO_LARGE, absent_catalogs, near_misses, unreadable

LIMIT = 1024
"""Bytes of an explanation."""
_VALUE_LIMIT = 200


@dataclass(frozen=True)
class Words:
    """`message` is for the Resolved condition, `explanation` for Ready's message and status.resolution."""

    is_resolved: bool
    message: str
    explanation: str
    why: str = ""
    """Of a bundle to be installed: what made it the one, in a few words."""
    followed: str = ""
    """Which catalog took the place of a deleted one, in a sentence; part of the explanation too."""


def explain(decision: Decision) -> Words:
    """The sentences for a Decision; the same Decision gives the same text."""
    words = _explain(decision)
    follow = decision.follow
    if follow is None:
        return words
    followed = (
        f'catalog "{follow.deleted}", which it came from, was deleted: it follows catalog "{follow.catalog}", which offers the '
        "same bundle"
    )
    explanation = f"{truncate(words.explanation, LIMIT - len(followed.encode()) - 2)}; {followed}"
    return replace(words, explanation=explanation, followed=followed)


def _explain(decision: Decision) -> Words:
    outcome, asked = decision.outcome, decision.snapshot.asked
    match outcome:
        case Chosen():
            image, why = outcome.candidate.bundle.image, truncate(_in_short(decision, outcome), LIMIT)
            return Words(True, f'resolved to "{image}"', truncate(_choice(decision, outcome), LIMIT), why)
        case Kept():
            cause = _not_offered if outcome.is_not_offered else _home
            text = f"{outcome.running.version_text} stays: {cause(decision, outcome.running)}"
            return _words(f'resolved to "{outcome.running.image}"', text, resolved=True)
        case NotFound():
            message = not_found(asked)
            return _words(message, _joined(message, near_misses(decision)))
        case Refused():
            message = (
                f"package {quoted(asked.package)} of catalog {quoted(outcome.catalog)} {TOO_LARGE}: {outcome.message}"
            )
            return _words(message, "; ".join([message, *absent_catalogs(decision.seen, but=outcome.catalog)]))
        case Unreachable():
            message = _unreachable(decision, outcome)
            return _words(message, _joined(message, _way_on(decision, outcome)))
        case Dependent():
            return _words(*_dependent(decision, outcome))
        case Tied():
            return _words(*_tie(decision, outcome))
        case HomeMissing():
            message = not_found(asked)
            return _words(message, _joined(message, _home(decision, decision.snapshot.running)))
    assert_never(outcome)


def _words(message: str, explanation: str, *, resolved: bool = False) -> Words:
    return Words(resolved, message, truncate(explanation, LIMIT))


def _joined(message: str, rest: str) -> str:
    return f"{message}: {rest}" if rest else message


def not_found(asked: Asked) -> str:
    """The guide's sentence for what was asked."""
    version = f" at version '{asked.versions.text}'" if asked.versions else ""
    channel = f" in channel '{asked.channel}'" if asked.channel else ""
    return f"package '{asked.package}'{version}{channel} not found"


def _not_offered(decision: Decision, running: Running) -> str:
    """What the catalog has instead of what runs, and that nothing leads there."""
    view = decision.seen[0]
    catalog, package = f'catalog "{view.offer.catalog}"', view.offer.package
    if package is None:
        return "; ".join([f"{catalog} does not have the package any more", *absent_catalogs(decision.seen)])
    is_elsewhere = has_namesake(package, running.name, running.version)
    channels = sorted(channel.name for channel in view.channels)
    where = f" in channel {names_text(channels, 'or')}" if is_elsewhere and channels else ""
    text = f"{catalog} does not offer it{where}" if is_elsewhere else f"{catalog} does not offer it any more"
    others = [one.version for one in view.matching]
    if others and running.version is not None and max(others) < running.version:
        text += ", and what it offers is older"
    elif others:
        text += f", and no upgrade edge leads from it to {max(others)}"
    return "; ".join([text, *unreadable(decision.seen), *absent_catalogs(decision.seen)])


# --- a choice


def _choice(decision: Decision, outcome: Chosen) -> str:
    candidate, running = outcome.candidate, decision.snapshot.running
    origin = f'{candidate.version} of channel {candidate.channel} in catalog "{candidate.catalog}"'
    parts = [f"{origin}{_why_it(decision, outcome)}"]
    if candidate.deprecation:
        parts.append(f"it is deprecated: {candidate.deprecation}")
    if running is not None and outcome.candidate == outcome.target:
        parts += _out_of_reach(decision, outcome)
    own = [view for view in decision.seen if view.offer.catalog == candidate.catalog]
    return "; ".join([*parts, *unreadable(own), *absent_catalogs(own)])


def _why_it(decision: Decision, outcome: Chosen) -> str:
    asked, running = decision.snapshot.asked, decision.snapshot.running
    if outcome.candidate != outcome.target and running is not None:
        return f": the next step on the way from {running.version_text} to {outcome.target.version}"
    count = len(
        {one.version for view in decision.seen for one in view.matching if one.catalog == outcome.candidate.catalog}
    )
    if asked.versions is not None and asked.versions.pinned is not None:
        return ": the version that was asked for"
    within = f" in range {quoted(asked.versions.text)}" if asked.versions else ""
    return f": the best of {count} versions{within}" if count > 1 else f": the only version{within}"


def _in_short(decision: Decision, outcome: Chosen) -> str:
    """The rule that led to the candidate, for the one line that tells of its installation."""
    asked, candidate = decision.snapshot.asked, outcome.candidate
    if asked.versions is not None and asked.versions.pinned is not None:
        return "asked for"
    if candidate != outcome.target:
        return f"next step on the way to {outcome.target.version}"
    if asked.versions is not None:
        return f'best in range "{asked.versions.text}"' + (f" of channel {asked.channel}" if asked.channel else "")
    versions = [
        one.version for view in decision.seen for one in view.matching if view.offer.catalog == candidate.catalog
    ]
    return f"{'newest' if candidate.version >= max(versions) else 'best'} of channel {candidate.channel}"


def _out_of_reach(decision: Decision, outcome: Chosen) -> list[str]:
    """What is better and cannot be had from here."""
    running = decision.snapshot.running
    better = [one for view in decision.seen for one in view.matching if one.rank > outcome.target.rank]
    if not better or running is None:
        return []
    best = max(better, key=lambda one: one.rank)
    return [f"{best.version} is there too, but no upgrade edge leads to it from {running.version_text}"]


# --- refusals


def _unreachable(decision: Decision, outcome: Unreachable) -> str:
    running, wanted = decision.snapshot.running, outcome.wanted
    here = running.version_text if running else ""
    if outcome.path:
        return f"{wanted.version} cannot be reached from {here} directly: next step {outcome.path[0]}"
    if _is_older(decision, outcome):
        return f"{wanted.version} cannot be reached from {here}: it is older, and no upgrade edge leads back to it"
    return f"{wanted.version} cannot be reached from {here}: no upgrade edge leads there"


def _is_older(decision: Decision, outcome: Unreachable) -> bool:
    running = decision.snapshot.running
    return running is not None and running.version is not None and outcome.wanted.version < running.version


def _way_on(decision: Decision, outcome: Unreachable) -> str:
    if len(outcome.path) > 1:
        steps = names_text([str(step) for step in outcome.path], "then")
        return f"the way is {steps}; set spec.version to {outcome.path[0]} first, or to a range that holds them all"
    return "; ".join([*_way_back(decision, outcome), _leads_on(decision, outcome)])


def _way_back(decision: Decision, outcome: Unreachable) -> list[str]:
    """How an older version is installed all the same, and what it costs."""
    if not _is_older(decision, outcome):
        return []
    return [
        f"to install {outcome.wanted.version}, delete this Operator and create it again, which deletes the custom resources of "
        "its kinds too"
    ]


def _leads_on(decision: Decision, outcome: Unreachable) -> str:
    """Where the upgrade edges lead to from what runs."""
    if outcome.open:
        return f"from here {'; '.join(_leading(outcome))}"
    catalog = outcome.wanted.catalog
    channels = [channel.name for view in decision.seen if view.offer.catalog == catalog for channel in view.channels]
    if len(channels) == 1:
        return f'channel {channels[0]} of catalog "{catalog}" leads nowhere from here'
    return f'no channel of catalog "{catalog}" leads anywhere from here'


def _leading(outcome: Unreachable) -> list[str]:
    """Which channels lead where; those that lead to the same versions together."""
    by_list: dict[tuple[Version, ...], list[str]] = {}
    for channel, versions in sorted(outcome.open.items()):
        by_list.setdefault(versions, []).append(channel)
    of = f'of catalog "{outcome.wanted.catalog}"'
    parts = [
        f"channel{'s' if len(names) > 1 else ''} {names_text(names, 'and')} {of} "
        f"{'lead' if len(names) > 1 else 'leads'} to {versions_text(versions, None)}"
        for versions, names in list(by_list.items())[:CHANNELS_SHOWN]
    ]
    more = len(by_list) - len(parts)
    return parts + ([f"{more} more channels lead to others"] if more > 0 else [])


def _dependent(decision: Decision, outcome: Dependent) -> tuple[str, str]:
    """The message, and the same with the versions that require nothing."""
    candidate, running = outcome.candidate, decision.snapshot.running
    asks = [f"{_requirement(entry)} (property {entry.type})" for entry in candidate.bundle.dependencies]
    shown = asks[:3] + ([f"{len(asks) - 3} more"] if len(asks) > 3 else [])
    refused = (
        f'bundle "{candidate.bundle.name}" requires {" and ".join(shown)}: this version of olm-suite does not install '
        "dependencies"
    )
    if outcome.free:
        message = f"{refused}; choose a version without such a requirement"
        return message, f"{message}: {versions_text(outcome.free, None)}"
    if running is not None:
        message = f"{refused}, and no version without such a requirement can be reached from {running.version_text}"
    else:
        channels = sorted({channel.name for view in decision.seen for channel in view.channels})
        of = f"channel{'s' if len(channels) > 1 else ''} {names_text(channels, 'and')}"
        message = f"{refused}, and every version of {of} has such a requirement"
    return message, message


def _requirement(entry: Property) -> str:
    value: dict[str, Any] = entry.value if isinstance(entry.value, dict) else {}
    match entry.type:
        case schemas.PACKAGE_REQUIRED if value:
            return f"package {_shown(value.get('packageName', ''))} in range {_shown(value.get('versionRange', ''))}"
        case schemas.GVK_REQUIRED if value:
            group, version, kind = (value.get(key, "") for key in ("group", "version", "kind"))
            return f"kind {_shown(kind)[1:-1]} of {_shown(f'{group}/{version}')}"
    as_json = truncate(json.dumps(entry.value, sort_keys=True), _VALUE_LIMIT)
    if entry.type != "olm.constraint":
        return as_json
    message = value.get("failureMessage")
    if isinstance(message, str) and message:  # a sentence of the bundle's author, no name of anything
        return f"what a constraint describes as {_shown(message)}"
    return f"what a constraint defines as {as_json}"


def _shown(value: object) -> str:
    """What a catalog says, in quotes: on one line and not too long, whatever it is."""
    return quoted(truncate(str(value), _VALUE_LIMIT))


def _tie(decision: Decision, outcome: Tied) -> tuple[str, str]:
    catalogs = names_text([f'"{name}"' for name in outcome.catalogs], "and")
    message = (
        f"package {quoted(decision.snapshot.asked.package)} is offered by catalogs {catalogs} of the same priority"
    )
    return message, f"{message}: give one of them a higher spec.priority"


def _home(decision: Decision, running: Running | None) -> str:
    """Why the catalog that an installed package stays with cannot be asked, and what helps where a person can."""
    if running is None:
        return ""
    offer = next((offer for offer in decision.snapshot.offers if offer.catalog == running.catalog), None)
    catalog = f'catalog "{running.catalog}", which it came from,'
    if offer is None:
        return f"{catalog} was deleted, and {_no_successor(decision, running)}"
    match offer.standing:
        case Standing.UNAVAILABLE:
            return f"{catalog} has spec.availability Unavailable, so no other version is installed"
        case Standing.PENDING:
            return f"{catalog} is not served yet: {offer.message}"
        case Standing.TOO_LARGE:
            return f"its package in {catalog} {TOO_LARGE}: {offer.message}"
    return f"{catalog} cannot be read: {offer.message}"


def _no_successor(decision: Decision, running: Running) -> str:
    """Why no other catalog takes the place of the deleted one, and how to go on.

    A Catalog of the recorded name is the home again, whatever its source: that is how a person moves to another image.
    """
    others = [
        quoted(offer.catalog)
        for offer in decision.snapshot.offers
        if offer.standing is not Standing.UNAVAILABLE
        and offer.package is not None
        and has_namesake(offer.package, running.name, running.version)
    ]
    none = f"no other catalog that is served offers bundle {quoted(running.name)}"
    if not others:
        return f"{none}: create a Catalog that does, and it goes on from there"
    names, last = names_text(others, "and"), names_text(others, "or")
    known = f"catalogs {names} offer" if len(others) > 1 else f"catalog {names} offers"
    return (
        f"{none} with the image that runs: {known} a bundle of the same name and version with another image, which is not "
        f"followed; create Catalog {quoted(running.catalog)} again to go on, with the source of {last} only if that image is "
        "meant"
    )
