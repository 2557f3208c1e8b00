"""Finds the catalogs that could lift a refusal if their current content were known, and says so in the message.

A refusal waits for these catalogs; without any it is final. The table of the rules is in docs/resolution.md. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from operator_controller.resolve.formatting import join_names, plain_value
from operator_controller.resolve.requirements.constraints import scope_of
from operator_controller.resolve.selection.package_domain import PackageDomain
from operator_controller.resolve.selection.universe import ComponentUniverse
from operator_controller.resolve.snapshot.cluster_snapshot import CatalogSource
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from operator_controller.resolve.solver.clauses import Clause, ExclusionClause, OwnershipClause, RequirementClause

MAX_CATALOGS_SHOWN = 3
"""Catalogs in one message that are waited for."""


@dataclass(frozen=True)
class _Subject:
    """The subject of a conflict: packages, and perhaps kinds that a bundle of any other package could provide."""

    packages: frozenset[str]
    is_any_package: bool


def catalogs_to_wait_for(
    universe: ComponentUniverse, catalogs: Iterable[CatalogSource], clauses: Iterable[Clause]
) -> list[CatalogSource]:
    """The catalogs that may have another version of a package of the conflict, or another provider of a kind."""
    subject = _subject(clauses)
    domains = [universe.domain(package) for package in sorted(subject.packages)]
    return [
        each
        for each in catalogs
        if _may_offer_any(each, subject)
        or any(_counts(each, domain) and _may_offer(each, domain.package) for domain in domains)
    ]


def waiting_notes(catalogs: Iterable[CatalogSource], packages: Iterable[str]) -> list[str]:
    """Say what keeps the catalogs from being read, and which of the packages they had."""
    listed = list(catalogs)
    notes = [
        unread_note(each.state, each.name, each.message, [name for name in packages if name in each.package_names])
        for each in listed[:MAX_CATALOGS_SHOWN]
    ]
    more = len(listed) - MAX_CATALOGS_SHOWN
    return [*notes, *([f"{more} more catalogs are waited for"] if more > 0 else [])]


def unread_note(state: CatalogState, catalog: str, message: str, packages: Iterable[str] = ()) -> str:
    """Explain why the current content of a catalog is not known; "" for the other states. `packages`: what it is known to
    have."""
    match state:
        case CatalogState.PENDING:
            return f'catalog "{catalog}" is not served yet: {message}'
        case CatalogState.CACHED:
            return f'catalog "{catalog}" cannot be read, its last content is used: {message}'
        case CatalogState.UNREACHABLE:
            names = join_names([plain_value(name) for name in packages], "and")
            has_them = f"has {names}, but " if names else ""
            return f'catalog "{catalog}" {has_them}cannot be read: {message}'
    return ""


def conflict_packages(clauses: Iterable[Clause]) -> list[str]:
    """The packages that a conflict is about, in the order of its clauses, without providers of kinds."""
    return list(dict.fromkeys(name for each in clauses for name in _packages(each)))


def _packages(clause: Clause) -> list[str]:
    match clause:
        case RequirementClause(package=package, requirement=requirement):
            scope = scope_of([ComponentUniverse.constraint(requirement)])
            return [package, *sorted(scope.packages), *(each.package for each in requirement.alternatives)]
        case ExclusionClause(package=package, exclusion=exclusion):
            return [package, *(each.package for each in exclusion.excluded)]
        case OwnershipClause(first=first, second=second):
            return [first.package, second.package]
    return [clause.package]


def _subject(clauses: Iterable[Clause]) -> _Subject:
    clauses = list(clauses)
    constraints = [
        ComponentUniverse.constraint(each.requirement) for each in clauses if isinstance(each, RequirementClause)
    ]
    scope = scope_of(constraints)
    return _Subject(frozenset(conflict_packages(clauses)), bool(scope.kinds) or scope.any_package)


def _counts(source: CatalogSource, domain: PackageDomain) -> bool:
    """Report whether versions of the package may come from the catalog: a package stays with the catalog it was installed
    from."""
    operator = domain.operator
    if operator is None:
        return True
    considered = {each.offer.catalog for each in domain.permitted.catalogs}
    if operator.running is not None and considered:
        return source.name in considered
    return operator.catalogs is None or source.name in operator.catalogs


def _may_offer(source: CatalogSource, package: str) -> bool:
    """Report whether the package may be offered of the unknown content. A complete list of packages is believed."""
    if not source.selects(package):
        return False
    match source.state:
        case CatalogState.PENDING:
            return True
        case CatalogState.CACHED | CatalogState.UNREACHABLE:
            return package in source.package_names or not source.lists_all_packages
    return False


def _may_offer_any(source: CatalogSource, subject: _Subject) -> bool:
    """Report whether the unknown content may have a provider of a kind."""
    if not subject.is_any_package:
        return False
    is_away = source.state in (CatalogState.CACHED, CatalogState.UNREACHABLE)
    return source.state is CatalogState.PENDING or is_away
