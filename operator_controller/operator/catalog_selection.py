"""What an Operator takes from Catalogs: those that its spec.catalogSelector selects, and the pull secret of the one that has its
bundle. Pure.
"""

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


def pull_secret_of(catalog: Object) -> str:
    """The Secret that the image of a Catalog is pulled with, "" for none. The images of its bundles are pulled with it, too."""
    image = catalog["spec"]["source"].get("image") or {}
    return image.get("pullSecret") or ""
