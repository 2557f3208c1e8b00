"""The content that the status of a Catalog announces, for those who make a Snapshot: the Resolver and `olm`. Pure.

Never imported by the solver process, which needs no models of the API.
"""

from __future__ import annotations

from olmkit.api.catalogs import Catalog, ConditionType
from olmkit.api.conditions import find_condition, is_condition_true


def served_digest(catalog: Catalog) -> str:
    """The digest of the content that is served; "" if none is, or if none is to be used."""
    is_serving = is_condition_true(catalog.status.conditions, ConditionType.SERVING)
    is_wanted = not catalog.is_unavailable and not catalog.metadata.deleting
    return catalog.status.content_digest or "" if is_serving and is_wanted and catalog.status.content_url else ""


def package_names(catalog: Catalog) -> tuple[str, ...]:
    """The packages that the status lists: all of them, unless there are too many for it."""
    return tuple(filter(None, (name.strip() for name in (catalog.status.packages or "").split(","))))


def not_served_message(catalog: Catalog) -> str:
    """Explain why the Catalog is not served: the message of its own condition, if it has one."""
    if catalog.metadata.deleting:
        return "it is being deleted"
    for name in (ConditionType.UNPACKED, ConditionType.READY):
        condition = find_condition(catalog.status.conditions, name)
        if condition is not None and condition.status != "True" and condition.message:
            return condition.message
    return "it has not been read yet"
