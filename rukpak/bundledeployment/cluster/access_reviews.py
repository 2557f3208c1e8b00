"""Asks the API server what the user of a client may do. Never writes."""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.format.objects import mappings
from rukpak.permissions.rules import Right, Rule

_GROUP = "authorization.k8s.io"
ACCESS_REVIEWS = Kind(_GROUP, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews")
RULES_REVIEWS = Kind(_GROUP, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews")
NO_NAMESPACE = "-"
"""The name of no Namespace: its rules are those of the whole cluster."""


async def may(client: Client, right: Right) -> bool:
    """Report whether the user has the right. Raises ApiError."""
    return bool((await _review(client, ACCESS_REVIEWS, right.attributes())).get("allowed"))


async def rules_in(client: Client, namespace: str) -> tuple[Rule, ...]:
    """The rules that the user holds in a namespace; empty: in the whole cluster. Raises ApiError."""
    status = await _review(client, RULES_REVIEWS, {"namespace": namespace or NO_NAMESPACE})
    found = (*mappings(status.get("resourceRules")), *mappings(status.get("nonResourceRules")))
    return tuple(Rule.load(each) for each in found)


async def _review(client: Client, kind: Kind, spec: Mapping[str, object]) -> Mapping[str, object]:
    answer = await client.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "spec": dict(spec)})
    status: Mapping[str, object] = answer.get("status") or {}
    return status
