"""Explains why the catalog of an installed package has no content now, and what helps.

Chooses nothing. Pure.
"""

from __future__ import annotations

from olmkit.gocompat.text import quoted
from operator_controller.resolve.explain.suggestions import TOO_LARGE
from operator_controller.resolve.formatting import join_names
from operator_controller.resolve.package.bundle_identity import has_same_name_and_version
from operator_controller.resolve.selection.package_resolution import PackageResolution
from operator_controller.resolve.snapshot.package_snapshot import IGNORED_STATES, CatalogState, RunningBundle


def source_catalog_state(resolution: PackageResolution, running: RunningBundle | None) -> str:
    """Explain why the catalog of an installed package has no content, and what helps if a person can do something about it."""
    if running is None:
        return ""
    offer = next((offer for offer in resolution.snapshot.offers if offer.catalog == running.catalog), None)
    terms = resolution.terms
    catalog = f'catalog "{running.catalog}", which it came from,'
    if offer is None:
        return f"{catalog} was deleted, and {_no_successor(resolution, running)}"
    match offer.state:
        case CatalogState.UNAVAILABLE:
            return f"{catalog} has {terms.availability} Unavailable, so no other version is installed"
        case CatalogState.PENDING:
            return f"{catalog} is not served yet: {offer.message}"
        case CatalogState.TOO_LARGE:
            return f"its package in {catalog} {TOO_LARGE}: {offer.message}"
    return f"{catalog} cannot be read: {offer.message}"


def _no_successor(resolution: PackageResolution, running: RunningBundle) -> str:
    """Explain why no other catalog takes the place of the deleted one, and what to do.

    A Catalog of the recorded name is used again, whatever its source: this is how a person switches to another image.
    """
    others = [
        quoted(offer.catalog)
        for offer in resolution.snapshot.offers
        if offer.state not in IGNORED_STATES
        and offer.package is not None
        and has_same_name_and_version(offer.package, running.name, running.version)
    ]
    terms = resolution.terms
    none = f"no other catalog that is served offers bundle {quoted(running.name)}"
    unselected = [
        quoted(offer.catalog)
        for offer in resolution.snapshot.offers
        if offer.state is CatalogState.NOT_SELECTED and running.package in offer.package_names
    ]
    if unselected and not others:
        catalogs = (
            f"catalog {unselected[0]}, which has"
            if len(unselected) == 1
            else f"{join_names(unselected, 'or')}, which have"
        )
        return (
            f"{terms.selector} selects no other catalog that offers bundle {quoted(running.name)}: change it to select "
            f"{catalogs} the package"
        )
    if not others:
        return f"{none}: create a {terms.catalog} that does, and upgrades continue from there"
    names, last = join_names(others, "and"), join_names(others, "or")
    known = f"catalogs {names} offer" if len(others) > 1 else f"catalog {names} offers"
    return (
        f"{none} with the image that runs: {known} a bundle of the same name and version with another image, which is not "
        f"followed; to continue, create {terms.catalog} {quoted(running.catalog)} again, with the source of {last} only if you "
        "want that image"
    )
