"""Which Catalogs count for an Operator: those that its spec.catalogSelector selects. Called by reconciler.py."""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.meta import Object
from olmkit.api.operators import Operator


def selected_catalogs(operator: Operator, catalogs: Iterable[Object]) -> tuple[str, ...] | None:
    """The names of the Catalogs that are selected, sorted; None without a selector."""
    selector = operator.spec.catalog_selector
    if selector is None:
        return None
    metadata = (raw["metadata"] for raw in catalogs)
    return tuple(sorted(each["name"] for each in metadata if selector.matches(each.get("labels") or {})))
