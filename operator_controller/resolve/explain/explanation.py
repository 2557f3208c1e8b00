"""The messages for a Resolution: that of the Resolved condition, and an explanation of at most 1 KB.

Messages that the OpenShift 4.14 guide shows are literally the same, with single quotes; all others put names and ranges in
double quotes. Each is made from the Resolution alone. What a conflict excludes is explained in refusal.py. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from olmkit.gocompat.text import quoted, truncate
from olmkit.gocompat.versions import Version
from operator_controller.resolve.explain.catalog_without_content import source_catalog_state
from operator_controller.resolve.explain.spec_hints import (
    available_but_excluded,
    excluded_versions,
    how_to_select,
    ignored_policy,
    missing_edge,
    source_not_selected,
    successor_note,
)
from operator_controller.resolve.explain.suggestions import (
    TOO_LARGE,
    has_no_channels,
    is_in_unreadable_catalog,
    suggestions,
    unreadable_bundles,
    unreadable_catalogs,
    unreadable_skip_ranges,
)
from operator_controller.resolve.formatting import (
    MAX_CHANNELS_SHOWN,
    format_versions,
    join_names,
    name_channels,
)
from operator_controller.resolve.package.bundle_identity import has_same_name_and_version
from operator_controller.resolve.package.package_content import Channel
from operator_controller.resolve.selection.package_resolution import (
    AmbiguousCatalogs,
    Candidate,
    Chosen,
    Kept,
    NoDirectUpgrade,
    NoMatchingBundle,
    NotInstallable,
    NoVersionLeft,
    PackageResolution,
    PreferredCatalogUnread,
    SourceCatalogMissing,
    SourceCatalogNotSelected,
    TooLargeToResolve,
)
from operator_controller.resolve.snapshot.package_snapshot import PackageRequest, RunningBundle
from operator_controller.resolve.snapshot.spec_terms import SpecTerms

MAX_EXPLANATION_BYTES = 1024
"""UTF-8 bytes of an explanation; it becomes the message of Ready."""


@dataclass(frozen=True)
class Explanation:
    """`message` is that of the Resolved condition; `text` goes to Ready's message and status.resolution."""

    is_resolved: bool
    message: str
    text: str
    short_reason: str = ""
    """The rule that selected the bundle to install, in a few words. Empty for every other outcome."""
    successor_note: str = ""
    """The sentence that names the catalog that takes the place of a deleted one; `text` contains it as well. Empty if none
    does."""


def explain(resolution: PackageResolution) -> Explanation:
    """The messages for a Resolution; the same Resolution gives the same text."""
    explanation = _explain(resolution)
    successor = resolution.successor
    if successor is None:
        return explanation
    note = successor_note(successor, resolution.terms)
    text = f"{truncate(explanation.text, MAX_EXPLANATION_BYTES - len(note.encode()) - 2)}; {note}"
    return replace(explanation, text=text, successor_note=note)


def _explain(resolution: PackageResolution) -> Explanation:
    outcome, request = resolution.outcome, resolution.snapshot.request
    match outcome:
        case Chosen():
            return _explain_chosen(resolution, outcome)
        case Kept():
            cause = _not_offered if outcome.is_not_offered else source_catalog_state
            text = f"{outcome.running.version_text} is kept: {cause(resolution, outcome.running)}"
            return _explanation(f'resolved to "{outcome.running.image}"', text, resolved=True)
        case NoMatchingBundle():
            message = _no_match_message(resolution)
            return _explanation(message, _joined(message, suggestions(resolution)))
        case NoVersionLeft() | TooLargeToResolve():
            message = _nothing_usable_message(request, outcome)
            known = outcome.catalog if isinstance(outcome, TooLargeToResolve) else ""
            others = unreadable_catalogs(resolution.catalogs, excluded=known)
            return _explanation(message, "; ".join([message, *others]))
        case NoDirectUpgrade():
            message = _no_direct_upgrade_message(resolution, outcome)
            return _explanation(message, _joined(message, _how_to_continue(resolution, outcome)))
        case NotInstallable(candidate, reason):
            message = f"bundle {quoted(candidate.bundle.name)} cannot be installed: {reason}"
            others = [*_others_ruled_out(resolution, candidate), *excluded_versions(resolution)]
            return _explanation(message, "; ".join([message, *others]))
        case AmbiguousCatalogs():
            return _explanation(*_ambiguous_message(resolution, outcome))
        case SourceCatalogMissing() | PreferredCatalogUnread():
            return _explanation(*_unread_message(resolution, outcome))
        case SourceCatalogNotSelected():
            message = source_not_selected(outcome, request.terms)
            return _explanation(message, _joined(message, how_to_select(resolution)))
    assert_never(outcome)


def _explanation(message: str, text: str, *, resolved: bool = False) -> Explanation:
    return Explanation(resolved, message, truncate(text, MAX_EXPLANATION_BYTES))


def _joined(message: str, rest: str) -> str:
    return f"{message}: {rest}" if rest else message


def _nothing_usable_message(request: PackageRequest, outcome: NoVersionLeft | TooLargeToResolve) -> str:
    """Explain why nothing of what a catalog offers can be used."""
    package = f"package {quoted(request.package)}"
    if isinstance(outcome, TooLargeToResolve):
        return f"{package} of catalog {quoted(outcome.catalog)} {TOO_LARGE}: {outcome.message}"
    within = f" in range {quoted(request.versions.text)}" if request.versions else ""
    channel = f" of {name_channels(request.named_channels)}" if request.named_channels else ""
    listed = format_versions(outcome.versions, None, "and")
    return f"no version{within}{channel} of {package} is left: {request.terms.excluded} has {listed}"


def not_found_message(request: PackageRequest) -> str:
    """The guide's message for a request that no catalog satisfies."""
    version = f" at version '{request.versions.text}'" if request.versions else ""
    named = [f"'{each}'" for each in request.named_channels]
    channel = f" in {name_channels(named)}" if named else ""
    return f"package '{request.package}'{version}{channel} not found"


def _no_match_message(resolution: PackageResolution) -> str:
    """That of the guide, unless the package is known to exist."""
    request = resolution.snapshot.request
    if has_no_channels(resolution):
        return f"package {quoted(request.package)} has no channels"
    if is_in_unreadable_catalog(resolution):
        return f"package {quoted(request.package)} cannot be read"
    return not_found_message(request)


def _not_offered(resolution: PackageResolution, running: RunningBundle) -> str:
    """Explains that the catalog does not offer the running bundle, and that no upgrade leads to what it offers."""
    own = resolution.catalogs[0]
    catalog, package = f'catalog "{own.offer.catalog}"', own.offer.package
    if own.offer.is_excluded:
        return f"{catalog} does not offer the package any more: its {resolution.terms.packages} does not name it"
    if package is None:
        return "; ".join([f"{catalog} does not have the package any more", *unreadable_catalogs(resolution.catalogs)])
    is_elsewhere = has_same_name_and_version(package, running.name, running.version)
    channels = sorted(channel.name for channel in own.channels)
    where = f" in channel {join_names(channels, 'or')}" if is_elsewhere and channels else ""
    text = f"{catalog} does not offer it{where}" if is_elsewhere else f"{catalog} does not offer it any more"
    others = [one.version for one in own.matching]
    if others and running.version is not None and max(others) < running.version:
        text += ", and what it offers is older"
    elif others:
        text = "; ".join(
            [f"{text}, and no upgrade edge leads from it to {max(others)}", *unreadable_skip_ranges(own.channels)]
        )
    ruled_out = [f"{each.candidate.version} cannot be installed: {each.reason}" for each in own.ruled_out[-1:]]
    unread = [*unreadable_bundles(resolution.catalogs), *unreadable_catalogs(resolution.catalogs)]
    return "; ".join([text, *ruled_out, *unread])


# --- a bundle that is installed


def _explain_chosen(resolution: PackageResolution, outcome: Chosen) -> Explanation:
    return Explanation(
        True,
        f'resolved to "{outcome.candidate.bundle.image}"',
        truncate(_chosen_text(resolution, outcome), MAX_EXPLANATION_BYTES),
        truncate(_short_reason(resolution, outcome), MAX_EXPLANATION_BYTES),
    )


def _chosen_text(resolution: PackageResolution, outcome: Chosen) -> str:
    candidate, running = outcome.candidate, resolution.snapshot.running
    origin = f'{candidate.version} of channel {candidate.channel} in catalog "{candidate.catalog}"'
    parts = [f"{origin}{_selection_rule(resolution, outcome)}"]
    if candidate.deprecation:
        parts.append(f"it is deprecated: {candidate.deprecation}")
    if running is not None and outcome.candidate == outcome.target and outcome.is_best:
        parts += _better_but_unreachable(resolution, outcome)
    parts += _better_but_excluded(resolution, outcome)
    parts += _better_but_ruled_out(resolution, outcome)
    own = [catalog for catalog in resolution.catalogs if catalog.offer.catalog == candidate.catalog]
    return "; ".join([*parts, *unreadable_bundles(own), *unreadable_catalogs(own)])


def _selection_rule(resolution: PackageResolution, outcome: Chosen) -> str:
    request, running = resolution.snapshot.request, resolution.snapshot.running
    if outcome.candidate != outcome.target and running is not None:
        return f": the next step of the upgrade from {running.version_text} to {outcome.target.version}"
    count = len(
        {
            one.version
            for catalog in resolution.catalogs
            for one in catalog.matching
            if one.catalog == outcome.candidate.catalog
        }
    )
    if request.versions is not None and request.versions.pinned is not None:
        return ": the requested version"
    if request.approved_version == str(outcome.candidate.version):
        return ": the approved version"
    within = f" in range {quoted(request.versions.text)}" if request.versions else ""
    if not outcome.is_best:
        return f": the best of {count} versions{within} whose requirements can be satisfied"
    return f": the best of {count} versions{within}" if count > 1 else f": the only version{within}"


def _short_reason(resolution: PackageResolution, outcome: Chosen) -> str:
    """The rule that selected the candidate, for the one line that reports its installation."""
    request, candidate = resolution.snapshot.request, outcome.candidate
    if request.versions is not None and request.versions.pinned is not None:
        return "requested version"
    if candidate != outcome.target:
        return f"next step of the upgrade to {outcome.target.version}"
    if request.approved_version == str(candidate.version):
        return "approved version"
    if not outcome.is_best:
        return "best version whose requirements can be satisfied"
    if request.versions is not None:
        channel = f" of {name_channels(request.named_channels)}" if request.named_channels else ""
        return f'best in range "{request.versions.text}"{channel}'
    versions = [
        one.version
        for catalog in resolution.catalogs
        for one in (*catalog.matching, *catalog.excluded)
        if catalog.offer.catalog == candidate.catalog
    ]
    return f"{'newest' if candidate.version >= max(versions) else 'best'} of channel {candidate.channel}"


def _better_but_unreachable(resolution: PackageResolution, outcome: Chosen) -> list[str]:
    """A better candidate that no upgrade leads to."""
    running = resolution.snapshot.running
    better = [one for catalog in resolution.catalogs for one in catalog.matching if one.rank > outcome.target.rank]
    if not better or running is None or resolution.snapshot.request.approved_version == str(outcome.target.version):
        return []
    best = max(better, key=lambda one: one.rank)
    text = f"{best.version} is available too, but no upgrade edge leads to it from {running.version_text}"
    return [text, *unreadable_skip_ranges(_channels_of(resolution, best.catalog))]


def _better_but_excluded(resolution: PackageResolution, outcome: Chosen) -> list[str]:
    """The best candidate that spec.excludedVersions excludes, if it is better than the one that was chosen."""
    better = [
        one
        for catalog in resolution.catalogs
        for one in catalog.excluded
        if catalog.offer.catalog == outcome.candidate.catalog and one.rank > outcome.target.rank
    ]
    terms = resolution.terms
    return [available_but_excluded(max(better, key=lambda one: one.rank).version, terms)] if better else []


def _better_but_ruled_out(resolution: PackageResolution, outcome: Chosen) -> list[str]:
    """The best candidate that cannot be installed on this cluster, if it is better than the one that was chosen."""
    better = [
        each
        for catalog in resolution.catalogs
        for each in catalog.ruled_out
        if catalog.offer.catalog == outcome.candidate.catalog and each.candidate.rank > outcome.target.rank
    ]
    if not better:
        return []
    best = max(better, key=lambda each: each.candidate.rank)
    return [f"{best.candidate.version} cannot be installed: {best.reason}"]


# --- requests that cannot be satisfied


def _no_direct_upgrade_message(resolution: PackageResolution, outcome: NoDirectUpgrade) -> str:
    unreached = _unreached(resolution, outcome)
    if not outcome.excluded:
        return unreached
    return f"{resolution.terms.excluded} has {format_versions(outcome.excluded, None, 'and')}, and {unreached}"


def _unreached(resolution: PackageResolution, outcome: NoDirectUpgrade) -> str:
    """Say that the wanted bundle cannot be reached directly, and why."""
    running, wanted = resolution.snapshot.running, outcome.wanted
    here = running.version_text if running else ""
    if outcome.path:
        return f"{wanted.version} cannot be reached from {here} directly: next step {outcome.path[0]}"
    if _is_older(resolution, outcome):
        return f"{wanted.version} cannot be reached from {here}: it is older, and no upgrade edge leads back to it"
    return f"{wanted.version} cannot be reached from {here}: no upgrade edge leads there"


def _is_older(resolution: PackageResolution, outcome: NoDirectUpgrade) -> bool:
    running = resolution.snapshot.running
    return running is not None and running.version is not None and outcome.wanted.version < running.version


def _how_to_continue(resolution: PackageResolution, outcome: NoDirectUpgrade) -> str:
    terms = resolution.terms
    if len(outcome.path) > 1:
        steps = join_names([str(step) for step in outcome.path], "then")
        first, request = outcome.path[0], resolution.snapshot.request
        if excluded := [str(step) for step in outcome.path if request.excludes(step)]:
            steps = f"{steps}, and {terms.excluded} has {join_names(excluded, 'and')}"
            return f"the upgrade path is {steps}; {ignored_policy(outcome.wanted.version, terms)}"
        return (
            f"the upgrade path is {steps}; set {terms.version} to {first} first, or to a range that contains all of them; "
            f"{ignored_policy(outcome.wanted.version, terms)}"
        )
    unreadable = unreadable_skip_ranges(_channels_of(resolution, outcome.wanted.catalog))
    named = [] if outcome.excluded else excluded_versions(resolution)
    possible = [*unreadable, _possible_upgrades(resolution, outcome), *named]
    possible.append(ignored_policy(outcome.wanted.version, terms))
    if _is_older(resolution, outcome):
        again = [_how_to_install_again(terms)] if _is_chosen_again(resolution) else []
        return "; ".join([*possible, *again])  # what deletes data comes last
    return "; ".join([*missing_edge(resolution, outcome), *possible])


def _is_chosen_again(resolution: PackageResolution) -> bool:
    """Report whether what is deleted and created again asks for the same version. The Operator of a ClusterExtension loses the
    versions that are excluded in it."""
    return resolution.terms.has_exclusions or not any(catalog.excluded for catalog in resolution.catalogs)


def _how_to_install_again(terms: SpecTerms) -> str:
    """Say how to install an older version without an edge, and what that deletes."""
    return f"deleting this {terms.kind} and creating it again also installs it, and deletes its custom resources"


def _possible_upgrades(resolution: PackageResolution, outcome: NoDirectUpgrade) -> str:
    """Say where the upgrade edges lead from the running bundle."""
    running, name = resolution.snapshot.running, outcome.wanted.catalog
    here = running.version_text if running else ""
    if outcome.possible:
        return f"from {here}, {'; '.join(_upgrades_by_channel(outcome))}"
    channels = [channel.name for channel in _channels_of(resolution, name)]
    if running is not None and running.channel and running.channel not in channels:
        here += f", which was installed from channel {running.channel}"
    if len(channels) == 1:
        return f'channel {channels[0]} of catalog "{name}" has no upgrade from {here}'
    return f'no channel of catalog "{name}" has an upgrade from {here}'


def _channels_of(resolution: PackageResolution, name: str) -> list[Channel]:
    """The selected channels of the catalog."""
    return [channel for each in resolution.catalogs if each.offer.catalog == name for channel in each.channels]


def _upgrades_by_channel(outcome: NoDirectUpgrade) -> list[str]:
    """Name the versions that the channels lead to; channels with the same versions together."""
    by_versions: dict[tuple[Version, ...], list[str]] = {}
    for channel, versions in sorted(outcome.possible.items()):
        by_versions.setdefault(versions, []).append(channel)
    of = f'of catalog "{outcome.wanted.catalog}"'
    parts = [
        f"channel{'s' if len(names) > 1 else ''} {join_names(names, 'and')} {of} "
        f"{'lead' if len(names) > 1 else 'leads'} to {format_versions(versions, None)}"
        for versions, names in list(by_versions.items())[:MAX_CHANNELS_SHOWN]
    ]
    more = len(by_versions) - len(parts)
    return parts + ([f"{more} more channels lead to others"] if more > 0 else [])


def _others_ruled_out(resolution: PackageResolution, best: Candidate) -> list[str]:
    """The other versions that match and cannot be installed, each for a reason of its own."""
    versions = {
        each.candidate.version
        for catalog in resolution.catalogs
        for each in catalog.ruled_out
        if each.candidate != best
    }
    return [f"nor can {format_versions(sorted(versions), None)}"] if versions else []


def _ambiguous_message(resolution: PackageResolution, outcome: AmbiguousCatalogs) -> tuple[str, str]:
    catalogs = join_names([f'"{name}"' for name in outcome.catalogs], "and")
    message = (
        f"package {quoted(resolution.snapshot.request.package)} is offered by catalogs {catalogs} of the same priority"
    )
    return message, f"{message}: {resolution.terms.give_priority}"


def _unread_message(
    resolution: PackageResolution, outcome: SourceCatalogMissing | PreferredCatalogUnread
) -> tuple[str, str]:
    if isinstance(outcome, SourceCatalogMissing):
        message = not_found_message(resolution.snapshot.request)
        return message, _joined(message, source_catalog_state(resolution, resolution.snapshot.running))
    package, best = quoted(resolution.snapshot.request.package), outcome.best
    message = f'package {package} of catalog "{outcome.catalog}" cannot be read'
    if outcome.priority < best.priority:
        why = f'catalog "{best.catalog}" offers {best.version}, which is deprecated'
    else:
        than = "a higher priority than" if outcome.priority > best.priority else "the same priority as"
        why = f'it has {than} catalog "{best.catalog}", which offers {best.version}'
    return message, f"{message}: {outcome.message}; {why}"
