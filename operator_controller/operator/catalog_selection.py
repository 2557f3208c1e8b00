"""Which Catalogs count for an Operator: those that its spec.catalogSelector selects.

Called by reconciler.py's observe, before any catalog is read: nothing of the others delays the Operator.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.catalogs import Catalog
from olmkit.api.meta import Object
from olmkit.api.operators import Operator
from operator_controller.catalog_client.client import package_names
from operator_controller.resolve.snapshot import CatalogOffer, CatalogState


def select_catalogs(operator: Operator, catalogs: Iterable[Object]) -> tuple[list[Object], list[CatalogOffer]]:
    """The Catalogs that are selected, as the API server's JSON, and what is known of the others; both sorted by name."""
    selector = operator.spec.catalog_selector
    selected: list[Object] = []
    others: list[CatalogOffer] = []
    for raw in sorted(catalogs, key=lambda each: each["metadata"]["name"]):
        if selector is None or selector.matches(raw["metadata"].get("labels") or {}):
            selected.append(raw)
        else:
            others.append(_not_selected(Catalog.load(raw)))
    return selected, others


def _not_selected(catalog: Catalog) -> CatalogOffer:
    return CatalogOffer(
        catalog=catalog.metadata.name,
        priority=catalog.spec.priority,
        state=CatalogState.NOT_SELECTED,
        package_names=package_names(catalog),
    )
