"""Makes the Answer for one Operator from its Resolution and its messages. Pure."""

from __future__ import annotations

from operator_controller.resolve.answers.answer import Answer, AnswerKind, FollowedCatalog, SelectedBundle
from operator_controller.resolve.answers.deprecations import find_deprecations
from operator_controller.resolve.explain.explanation import explain
from operator_controller.resolve.selection.candidates import Candidate
from operator_controller.resolve.selection.package_resolution import (
    AmbiguousCatalogs,
    Chosen,
    Kept,
    NoDirectUpgrade,
    NoMatchingBundle,
    NotInstallable,
    PackageResolution,
    PreferredCatalogUnread,
    ResolutionOutcome,
    SourceCatalogMissing,
    SourceCatalogNotSelected,
    SuccessorCatalog,
    TooLargeToResolve,
)
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

_KINDS: dict[type[ResolutionOutcome], AnswerKind] = {
    Chosen: AnswerKind.CHOSEN,
    Kept: AnswerKind.KEPT,
    NoMatchingBundle: AnswerKind.NO_MATCHING_BUNDLE,
    TooLargeToResolve: AnswerKind.TOO_LARGE,
    NoDirectUpgrade: AnswerKind.NO_DIRECT_UPGRADE,
    NotInstallable: AnswerKind.NOT_INSTALLABLE,
    AmbiguousCatalogs: AnswerKind.AMBIGUOUS_CATALOGS,
    SourceCatalogMissing: AnswerKind.SOURCE_CATALOG_MISSING,
    PreferredCatalogUnread: AnswerKind.SOURCE_CATALOG_MISSING,
    SourceCatalogNotSelected: AnswerKind.SOURCE_CATALOG_NOT_SELECTED,
}


def make_answer(operator: OperatorRequest, resolution: PackageResolution) -> Answer:
    """The answer without what concerns other packages."""
    explanation = explain(resolution)
    outcome, successor = resolution.outcome, resolution.successor
    chosen = outcome if isinstance(outcome, Chosen) else None
    return Answer(
        operator=operator.name,
        uid=operator.uid,
        digest="",
        kind=_KINDS[type(outcome)],
        is_resolved=explanation.is_resolved,
        message=explanation.message,
        text=explanation.text,
        short_reason=explanation.short_reason,
        is_final=resolution.is_final,
        bundle=selected_bundle(chosen.candidate) if chosen else None,
        target_version=str(chosen.target.version) if chosen else "",
        catalog_state=outcome.catalog_state if isinstance(outcome, Kept) else None,
        followed_catalog=_followed_catalog(successor) if successor else None,
        successor_note=explanation.successor_note,
        deprecations=find_deprecations(resolution),
    )


def _followed_catalog(successor: SuccessorCatalog) -> FollowedCatalog:
    return FollowedCatalog(successor.previous, successor.catalog, successor.channel, successor.is_deleted)


def selected_bundle(candidate: Candidate) -> SelectedBundle:
    """The candidate as a value that can be sent between processes."""
    bundle = candidate.bundle
    return SelectedBundle(
        name=bundle.name,
        version=str(candidate.version),
        image=bundle.image,
        media_type=bundle.media_type,
        catalog=candidate.catalog,
        channel=candidate.channel,
        properties=bundle.recorded_properties,
        deprecation=candidate.deprecation,
    )
