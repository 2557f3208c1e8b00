"""The best upgrade that is kept out of what was selected, and by what: requirements, the cluster, the spec, a missing edge.

Approvals and pauses are not known here: operator/pause_and_approval.py reports those. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from operator_controller.resolve.answers.answer import AvailableUpgrade, KeptOutBy
from operator_controller.resolve.explain.spec_hints import available_but_excluded, ignored_policy, no_edge
from operator_controller.resolve.explain.suggestions import unreadable_skip_ranges
from operator_controller.resolve.formatting import quoted_value
from operator_controller.resolve.selection.package_domain import PackageDomain
from operator_controller.resolve.selection.package_resolution import Candidate, CatalogCandidates


def available_upgrade(domain: PackageDomain, selected: Candidate, conflict: str) -> AvailableUpgrade | None:
    """The upgrade, of the channel and the catalog of the selected bundle; None if nothing is kept out.

    `conflict`: why the best version of the domain is not selected, or "" if it is.
    """
    if domain.snapshot.running is None:
        return None
    best = domain.versions[-1].choice if conflict and domain.versions else None
    if best is not None and best.candidate.version > selected.version:
        return _upgrade(best.candidate, KeptOutBy.CONFLICT, conflict)
    for catalog in domain.permitted.catalogs:
        if catalog.offer.catalog == selected.catalog:
            return (
                _ruled_out(catalog, selected)
                or _excluded(domain, catalog, selected)
                or _pinned(domain, catalog, selected)
                or _unreachable(domain, catalog, selected)
            )
    return None


def _ruled_out(catalog: CatalogCandidates, selected: Candidate) -> AvailableUpgrade | None:
    """The newest upgrade whose requirements the cluster does not satisfy."""
    reasons = {one.candidate.bundle.name: one.reason for one in catalog.ruled_out}
    best = _newest(catalog, selected, (one.candidate for one in catalog.ruled_out))
    if best is None:
        return None
    text = f"{best.version} is available too, but it cannot be installed: {reasons[best.bundle.name]}"
    return _upgrade(best, KeptOutBy.CLUSTER, text)


def _excluded(domain: PackageDomain, catalog: CatalogCandidates, selected: Candidate) -> AvailableUpgrade | None:
    """The newest upgrade that spec.excludedVersions has."""
    best = _newest(catalog, selected, catalog.excluded)
    if best is None:
        return None
    return _upgrade(best, KeptOutBy.VERSION, available_but_excluded(best.version, domain.snapshot.request.terms))


def _pinned(domain: PackageDomain, catalog: CatalogCandidates, selected: Candidate) -> AvailableUpgrade | None:
    """The newest upgrade that spec.version does not contain."""
    request = domain.snapshot.request
    if request.versions is None or domain.operator is None:
        return None
    best = _newest(catalog, selected, (one for one in catalog.candidates if not request.versions.matches(one.version)))
    if best is None:
        return None
    pin = quoted_value(domain.operator.version)
    return _upgrade(best, KeptOutBy.VERSION, f"{best.version} is available too, but {request.terms.version} is {pin}")


def _unreachable(domain: PackageDomain, catalog: CatalogCandidates, selected: Candidate) -> AvailableUpgrade | None:
    """The newest upgrade that no upgrade edges lead to, directly or in several steps."""
    running = domain.snapshot.running
    reached = max(each.target.rank for each in domain.permitted.choices)
    best = _newest(catalog, selected, (one for one in catalog.matching if one.rank > reached))
    if best is None or running is None:
        return None
    policy = ignored_policy(best.version, domain.snapshot.request.terms)
    text = f"{best.version} is available too, but no upgrade edge leads to it from {running.version_text}"
    edges = [no_edge(best.bundle.name, running.name), *unreadable_skip_ranges(catalog.channels)]
    return _upgrade(
        best,
        KeptOutBy.EDGE,
        f"{text}: {'; '.join([*edges, policy])}",
    )


def _newest(catalog: CatalogCandidates, selected: Candidate, among: Iterable[Candidate]) -> Candidate | None:
    """The newest bundle of the channel that is followed, if it is newer than the selected one and not deprecated."""
    entries = {entry.name for each in catalog.channels if each.name == selected.channel for entry in each.entries}
    found = (
        one for one in among if one.bundle.name in entries and not one.deprecation and one.version > selected.version
    )
    return max(found, key=lambda one: one.rank, default=None)


def _upgrade(candidate: Candidate, kept_out_by: KeptOutBy, reason: str) -> AvailableUpgrade:
    return AvailableUpgrade(
        version=str(candidate.version),
        bundle=candidate.bundle.name,
        image=candidate.bundle.image,
        catalog=candidate.catalog,
        channel=candidate.channel,
        kept_out_by=kept_out_by,
        reason=reason,
    )
