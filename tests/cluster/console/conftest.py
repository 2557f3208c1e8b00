"""Accounts of a cluster, with different rights, for the console."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from devcluster.cluster import Cluster
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from tests.cluster.olmkit.conftest import NAMESPACE, until_allowed


@dataclass(frozen=True)
class Accounts:
    """Tokens of ServiceAccounts in a namespace: `admin` may do all on the cluster, `team` all in the namespace, `nobody`
    nothing."""

    namespace: str
    admin: str
    team: str
    nobody: str


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client with the rights of the cluster administrator."""
    async with await Client.connect(str(cluster.kubeconfig)) as connected:
        yield connected


@pytest.fixture
async def accounts(cluster: Cluster, client: Client) -> AsyncIterator[Accounts]:
    """The accounts, in a new namespace."""
    name = f"console-{uuid.uuid4().hex[:10]}"
    await client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    tokens = {}
    for account in ("admin", "team", "nobody"):
        cluster.kubectl("create", "serviceaccount", account, f"--namespace={name}")
        tokens[account] = cluster.kubectl("create", "token", account, f"--namespace={name}").strip()
    cluster.kubectl(
        "create", "clusterrolebinding", name, "--clusterrole=cluster-admin", f"--serviceaccount={name}:admin"
    )
    cluster.kubectl(
        *(
            "create",
            "rolebinding",
            "team",
            "--clusterrole=admin",
            f"--serviceaccount={name}:team",
            f"--namespace={name}",
        )
    )
    everything = {"verb": "*", "group": "*", "resource": "*"}
    await until_allowed(client, f"{name}:admin", resourceAttributes=everything)
    in_namespace = {"verb": "list", "resource": "configmaps", "namespace": name}
    await until_allowed(client, f"{name}:team", resourceAttributes=in_namespace)
    yield Accounts(name, **tokens)
    cluster.kubectl("delete", "clusterrolebinding", name)
    with contextlib.suppress(ApiError):
        await client.delete(NAMESPACE, name)
