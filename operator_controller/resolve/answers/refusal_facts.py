"""Finds the typed facts of a resolution that selects no bundle, so that nobody has to read its message. Pure."""

from __future__ import annotations

from typing import assert_never

from olmkit.api.failures import FailureReason
from operator_controller.resolve.answers.answer import RefusalFacts
from operator_controller.resolve.selection.package_resolution import (
    AmbiguousCatalogs,
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
from operator_controller.resolve.snapshot.package_snapshot import CatalogState

_UNREAD = (CatalogState.UNREACHABLE, CatalogState.PENDING)
"""The states of a catalog whose content is not known and may be what is looked for."""


def find_refusal_facts(resolution: PackageResolution) -> RefusalFacts | None:
    """The reason why no bundle is selected, and the catalogs that it concerns; None if one is selected or stays."""
    match resolution.outcome:
        case Chosen() | Kept():
            return None
        case AmbiguousCatalogs(catalogs=tied):
            return _facts(FailureReason.AMBIGUOUS_CATALOGS, *tied)
        case NoDirectUpgrade(wanted=wanted, excluded=excluded):
            return _facts(FailureReason.VERSION_EXCLUDED if excluded else FailureReason.NO_UPGRADE_EDGE, wanted.catalog)
        case NotInstallable(candidate=candidate):
            return _facts(FailureReason.REQUIREMENTS_NOT_SATISFIED, candidate.catalog)
        case TooLargeToResolve(catalog=catalog):
            return _facts(FailureReason.RESOLUTION_FAILED, catalog)
        case SourceCatalogMissing(catalog=catalog) | PreferredCatalogUnread(catalog=catalog):
            return _facts(_reason_of_unread(resolution, catalog), catalog)
        case SourceCatalogNotSelected(catalog=catalog):
            return _facts(FailureReason.CATALOG_NOT_SELECTED, catalog)
        case NoVersionLeft():
            return _unavailable(resolution) or _facts(FailureReason.VERSION_EXCLUDED, *_having_package(resolution))
        case NoMatchingBundle():
            found = _having_package(resolution)
            reason = FailureReason.VERSION_NOT_FOUND if found else FailureReason.PACKAGE_NOT_FOUND
            return _unavailable(resolution) or _facts(reason, *found)
        case _:
            assert_never(resolution.outcome)


def _reason_of_unread(resolution: PackageResolution, catalog: str) -> FailureReason:
    """That of a catalog which was deleted, or is switched off, is another one: nothing of it is awaited."""
    state = next((each.state for each in resolution.snapshot.offers if each.catalog == catalog), None)
    is_awaited = state not in (None, CatalogState.UNAVAILABLE)
    return FailureReason.CATALOG_UNAVAILABLE if is_awaited else FailureReason.PACKAGE_NOT_FOUND


def _unavailable(resolution: PackageResolution) -> RefusalFacts | None:
    """The fact that what is looked for may be in catalogs whose content is not known; None if there are none."""
    unread = [one.offer.catalog for one in resolution.catalogs if one.offer.state in _UNREAD]
    return _facts(FailureReason.CATALOG_UNAVAILABLE, *unread) if unread else None


def _having_package(resolution: PackageResolution) -> list[str]:
    return [one.offer.catalog for one in resolution.catalogs if one.offer.package is not None]


def _facts(reason: FailureReason, *catalogs: str) -> RefusalFacts:
    return RefusalFacts(reason, tuple(sorted(catalogs)))
