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
from operator_controller.resolve.bundle_identity import has_same_name_and_version
from operator_controller.resolve.formatting import MAX_CHANNELS_SHOWN, format_versions, join_names
from operator_controller.resolve.package import Property
from operator_controller.resolve.resolution import (
    AmbiguousCatalogs,
    Chosen,
    HasDependencies,
    Kept,
    NoDirectUpgrade,
    NoMatchingBundle,
    Resolution,
    SourceCatalogMissing,
    TooLargeToResolve,
)
from operator_controller.resolve.snapshot import CatalogState, PackageRequest, RunningBundle
from operator_controller.resolve.suggestions import TOO_LARGE, suggestions, unreadable_bundles, unreadable_catalogs

MAX_EXPLANATION_BYTES = 1024
"""Bytes of an explanation."""
_MAX_VALUE_BYTES = 200


@dataclass(frozen=True)
class Explanation:
    """`message` is for the Resolved condition, `explanation` for Ready's message and status.resolution."""

    is_resolved: bool
    message: str
    text: str
    short_reason: str = ""
    """Of a bundle to be installed: what made it the one, in a few words."""
    successor_note: str = ""
    """Which catalog took the place of a deleted one, in a sentence; part of the explanation too."""


def explain(decision: Resolution) -> Explanation:
    """The sentences for a Decision; the same Decision gives the same text."""
    words = _explain(decision)
    follow = decision.successor
    if follow is None:
        return words
    followed = (
        f'catalog "{follow.deleted}", which it came from, was deleted: it follows catalog "{follow.catalog}", which offers the '
        "same bundle"
    )
    explanation = f"{truncate(words.text, MAX_EXPLANATION_BYTES - len(followed.encode()) - 2)}; {followed}"
    return replace(words, text=explanation, successor_note=followed)


def _explain(decision: Resolution) -> Explanation:
    outcome, asked = decision.outcome, decision.snapshot.request
    match outcome:
        case Chosen():
            image, why = (
                outcome.candidate.bundle.image,
                truncate(_short_reason(decision, outcome), MAX_EXPLANATION_BYTES),
            )
            return Explanation(
                True, f'resolved to "{image}"', truncate(_explain_choice(decision, outcome), MAX_EXPLANATION_BYTES), why
            )
        case Kept():
            cause = _not_offered if outcome.is_not_offered else _source_catalog_state
            text = f"{outcome.running.version_text} stays: {cause(decision, outcome.running)}"
            return _explanation(f'resolved to "{outcome.running.image}"', text, resolved=True)
        case NoMatchingBundle():
            message = not_found_message(asked)
            return _explanation(message, _joined(message, suggestions(decision)))
        case TooLargeToResolve():
            message = (
                f"package {quoted(asked.package)} of catalog {quoted(outcome.catalog)} {TOO_LARGE}: {outcome.message}"
            )
            return _explanation(
                message, "; ".join([message, *unreadable_catalogs(decision.catalogs, but=outcome.catalog)])
            )
        case NoDirectUpgrade():
            message = _no_direct_upgrade_message(decision, outcome)
            return _explanation(message, _joined(message, _how_to_continue(decision, outcome)))
        case HasDependencies():
            return _explanation(*_dependencies_message(decision, outcome))
        case AmbiguousCatalogs():
            return _explanation(*_ambiguous_message(decision, outcome))
        case SourceCatalogMissing():
            message = not_found_message(asked)
            return _explanation(message, _joined(message, _source_catalog_state(decision, decision.snapshot.running)))
    assert_never(outcome)


def _explanation(message: str, explanation: str, *, resolved: bool = False) -> Explanation:
    return Explanation(resolved, message, truncate(explanation, MAX_EXPLANATION_BYTES))


def _joined(message: str, rest: str) -> str:
    return f"{message}: {rest}" if rest else message


def not_found_message(asked: PackageRequest) -> str:
    """The guide's sentence for what was asked."""
    version = f" at version '{asked.versions.text}'" if asked.versions else ""
    channel = f" in channel '{asked.channel}'" if asked.channel else ""
    return f"package '{asked.package}'{version}{channel} not found"


def _not_offered(decision: Resolution, running: RunningBundle) -> str:
    """What the catalog has instead of what runs, and that nothing leads there."""
    view = decision.catalogs[0]
    catalog, package = f'catalog "{view.offer.catalog}"', view.offer.package
    if package is None:
        return "; ".join([f"{catalog} does not have the package any more", *unreadable_catalogs(decision.catalogs)])
    is_elsewhere = has_same_name_and_version(package, running.name, running.version)
    channels = sorted(channel.name for channel in view.channels)
    where = f" in channel {join_names(channels, 'or')}" if is_elsewhere and channels else ""
    text = f"{catalog} does not offer it{where}" if is_elsewhere else f"{catalog} does not offer it any more"
    others = [one.version for one in view.matching]
    if others and running.version is not None and max(others) < running.version:
        text += ", and what it offers is older"
    elif others:
        text += f", and no upgrade edge leads from it to {max(others)}"
    return "; ".join([text, *unreadable_bundles(decision.catalogs), *unreadable_catalogs(decision.catalogs)])


# --- a choice


def _explain_choice(decision: Resolution, outcome: Chosen) -> str:
    candidate, running = outcome.candidate, decision.snapshot.running
    origin = f'{candidate.version} of channel {candidate.channel} in catalog "{candidate.catalog}"'
    parts = [f"{origin}{_selection_rule(decision, outcome)}"]
    if candidate.deprecation:
        parts.append(f"it is deprecated: {candidate.deprecation}")
    if running is not None and outcome.candidate == outcome.target:
        parts += _better_but_unreachable(decision, outcome)
    own = [view for view in decision.catalogs if view.offer.catalog == candidate.catalog]
    return "; ".join([*parts, *unreadable_bundles(own), *unreadable_catalogs(own)])


def _selection_rule(decision: Resolution, outcome: Chosen) -> str:
    asked, running = decision.snapshot.request, decision.snapshot.running
    if outcome.candidate != outcome.target and running is not None:
        return f": the next step on the way from {running.version_text} to {outcome.target.version}"
    count = len(
        {one.version for view in decision.catalogs for one in view.matching if one.catalog == outcome.candidate.catalog}
    )
    if asked.versions is not None and asked.versions.pinned is not None:
        return ": the version that was asked for"
    within = f" in range {quoted(asked.versions.text)}" if asked.versions else ""
    return f": the best of {count} versions{within}" if count > 1 else f": the only version{within}"


def _short_reason(decision: Resolution, outcome: Chosen) -> str:
    """The rule that led to the candidate, for the one line that tells of its installation."""
    asked, candidate = decision.snapshot.request, outcome.candidate
    if asked.versions is not None and asked.versions.pinned is not None:
        return "asked for"
    if candidate != outcome.target:
        return f"next step on the way to {outcome.target.version}"
    if asked.versions is not None:
        return f'best in range "{asked.versions.text}"' + (f" of channel {asked.channel}" if asked.channel else "")
    versions = [
        one.version for view in decision.catalogs for one in view.matching if view.offer.catalog == candidate.catalog
    ]
    return f"{'newest' if candidate.version >= max(versions) else 'best'} of channel {candidate.channel}"


def _better_but_unreachable(decision: Resolution, outcome: Chosen) -> list[str]:
    """What is better and cannot be had from here."""
    running = decision.snapshot.running
    better = [one for view in decision.catalogs for one in view.matching if one.rank > outcome.target.rank]
    if not better or running is None:
        return []
    best = max(better, key=lambda one: one.rank)
    return [f"{best.version} is there too, but no upgrade edge leads to it from {running.version_text}"]


# --- refusals


def _no_direct_upgrade_message(decision: Resolution, outcome: NoDirectUpgrade) -> str:
    running, wanted = decision.snapshot.running, outcome.wanted
    here = running.version_text if running else ""
    if outcome.path:
        return f"{wanted.version} cannot be reached from {here} directly: next step {outcome.path[0]}"
    if _is_older(decision, outcome):
        return f"{wanted.version} cannot be reached from {here}: it is older, and no upgrade edge leads back to it"
    return f"{wanted.version} cannot be reached from {here}: no upgrade edge leads there"


def _is_older(decision: Resolution, outcome: NoDirectUpgrade) -> bool:
    running = decision.snapshot.running
    return running is not None and running.version is not None and outcome.wanted.version < running.version


def _how_to_continue(decision: Resolution, outcome: NoDirectUpgrade) -> str:
    if len(outcome.path) > 1:
        steps = join_names([str(step) for step in outcome.path], "then")
        return f"the way is {steps}; set spec.version to {outcome.path[0]} first, or to a range that holds them all"
    return "; ".join([*_how_to_downgrade(decision, outcome), _possible_upgrades(decision, outcome)])


def _how_to_downgrade(decision: Resolution, outcome: NoDirectUpgrade) -> list[str]:
    """How an older version is installed all the same, and what it costs."""
    if not _is_older(decision, outcome):
        return []
    return [
        f"to install {outcome.wanted.version}, delete this Operator and create it again, which deletes the custom resources of "
        "its kinds too"
    ]


def _possible_upgrades(decision: Resolution, outcome: NoDirectUpgrade) -> str:
    """Where the upgrade edges lead to from what runs."""
    if outcome.possible:
        return f"from here {'; '.join(_upgrades_by_channel(outcome))}"
    catalog = outcome.wanted.catalog
    channels = [
        channel.name for view in decision.catalogs if view.offer.catalog == catalog for channel in view.channels
    ]
    if len(channels) == 1:
        return f'channel {channels[0]} of catalog "{catalog}" leads nowhere from here'
    return f'no channel of catalog "{catalog}" leads anywhere from here'


def _upgrades_by_channel(outcome: NoDirectUpgrade) -> list[str]:
    """Which channels lead where; those that lead to the same versions together."""
    by_list: dict[tuple[Version, ...], list[str]] = {}
    for channel, versions in sorted(outcome.possible.items()):
        by_list.setdefault(versions, []).append(channel)
    of = f'of catalog "{outcome.wanted.catalog}"'
    parts = [
        f"channel{'s' if len(names) > 1 else ''} {join_names(names, 'and')} {of} "
        f"{'lead' if len(names) > 1 else 'leads'} to {format_versions(versions, None)}"
        for versions, names in list(by_list.items())[:MAX_CHANNELS_SHOWN]
    ]
    more = len(by_list) - len(parts)
    return parts + ([f"{more} more channels lead to others"] if more > 0 else [])


def _dependencies_message(decision: Resolution, outcome: HasDependencies) -> tuple[str, str]:
    """The message, and the same with the versions that require nothing."""
    candidate, running = outcome.candidate, decision.snapshot.running
    asks = [f"{_requirement(entry)} (property {entry.type})" for entry in candidate.bundle.dependencies]
    shown = asks[:3] + ([f"{len(asks) - 3} more"] if len(asks) > 3 else [])
    refused = (
        f'bundle "{candidate.bundle.name}" requires {" and ".join(shown)}: this version of olm-suite does not install '
        "dependencies"
    )
    if outcome.alternatives:
        message = f"{refused}; choose a version without such a requirement"
        return message, f"{message}: {format_versions(outcome.alternatives, None)}"
    if running is not None:
        message = f"{refused}, and no version without such a requirement can be reached from {running.version_text}"
    else:
        channels = sorted({channel.name for view in decision.catalogs for channel in view.channels})
        of = f"channel{'s' if len(channels) > 1 else ''} {join_names(channels, 'and')}"
        message = f"{refused}, and every version of {of} has such a requirement"
    return message, message


def _requirement(entry: Property) -> str:
    value: dict[str, Any] = entry.value if isinstance(entry.value, dict) else {}
    match entry.type:
        case schemas.PACKAGE_REQUIRED if value:
            name, versions = (_quoted_value(value.get(key, "")) for key in ("packageName", "versionRange"))
            return f"package {name} in range {versions}"
        case schemas.GVK_REQUIRED if value:
            group, version, kind = (value.get(key, "") for key in ("group", "version", "kind"))
            return f"kind {_quoted_value(kind)[1:-1]} of {_quoted_value(f'{group}/{version}')}"
    as_json = truncate(json.dumps(entry.value, sort_keys=True), _MAX_VALUE_BYTES)
    if entry.type != "olm.constraint":
        return as_json
    message = value.get("failureMessage")
    if isinstance(message, str) and message:  # a sentence of the bundle's author, no name of anything
        return f"what a constraint describes as {_quoted_value(message)}"
    return f"what a constraint defines as {as_json}"


def _quoted_value(value: object) -> str:
    """What a catalog says, in quotes: on one line and not too long, whatever it is."""
    return quoted(truncate(str(value), _MAX_VALUE_BYTES))


def _ambiguous_message(decision: Resolution, outcome: AmbiguousCatalogs) -> tuple[str, str]:
    catalogs = join_names([f'"{name}"' for name in outcome.catalogs], "and")
    message = (
        f"package {quoted(decision.snapshot.request.package)} is offered by catalogs {catalogs} of the same priority"
    )
    return message, f"{message}: give one of them a higher spec.priority"


def _source_catalog_state(decision: Resolution, running: RunningBundle | None) -> str:
    """Why the catalog that an installed package stays with cannot be asked, and what helps where a person can."""
    if running is None:
        return ""
    offer = next((offer for offer in decision.snapshot.offers if offer.catalog == running.catalog), None)
    catalog = f'catalog "{running.catalog}", which it came from,'
    if offer is None:
        return f"{catalog} was deleted, and {_no_successor(decision, running)}"
    match offer.state:
        case CatalogState.UNAVAILABLE:
            return f"{catalog} has spec.availability Unavailable, so no other version is installed"
        case CatalogState.PENDING:
            return f"{catalog} is not served yet: {offer.message}"
        case CatalogState.TOO_LARGE:
            return f"its package in {catalog} {TOO_LARGE}: {offer.message}"
    return f"{catalog} cannot be read: {offer.message}"


def _no_successor(decision: Resolution, running: RunningBundle) -> str:
    """Why no other catalog takes the place of the deleted one, and how to go on.

    A Catalog of the recorded name is the home again, whatever its source: that is how a person moves to another image.
    """
    others = [
        quoted(offer.catalog)
        for offer in decision.snapshot.offers
        if offer.state is not CatalogState.UNAVAILABLE
        and offer.package is not None
        and has_same_name_and_version(offer.package, running.name, running.version)
    ]
    none = f"no other catalog that is served offers bundle {quoted(running.name)}"
    if not others:
        return f"{none}: create a Catalog that does, and it goes on from there"
    names, last = join_names(others, "and"), join_names(others, "or")
    known = f"catalogs {names} offer" if len(others) > 1 else f"catalog {names} offers"
    return (
        f"{none} with the image that runs: {known} a bundle of the same name and version with another image, which is not "
        f"followed; create Catalog {quoted(running.catalog)} again to go on, with the source of {last} only if that image is "
        "meant"
    )
