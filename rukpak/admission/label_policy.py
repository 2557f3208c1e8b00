"""Keeps the labels by which rukpak knows its Namespaces and CustomResourceDefinitions from being changed by others.

A ValidatingAdmissionPolicy, which the API server evaluates itself: it denies a change of such a label to everybody but rukpak,
also where it acts as an account (olmkit.api.impersonation), and the controllers of Kubernetes, and warns who creates an object
with one. It looks at changed labels alone, and a write that it cannot evaluate is accepted. The leader applies it where the
cluster serves the kind (Kubernetes 1.30), and again when somebody changes or deletes it. It is owned by the
ValidatingWebhookConfiguration of rukpak, so that it goes with the suite however that is removed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api.impersonation import EXTRA_KEY, EXTRA_VALUE
from olmkit.api.label_policy import BINDINGS, POLICIES, POLICY
from olmkit.api.meta import Kind, Object
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Change, Informer

DOMAINS = ("core.rukpak.io/", "member.core.rukpak.io/")
"""The prefixes of the labels."""
KUBERNETES_USERS = ("system:apiserver", "system:kube-controller-manager")
KUBERNETES_GROUP = "system:serviceaccounts:kube-system"
"""The group of the ServiceAccounts of the controllers of Kubernetes."""
RETRY_SECONDS = 5.0
_MANAGER = "rukpak"
_REVIEWS = Kind("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews")
SELECTOR = "app.kubernetes.io/part-of=olm-suite"
"""Selects the policy and its bindings."""
_LABELS = {"app.kubernetes.io/name": "rukpak", **dict([SELECTOR.split("=")])}
_OPERATIONS = {"Deny": "UPDATE", "Warn": "CREATE"}
"""The operations by the action that is taken on them."""

log = logging.getLogger(__name__)


class LabelPolicy:
    """For all Namespaces and CustomResourceDefinitions. The informers follow the ValidatingWebhookConfiguration `owner`, and the
    policies and bindings of the suite."""

    def __init__(
        self, client: Client, owner: str, configurations: Informer, policies: Informer, bindings: Informer
    ) -> None:
        self._client = client
        self._owner = owner
        self._configurations = configurations
        self._informers = {POLICIES: policies, BINDINGS: bindings}
        self._applied: dict[tuple[Kind, str], tuple[str, str, int]] = {}
        """The uid of the owner, and the uid and generation of each object after its apply."""
        self._changed = asyncio.Event()
        for informer in (configurations, policies, bindings):
            informer.subscribe(self._notice)

    def _notice(self, _: Change) -> None:
        self._changed.set()

    async def run(self) -> None:
        """Apply the policy when it is not as it should be, until cancelled. Runs on the leader."""
        self._applied.clear()
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._apply()
            except ApiError as error:
                log.warning("the policy of labels cannot be applied, which is retried", extra={"error": error.message})
                await asyncio.sleep(RETRY_SECONDS)
                self._changed.set()

    async def _apply(self) -> None:
        """Raises ApiError."""
        owner = self._configurations.get(self._owner)
        if owner is None or (self._applied and all(self._is_applied(owner, *each) for each in self._applied)):
            return
        if (await self._client.discover()).find(POLICIES.api_version, POLICIES.kind) is None:
            return
        review = {"apiVersion": _REVIEWS.api_version, "kind": _REVIEWS.kind}
        username = (await self._client.create(_REVIEWS, review))["status"]["userInfo"]["username"]
        for kind, body in policy_objects(username, owner["metadata"]["uid"], self._owner):
            stored = self._informers[kind].get(body["metadata"]["name"])
            if stored is None or not _contains(stored, body):
                stored = await self._client.apply(kind, body, _MANAGER)
                self._informers[kind].record_write(stored)
                log.info(
                    "a policy of labels was applied", extra={"kind": kind.kind, "object": body["metadata"]["name"]}
                )
            metadata = stored["metadata"]
            self._applied[kind, metadata["name"]] = owner["metadata"]["uid"], metadata["uid"], metadata["generation"]

    def _is_applied(self, owner: Object, kind: Kind, name: str) -> bool:
        metadata = (self._informers[kind].get(name) or {}).get("metadata") or {}
        state = owner["metadata"]["uid"], metadata.get("uid"), metadata.get("generation")
        return self._applied[kind, name] == state


def _contains(stored: Any, body: Any) -> bool:
    """Report whether a stored value is `body`, beside fields that the API server adds: an apply would change nothing."""
    if isinstance(stored, dict) and isinstance(body, dict):
        return all(key in stored and _contains(stored[key], value) for key, value in body.items())
    if isinstance(stored, list) and isinstance(body, list):
        return len(stored) == len(body) and all(map(_contains, stored, body))
    return bool(stored == body)


def policy_objects(username: str, owner_uid: str, owner: str) -> list[tuple[Kind, Object]]:
    """The policy and its bindings. `username` is that of rukpak; they are deleted with the ValidatingWebhookConfiguration."""

    def named(kind: Kind, name: str, spec: dict[str, Any]) -> tuple[Kind, Object]:
        reference = {
            "apiVersion": WEBHOOK_CONFIGURATIONS.api_version,
            "kind": WEBHOOK_CONFIGURATIONS.kind,
            "name": owner,
            "uid": owner_uid,
        }
        metadata = {"name": name, "labels": _LABELS, "ownerReferences": [reference]}
        return kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}

    bindings = [
        named(
            BINDINGS,
            f"{POLICY}-{action.lower()}",
            {"policyName": POLICY, "validationActions": [action], "matchResources": _resources(operation)},
        )
        for action, operation in _OPERATIONS.items()
    ]
    return [named(POLICIES, POLICY, _policy_spec(username)), *bindings]


def _resources(*operations: str) -> Object:
    """Namespaces and CustomResourceDefinitions. A write of the status of a Namespace may change its labels as well."""
    rules = {"": ["namespaces", "namespaces/status", "namespaces/finalize"]}
    rules["apiextensions.k8s.io"] = ["customresourcedefinitions"]
    return {
        "resourceRules": [
            {"apiGroups": [group], "apiVersions": ["*"], "operations": list(operations), "resources": resources}
            for group, resources in rules.items()
        ]
    }


def _policy_spec(username: str) -> dict[str, Any]:
    users = ", ".join(f"'{name}'" for name in (username, *KUBERNETES_USERS))
    prefixes = " || ".join(f"key.startsWith('{prefix}')" for prefix in DOMAINS)

    def labels(place: str) -> str:
        has = f"{place} != null && has({place}.metadata.labels)"
        return f"{has} ? {place}.metadata.labels.map(key, {prefixes}, key + '=' + {place}.metadata.labels[key]) : []"

    named = "variables.added.size() > 0 ? variables.added : variables.removed"
    return {
        "failurePolicy": "Ignore",
        "matchConstraints": _resources(*sorted(_OPERATIONS.values())),
        "matchConditions": [
            {
                "name": "is-written-by-others",
                "expression": f"!(request.userInfo.username in [{users}]) && !(has(request.userInfo.groups) && "
                f"'{KUBERNETES_GROUP}' in request.userInfo.groups) && !(has(request.userInfo.extra) && '{EXTRA_KEY}' in "
                f"request.userInfo.extra && request.userInfo.extra['{EXTRA_KEY}'] == ['{EXTRA_VALUE}'])",
            }
        ],
        "variables": [
            {"name": "before", "expression": labels("oldObject")},
            {"name": "after", "expression": labels("object")},
            {"name": "added", "expression": "variables.after.filter(each, !(each in variables.before))"},
            {"name": "removed", "expression": "variables.before.filter(each, !(each in variables.after))"},
        ],
        "validations": [
            {
                "expression": "variables.added.size() == 0 && variables.removed.size() == 0",
                "reason": "Forbidden",
                "messageExpression": f"'rukpak alone writes this label, which says what it deletes: ' + ({named})[0]",
            }
        ],
    }
