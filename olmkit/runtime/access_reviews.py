"""Asks the API server what the user of a client may do, by reviews of its own access, and what a ServiceAccount may do. Never
writes.

Servers that ask for the sender of a request use olmkit.tls.delegated_auth.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.api.meta import Kind
from olmkit.runtime.client import Client

_GROUP = "authorization.k8s.io"
ACCESS_REVIEWS = Kind(_GROUP, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews")
SUBJECT_REVIEWS = Kind(_GROUP, "v1", "SubjectAccessReview", "subjectaccessreviews")
RULES_REVIEWS = Kind(_GROUP, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews")


async def is_allowed(client: Client, spec: Mapping[str, object]) -> bool:
    """Report whether the user may do what the spec of a SelfSubjectAccessReview names. Raises ApiError."""
    return bool((await review(client, ACCESS_REVIEWS, spec)).get("allowed"))


async def may_update(client: Client, kind: Kind, namespace: str, account: str) -> bool:
    """Report whether a ServiceAccount, which need not exist, may update all objects of a kind, by whatever binding. Raises
    ApiError."""
    attributes = {"group": kind.group, "resource": kind.plural, "verb": "update"}
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    user = f"system:serviceaccount:{namespace}:{account}"
    spec = {"user": user, "groups": groups, "resourceAttributes": attributes}
    return bool((await review(client, SUBJECT_REVIEWS, spec)).get("allowed"))


async def review(client: Client, kind: Kind, spec: Mapping[str, object]) -> Mapping[str, object]:
    """The status of a review of this kind. Raises ApiError."""
    answer = await client.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "spec": dict(spec)})
    status: Mapping[str, object] = answer.get("status") or {}
    return status
