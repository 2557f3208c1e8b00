"""Why a refusal does not offer to ignore some rules: the API server has them too."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from devcluster.cluster import Cluster
from olmkit.api import customresourcedefinitions
from olmkit.api.crd_upgrade_rules import CrdUpgradeRule as Rule
from olmkit.crd_safety.compare import compare
from olmkit.crd_safety.problem import NOT_PERMITTED
from olmkit.errors import Invalid
from olmkit.runtime.client import Client

KIND = customresourcedefinitions.KIND
Object = dict[str, Any]


def another_scope(crd: Object) -> None:
    crd["spec"]["scope"] = "Cluster"


def another_kind(crd: Object) -> None:
    crd["spec"]["names"]["kind"] = "Ship"


def without_the_stored_version(crd: Object) -> None:
    crd["spec"]["versions"] = [{**crd["spec"]["versions"][0], "name": "v2"}]


CHANGES: dict[Rule, Callable[[Object], None]] = {
    Rule.SCOPE_CHANGED: another_scope,
    Rule.KIND_CHANGED: another_kind,
    Rule.STORED_VERSION_REMOVED: without_the_stored_version,
}


def definition() -> Object:
    group = f"{uuid.uuid4().hex[:8]}.example.com"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"kind": "Boat", "plural": "boats"}
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": f"boats.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with await Client.connect(str(cluster.kubeconfig)) as connected:
        yield connected


@pytest.mark.parametrize("rule", sorted(NOT_PERMITTED))
async def test_the_api_server_does_not_permit_what_no_setting_permits(rule: Rule, client: Client) -> None:
    crd = definition()
    live = await client.create(KIND, crd)
    async with asyncio.timeout(30):
        while "Established" not in str(live.get("status")):
            await asyncio.sleep(0.02)
            live = await client.get(KIND, crd["metadata"]["name"])
    CHANGES[rule](crd)
    assert rule in {problem.rule for problem in compare(live, crd)}
    with pytest.raises(Invalid):
        await client.apply(KIND, crd, "test", dry_run=True)
