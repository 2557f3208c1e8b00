"""Accounts of a cluster, with different rights, for the console."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from console.page import Answer, Page, PageRequest
from console.routes import Route
from devcluster.cluster import Cluster
from olmkit.errors import ApiError
from olmkit.runtime.client import Client
from tests.cluster.olmkit.conftest import NAMESPACE, until_allowed
from tests.console import Browser, running_console


@dataclass(frozen=True)
class Accounts:
    """Tokens of ServiceAccounts in a namespace: `admin` may do all on the cluster, `team` all in the namespace, `nobody`
    nothing."""

    namespace: str
    admin: str
    team: str
    nobody: str


async def show_user(request: PageRequest) -> Answer:
    """The name of the user."""
    return Page("user.html", request.user.name, "User")


HOME: Mapping[str, Any] = {
    "routes": (Route("GET", "/", show_user), Route("GET", "/suite", show_user)),
    "templates": {"user.html": '{% extends "base.html" %}{% block main %}{{ value }}{% endblock %}'},
}
"""A console whose pages say who reads them."""


@dataclass(frozen=True)
class Tokens:
    """Tokens of two ServiceAccounts that may read what everybody may read in a cluster. The names of their users end with
    :anna and :ben."""

    anna: str
    ben: str


@pytest.fixture(scope="package")
def tokens(cluster: Cluster) -> Iterator[Tokens]:
    """Accounts for the tests that need a session, and no rights of their own."""
    name = f"console-{uuid.uuid4().hex[:10]}"
    cluster.kubectl("create", "namespace", name)
    made = []
    for account in ("anna", "ben"):
        cluster.kubectl("create", "serviceaccount", account, f"--namespace={name}")
        made.append(cluster.kubectl("create", "token", account, f"--namespace={name}").strip())
    binding = ("--clusterrole=view", f"--serviceaccount={name}:anna", f"--serviceaccount={name}:ben")
    cluster.kubectl("create", "clusterrolebinding", name, *binding)
    yield Tokens(*made)
    cluster.kubectl("delete", "clusterrolebinding", name)
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def browser(cluster: Cluster) -> AsyncIterator[Browser]:
    """A browser at a console where people paste tokens. It has no session."""
    async with running_console(str(cluster.kubeconfig), **HOME) as found:
        yield found


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
