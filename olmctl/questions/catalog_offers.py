"""Finds the offers of the Catalogs of the cluster for a package, as operator-controller does: the same rules, in the same words.

Reads Catalogs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import ValidationError

from olmctl.questions.errors import NothingFound
from olmctl.questions.operator_state import lost_catalog
from olmctl.questions.packages import PackageEntry, package_objects
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import catalogs
from olmkit.api.catalogs import Catalog, not_served_message, package_names, served_digest
from olmkit.api.meta import Object
from olmkit.errors import OlmError
from operator_controller.resolve.explain.explanation import explain
from operator_controller.resolve.explain.unread_catalogs import unread_note
from operator_controller.resolve.formatting import join_names
from operator_controller.resolve.selection.catalog_and_bundle_choice import permitted
from operator_controller.resolve.selection.package_resolution import PackageResolution
from operator_controller.resolve.snapshot.package_snapshot import (
    CatalogOffer,
    CatalogState,
    PackageRequest,
    PackageSnapshot,
)


async def offered_entries(
    session: Session, package: str, catalog: str | None = None, installed: Iterable[Object] = ()
) -> list[PackageEntry]:
    """The package in each catalog that has it, or in that one. Raises NothingFound if there is none, with the reason and
    what to do; also if the Catalog of an Operator among `installed` was deleted."""
    found = await package_objects(session, package)
    if chosen := [each for each in found if catalog in (None, each.catalog)]:
        return chosen
    elsewhere = f"; the package is in {', '.join(each.catalog for each in found)}" if found else ""
    lost = [] if found else [clean(each) for each in map(lost_catalog, installed) if each]
    why = why_not_offered(await _catalogs(session), package, catalog)
    raise NothingFound("; ".join([f"{why}{elsewhere}", *lost]))


def why_not_offered(found: Sequence[Catalog], package: str, catalog: str | None = None) -> str:
    """Explain why none of the Catalogs offers the package, or why that one does not, and what to do."""
    if catalog is not None:
        names = [each.metadata.name for each in found]
        if catalog not in names:
            others = f"the cluster has {join_names(names, 'and')}" if names else "create one"
            return f"there is no Catalog {catalog}: {others}"
        found = [each for each in found if each.metadata.name == catalog]
    snapshot = PackageSnapshot(PackageRequest(package), tuple(_offer(each, package) for each in found))
    result = permitted(snapshot)
    return clean(explain(PackageResolution(result.otherwise, snapshot, result.catalogs)).text)


async def no_packages_text(session: Session) -> str:
    """Explain why there are no packages at all, and what to do."""
    return why_nothing_is_offered(await _catalogs(session))


def why_nothing_is_offered(found: Sequence[Catalog]) -> str:
    """The same for these Catalogs."""
    if not found:
        return "there is no Catalog yet: create one"
    return clean("; ".join(_why_empty(_offer(each, "")) for each in found))


def _offer(catalog: Catalog, package: str) -> CatalogOffer:
    """The offer of a Catalog for a package that it does not list as one of its own."""
    names, selected = package_names(catalog), catalog.selected_packages
    shown = names if selected is None else tuple(each for each in names if each in selected)
    found = CatalogOffer(catalog.metadata.name, catalog.spec.priority, package_names=shown)
    if catalog.is_unavailable:
        return replace(found, state=CatalogState.UNAVAILABLE, package_names=())
    if not served_digest(catalog):
        return replace(found, state=CatalogState.PENDING, message=not_served_message(catalog), package_names=())
    is_excluded = selected is not None and package not in selected
    is_withheld = is_excluded and package in names
    is_lacking = not is_withheld and catalog.status.package_count == len(names)
    return replace(found, is_excluded=is_excluded and not is_lacking, is_withheld=is_withheld)


def _why_empty(found: CatalogOffer) -> str:
    match found.state:
        case CatalogState.UNAVAILABLE:
            return f'catalog "{found.catalog}" is ignored: its spec.availability is Unavailable'
        case CatalogState.PENDING:
            return unread_note(found.state, found.catalog, found.message)
    return f'catalog "{found.catalog}" offers no packages'


async def _catalogs(session: Session) -> list[Catalog]:
    """The Catalogs by name. Raises OlmError if one is not as this API has it."""
    found, _ = await session.client.list(catalogs.KIND)
    return sorted(map(_loaded, found), key=lambda each: each.metadata.name)


def _loaded(raw: dict[str, object]) -> Catalog:
    try:
        return Catalog.load(raw)
    except ValidationError as error:
        message = "a Catalog of the cluster cannot be read: use the olm of the suite's version"
        raise OlmError("UnknownCatalog", message) from error
