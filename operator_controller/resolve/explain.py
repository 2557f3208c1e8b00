"""A Decision in words: the message of the Resolved condition, and why it came to this, in at most 1 KB.

Called by the Operator's report and by the tests in tests/cases. The messages that the OpenShift 4.14 guide shows are kept letter
by letter. Nothing is looked up here: every word comes from the Decision. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, assert_never

from olmkit.conditions import cut
from olmkit.versions import Version, quoted
from operator_controller.resolve.candidates import (
    Asked,
    Candidate,
    Chosen,
    Decision,
    Dependent,
    Gap,
    HomeMissing,
    Kept,
    NotFound,
    Seen,
    Standing,
    Tied,
    Unreachable,
)
from operator_controller.resolve.package import Property

LIMIT = 1024
"""Bytes of an explanation."""
_SHOWN = 10
"""Items of a list that are named; of a longer one the nearest."""
_CHANNELS_SHOWN = 4
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
            return _words(message, _joined(message, _near_misses(decision)))
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
    return "; ".join([*parts, *_unreadable(own), *_absent_catalogs(own)])


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


def _near_misses(decision: Decision) -> str:
    asked, offers = decision.snapshot.asked, decision.snapshot.offers
    if not offers:
        return f"there is no Catalog yet: create one that has package '{asked.package}'"
    parts: list[str] = []
    if all(view.gap is Gap.NO_PACKAGE for view in decision.seen):
        parts += _no_package(decision)
    for view in decision.seen:
        parts += _near_miss(asked, view)
    parts += _elsewhere(decision)
    parts += _unreadable(decision.seen)
    parts += _absent_catalogs(decision.seen)
    parts += _similar(decision)
    return "; ".join(parts)


def _no_package(decision: Decision) -> list[str]:
    counting = [view.offer for view in decision.seen if view.offer.standing is not Standing.PENDING]
    if not counting:
        return []
    where = _names([f'"{offer.catalog}"' for offer in counting], "and")
    verb = "do not have it" if len(counting) > 1 else "does not have it"
    return [f"catalog{'s' if len(counting) > 1 else ''} {where} {verb}"]


def _similar(decision: Decision) -> list[str]:
    """A package that may have been meant."""
    if not all(view.gap is Gap.NO_PACKAGE for view in decision.seen):
        return []
    known = sorted({name for view in decision.seen for name in view.offer.names})
    similar = [f'"{name}"' for name in get_close_matches(decision.snapshot.asked.package, known, n=3, cutoff=0.7)]
    return [f"did you mean {_names(similar, 'or')}?"] if similar else []


def _near_miss(asked: Asked, view: Seen) -> list[str]:
    package = view.offer.package
    if package is None:
        return []
    channels = _names(sorted(channel.name for channel in package.channels), "and")
    if view.gap is Gap.NO_DEFAULT:
        return [
            f"it has no default channel: name one of {channels} in spec.channel" if channels else "it has no channels"
        ]
    if view.gap is Gap.NO_CHANNEL:
        elsewhere = f': catalog "{view.offer.catalog}" has it in {channels}' if channels else ": it has no channels"
        return [f"there is no channel {asked.channel}{elsewhere}"]
    return _versions_there_are(asked, view) + _prereleases(asked, view) + _other_channels(asked, view)


def _versions_there_are(asked: Asked, view: Seen) -> list[str]:
    by_list: dict[tuple[Version, ...], list[str]] = {}
    package = view.offer.package
    for channel in sorted(view.channels, key=lambda one: one.name):
        bundles = [package.bundles.get(entry.name) for entry in channel.entries] if package else []
        versions = {bundle.version for bundle in bundles if bundle is not None and bundle.version is not None}
        by_list.setdefault(tuple(sorted(versions)), []).append(channel.name)
    near = asked.versions.pinned if asked.versions else None
    parts = [
        f"{_names(names, 'and')} {'has' if len(names) == 1 else 'have'} {_versions(versions, near)}"
        for versions, names in list(by_list.items())[:_CHANNELS_SHOWN]
    ]
    more = len(by_list) - len(parts)
    if more > 0:
        parts.append(f"{more} more channels have others")
    if asked.versions is not None:
        parts.append(f"none is {asked.versions.text}" if near else f"no version is in range '{asked.versions.text}'")
    return parts


def _prereleases(asked: Asked, view: Seen) -> list[str]:
    """Versions that only the rule about prereleases keeps out."""
    versions = asked.versions
    if versions is None:
        return []
    kept_out = sorted(one.version for one in view.candidates if versions.matches(one.version, prereleases=True))
    if not kept_out:
        return []
    return [f"{kept_out[-1]} is a prerelease, and counts only if spec.version names one, such as '>={kept_out[-1]}'"]


def _other_channels(asked: Asked, view: Seen) -> list[str]:
    """The version that was asked for, in a channel that was not."""
    package = view.offer.package
    if package is None or asked.versions is None or not asked.channel:
        return []
    matching = {
        bundle.name
        for bundle in package.bundles.values()
        if bundle.version is not None and asked.versions.matches(bundle.version)
    }
    having = sorted(
        channel.name for channel in package.channels if matching & {entry.name for entry in channel.entries}
    )
    return [f"it is in channel {_names(having, 'and')}"] if having else []


def _elsewhere(decision: Decision) -> list[str]:
    """Catalogs that do not count because an installed package stays with its own."""
    running = decision.snapshot.running
    counting = {view.offer.catalog for view in decision.seen}
    others = sorted(o.catalog for o in decision.snapshot.offers if o.package and o.catalog not in counting)
    if running is None or not others:
        return []
    where = _names([f'"{name}"' for name in others], "and")
    return [f'catalog {where} has the package too, but what is installed stays with catalog "{running.catalog}"']


def _unreadable(seen: Sequence[Seen]) -> list[str]:
    found = [
        f'bundle "{bundle.name}" cannot be read: {bundle.problem}'
        for view in seen
        for bundle in _bundles_of(view)
        if bundle.problem
    ]
    return found[:3] + ([f"{len(found) - 3} more cannot be read"] if len(found) > 3 else [])


def _bundles_of(view: Seen) -> Iterable[Any]:
    package = view.offer.package
    names = dict.fromkeys(entry.name for channel in view.channels for entry in channel.entries)
    return [package.bundles[name] for name in names if name in package.bundles] if package else []


def _absent_catalogs(seen: Sequence[Seen]) -> list[str]:
    parts: list[str] = []
    for view in seen:
        offer = view.offer
        match offer.standing:
            case Standing.PENDING:
                parts.append(f'catalog "{offer.catalog}" is not served yet: {offer.message}')
            case Standing.AWAY:
                parts.append(f'catalog "{offer.catalog}" cannot be read, its last content counts: {offer.message}')
            case Standing.LOST:
                parts.append(f'catalog "{offer.catalog}" cannot be read: {offer.message}')
    return parts


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
        steps = _names([str(step) for step in outcome.path], "then")
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
        f"channel{'s' if len(names) > 1 else ''} {_names(names, 'and')} {of} "
        f"{'lead' if len(names) > 1 else 'leads'} to {_versions(versions, None)}"
        for versions, names in list(by_list.items())[:_CHANNELS_SHOWN]
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
    where = _names(sorted({channel.name for view in channels for channel in view.channels}), "and")
    return f": {where} has {_versions(free, None)}" if free else f": {where} has none"


def _requirement(entry: Property) -> str:
    value: dict[str, Any] = entry.value if isinstance(entry.value, dict) else {}
    match entry.type:
        case "olm.package.required" if value:
            return f'package "{value.get("packageName", "")}" in range "{value.get("versionRange", "")}"'
        case "olm.gvk.required" if value:
            return f'kind {value.get("kind", "")} of "{value.get("group", "")}/{value.get("version", "")}"'
    if isinstance(value.get("failureMessage"), str) and value["failureMessage"]:
        return quoted(cut(value["failureMessage"], _VALUE_LIMIT))
    return cut(json.dumps(entry.value, sort_keys=True, ensure_ascii=False), _VALUE_LIMIT)


def _tie(decision: Decision, outcome: Tied) -> tuple[str, str]:
    catalogs = _names([f'"{name}"' for name in outcome.catalogs], "and")
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


# --- lists


def _joined(message: str, rest: str) -> str:
    return f"{message}: {rest}" if rest else message


def _names(names: Sequence[str], last: str) -> str:
    """`a, b and c`; of a long list the first ones and how many more."""
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def _versions(versions: Sequence[Version], near: Version | None) -> str:
    """Ascending; of a long list how many there are and the nearest or the newest."""
    if not versions:
        return "no version"
    if len(versions) <= _SHOWN:
        return ", ".join(map(str, versions))
    if near is None:
        shown = versions[-3:]
        word = "newest"
    else:
        below = [version for version in versions if version < near][-2:]
        shown = [*below, *[version for version in versions if version > near][:2]]
        word = "nearest"
    return f"{len(versions)} versions from {versions[0]} to {versions[-1]}, {word} {', '.join(map(str, shown))}"
