"""Asks the API server which rights and rules of RBAC the user of a client has. Never writes."""

from __future__ import annotations

from olmkit.runtime.access_reviews import RULES_REVIEWS, is_allowed, review
from olmkit.runtime.client import Client
from rukpak.format.objects import mappings
from rukpak.permissions.rules import Right, Rule

NO_NAMESPACE = "-"
"""The name of no Namespace: its rules are those of the whole cluster."""


async def may(client: Client, right: Right) -> bool:
    """Report whether the user has the right. Raises ApiError."""
    return await is_allowed(client, right.attributes())


async def rules_in(client: Client, namespace: str) -> tuple[Rule, ...]:
    """The rules that the user holds in a namespace; empty: in the whole cluster. Raises ApiError."""
    status = await review(client, RULES_REVIEWS, {"namespace": namespace or NO_NAMESPACE})
    found = (*mappings(status.get("resourceRules")), *mappings(status.get("nonResourceRules")))
    return tuple(Rule.load(each) for each in found)
