"""A Decision in words: the message of the Resolved condition, and why it came to this, in at most 1 KB.

Called by the Operator's report and by the tests in tests/cases. The messages that the OpenShift 4.14 guide shows are kept letter
by letter. Nothing is looked up here: every word comes from the Decision. Pure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, assert_never

from olmkit.conditions import cut
from olmkit.versions import Version, quoted
from operator_controller.resolve.candidates import (
    Asked,
    Candidate,
    Chosen,
    Decision,
    Dependent,
    HomeMissing,
    Kept,
    NotFound,
    Standing,
    Tied,
    Unreachable,
)
from operator_controller.resolve.lists import CHANNELS_SHOWN, names_text, versions_text
from operator_controller.resolve.near_misses import absent_catalogs, near_misses, unreadable
from operator_controller.resolve.package import Property

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


def explain(decision: Decision) -> Words:
    """The sentences for a Decision; the same Decision gives the same text."""
    outcome = decision.outcome
    match outcome:
        case Chosen():
            image, why = outcome.candidate.bundle.image, cut(_in_short(decision, outcome), LIMIT)
            return Words(True, f'resolved to "{image}"', cut(_choice(decision, outcome), LIMIT), why)
        case Kept():
            text = f"{outcome.running.version_text} stays: {_home(decision, outcome.running.catalog)}"
            return _words(f'resolved to "{outcome.running.image}"', text, resolved=True)
        case NotFound():
            message = not_found(decision.snapshot.asked)
            return _words(message, _joined(message, near_misses(decision)))
        case Unreachable():
            message = _unreachable(decision, outcome)
            return _words(message, _joined(message, _way_on(decision, outcome)))
        case Dependent():
            message = _dependent(outcome.candidate)
            return _words(message, message + _independent(decision, outcome.candidate))
        case Tied():
            return _words(*_tie(decision, outcome))
        case HomeMissing():
            message = not_found(decision.snapshot.asked)
            return _words(message, _joined(message, _home(decision, outcome.catalog)))
    assert_never(outcome)


def _words(message: str, explanation: str, *, resolved: bool = False) -> Words:
    return Words(resolved, message, cut(explanation, LIMIT))


def _joined(message: str, rest: str) -> str:
    return f"{message}: {rest}" if rest else message


def not_found(asked: Asked) -> str:
    """The guide's sentence for what was asked."""
    version = f" at version '{asked.versions.text}'" if asked.versions else ""
    channel = f" in channel '{asked.channel}'" if asked.channel else ""
    return f"package '{asked.package}'{version}{channel} not found"


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
    within = f" in '{asked.versions.text}'" if asked.versions else ""
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
    if running is not None and running.version is not None and wanted.version < running.version:
        return f"{wanted.version} cannot be reached from {here}: it is older, and no upgrade edge leads back to it"
    return f"{wanted.version} cannot be reached from {here}: no upgrade edge leads there"


def _way_on(decision: Decision, outcome: Unreachable) -> str:
    if len(outcome.path) > 1:
        steps = names_text([str(step) for step in outcome.path], "then")
        return f"the way is {steps}; set spec.version to {outcome.path[0]} first, or to a range that holds them all"
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


def _dependent(candidate: Candidate) -> str:
    asks = [f"{_requirement(entry)} (property {entry.type})" for entry in candidate.bundle.dependencies]
    shown = asks[:3] + ([f"{len(asks) - 3} more"] if len(asks) > 3 else [])
    return (
        f'bundle "{candidate.bundle.name}" requires {" and ".join(shown)}: this version of olm-suite does not install '
        "dependencies; choose a version without such a requirement"
    )


def _independent(decision: Decision, candidate: Candidate) -> str:
    """The versions that require nothing, where any of them could be installed."""
    if decision.snapshot.running is not None:
        return ""
    channels = [view for view in decision.seen if view.offer.catalog == candidate.catalog]
    free = sorted({one.version for view in channels for one in view.candidates if not one.bundle.dependencies})
    where = names_text(sorted({channel.name for view in channels for channel in view.channels}), "and")
    return f": {where} has {versions_text(free, None)}" if free else f": {where} has none"


def _requirement(entry: Property) -> str:
    value: dict[str, Any] = entry.value if isinstance(entry.value, dict) else {}
    match entry.type:
        case "olm.package.required" if value:
            return f"package {_shown(value.get('packageName', ''))} in range {_shown(value.get('versionRange', ''))}"
        case "olm.gvk.required" if value:
            group, version, kind = (value.get(key, "") for key in ("group", "version", "kind"))
            return f"kind {_shown(kind)[1:-1]} of {_shown(f'{group}/{version}')}"
    if isinstance(value.get("failureMessage"), str) and value["failureMessage"]:
        return _shown(value["failureMessage"])
    return cut(json.dumps(entry.value, sort_keys=True), _VALUE_LIMIT)


def _shown(value: object) -> str:
    """What a catalog says, in quotes: on one line and not too long, whatever it is."""
    return quoted(cut(str(value), _VALUE_LIMIT))


def _tie(decision: Decision, outcome: Tied) -> tuple[str, str]:
    catalogs = names_text([f'"{name}"' for name in outcome.catalogs], "and")
    message = f"package '{decision.snapshot.asked.package}' is offered by catalogs {catalogs} of the same priority"
    return message, f"{message}: give one of them a higher spec.priority"


def _home(decision: Decision, catalog: str) -> str:
    """Why the catalog that an installed package stays with cannot be asked."""
    offer = next((offer for offer in decision.snapshot.offers if offer.catalog == catalog), None)
    if offer is None:
        return f'catalog "{catalog}", which it came from, is gone, so no other version is looked for'
    if offer.standing is Standing.PENDING:
        return f'catalog "{catalog}", which it came from, is not served yet: {offer.message}'
    return f'catalog "{catalog}", which it came from, cannot be read: {offer.message}'
