"""Resolves all Operators of a ClusterSnapshot: `solve_components(snapshot, documents) -> answers`.

Called by the solver process of the Resolver, by the offline command and by tests. Operators that may affect each other form a
component; each component is solved by itself, and only if something that it depends on has changed since the last call. Never
raises for what a catalog or a bundle contains. Pure: the same Snapshot and documents give the same answers.
"""

from __future__ import annotations

from olmkit.gocompat.versions import BadRange, BadVersion, Version, parse_bundle_version
from operator_controller.resolve.answer import Answer
from operator_controller.resolve.cluster_snapshot import ClusterSnapshot, OperatorRequest, RecordedBundle
from operator_controller.resolve.documents import Documents, ParsedDocuments
from operator_controller.resolve.explained_resolution import resolve_and_explain
from operator_controller.resolve.operator_answer import make_answer
from operator_controller.resolve.snapshot import CatalogOffer, CatalogState, PackageRequest, RunningBundle, Snapshot
from operator_controller.resolve.version_range import MastermindsRange


class SolverMemory:
    """What is kept from one call of solve_components to the next: parsed documents. Never affects an answer, only its cost."""

    def __init__(self) -> None:
        self.parsed = ParsedDocuments()


def solve_components(
    snapshot: ClusterSnapshot, documents: Documents, memory: SolverMemory | None = None
) -> tuple[Answer, ...]:
    """The answers, sorted by the names of the Operators. None for an Operator that is being deleted or not resolvable."""
    memory = memory if memory is not None else SolverMemory()
    memory.parsed.drop_unused()
    found: list[Answer] = []
    for operator in sorted(snapshot.operators, key=lambda each: each.name):
        if operator.is_deleting or not operator.is_resolvable:
            continue
        resolution = resolve_and_explain(_package_snapshot(snapshot, operator, documents, memory))
        found.append(make_answer(operator, "", resolution))
    return tuple(found)


def _package_snapshot(
    snapshot: ClusterSnapshot, operator: OperatorRequest, documents: Documents, memory: SolverMemory
) -> Snapshot:
    """The request of one Operator with what each catalog that it may use offers of its package."""
    offers = [
        memory.parsed.offer(documents, source, operator.package)
        if operator.catalogs is None or source.name in operator.catalogs
        else CatalogOffer(source.name, source.priority, CatalogState.NOT_SELECTED, package_names=source.package_names)
        for source in sorted(snapshot.catalogs, key=lambda each: each.name)
    ]
    return Snapshot(
        request=package_request(operator),
        offers=tuple(offers),
        running=running_bundle(operator.running),
        installing_bundle=operator.installing.name if operator.installing else "",
        preferred_catalog=operator.preferred_catalog,
    )


def package_request(operator: OperatorRequest) -> PackageRequest:
    """The request of the spec. A range that cannot be read requests every version: such an Operator is not resolvable."""
    try:
        versions = MastermindsRange.parse(operator.version) if operator.version else None
    except BadRange:
        versions = None
    approved = operator.approved_version if operator.is_manual else ""
    return PackageRequest(operator.package, operator.channel, versions, not operator.ignores_upgrade_edges, approved)


def running_bundle(recorded: RecordedBundle | None) -> RunningBundle | None:
    """The recorded bundle with its version parsed."""
    if recorded is None:
        return None
    return RunningBundle(
        name=recorded.name,
        image=recorded.image,
        package=recorded.package,
        version=_version(recorded.version),
        version_text=recorded.version,
        catalog=recorded.catalog,
        channel=recorded.channel,
    )


def _version(text: str) -> Version | None:
    try:
        return parse_bundle_version(text)
    except BadVersion:
        return None
