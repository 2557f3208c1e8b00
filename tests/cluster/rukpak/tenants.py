"""An account in a namespace of its own, as which tests install bundles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from olmkit.api import bundledeployments
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import PLAIN
from rukpak.bundledeployment.cluster.account_watch import SERVICE_ACCOUNTS
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from tests.cluster.rukpak.harness import CLUSTER_ROLE_BINDINGS, Harness, namespace, plain

ROLES = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
ROLE_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True)
ACCOUNT = "installer"
Object = dict[str, Any]

OWN = re.compile(
    r"(PATCH|DELETE) /apis/core\.rukpak\.io/v1alpha1/(bundles|bundledeployments)/[^/]+(/status)?"
    r"|POST /api/v1/namespaces/[^/]+/events"
    r"|PATCH /api/v1/namespaces/[^/]+/events/[^/]+"
)
"""The requests that rukpak makes as itself: for its own kinds, and Events. docs/security.md has the list."""


class Tenant:
    """Bind roles to the account, and install as it. What it makes goes with the harness."""

    def __init__(self, at: Harness) -> None:
        self.at = at
        self.namespace = f"{at.name}-team"
        self.user = f"system:serviceaccount:{self.namespace}:{ACCOUNT}"

    async def settle(self) -> None:
        """Create the namespace and the account."""
        await self.at.create(NAMESPACES, namespace(self.namespace))
        await self.create_account()

    async def create_account(self) -> None:
        head = {"apiVersion": "v1", "kind": "ServiceAccount"}
        await self.at.create(SERVICE_ACCOUNTS, {**head, "metadata": {"name": ACCOUNT, "namespace": self.namespace}})

    async def bind(self, role: str, inside: str = "", *, kind: str = "ClusterRole") -> None:
        """Bind a role to the account in a namespace; empty: a ClusterRole in the whole cluster."""
        binding = ROLE_BINDINGS if inside else CLUSTER_ROLE_BINDINGS
        metadata = {"name": f"{self.at.name}-{role}", **({"namespace": inside} if inside else {})}
        subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": self.namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
        head = {"apiVersion": binding.api_version, "kind": binding.kind, "metadata": metadata}
        await self.at.create(binding, {**head, "subjects": [subject], "roleRef": reference})

    async def install(self, objects: Sequence[Object], tag: str = "v1", **spec: Any) -> None:
        """Ask for a plain bundle of these objects as the account."""
        await self.install_files(plain(*objects), tag, **spec)

    async def install_files(
        self, files: Mapping[str, bytes], tag: str = "v1", provisioner: str = PLAIN, **spec: Any
    ) -> None:
        """Ask for a bundle of these files as the account."""
        account = {"name": ACCOUNT, "namespace": self.namespace}
        body = self.at.body(self.at.push(files, tag), provisioner=provisioner)
        body["spec"] |= {"serviceAccount": account, "installNamespace": self.namespace, **spec}
        await self.at.client.apply(bundledeployments.KIND, body, "test")
