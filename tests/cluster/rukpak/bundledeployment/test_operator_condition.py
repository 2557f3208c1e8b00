"""The OperatorCondition of an installed operator on the real API server: who writes it, what it holds, when it comes and goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundledeployments
from olmkit.api.crd import operator_condition_definition
from olmkit.api.operator_condition_names import NAME_VARIABLE, V1
from olmkit.api.operator_conditions import KIND
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.errors import Forbidden
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS
from rukpak.render.operator_condition import ROLE_SUFFIX
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    DEPLOYMENTS,
    READY,
    WITHIN,
    Harness,
    Object,
    cluster_role,
    gone,
    rukpak,
    says,
    version_of,
)
from tests.cluster.rukpak.tenants import ROLE_BINDINGS, ROLES, Tenant
from tests.conditions import triple
from tests.unit.rukpak.builders import csv, files
from tests.unit.rukpak.builders import deployment as csv_deployment

DEFINITION = operator_condition_definition()
KIND_V1 = replace(KIND, version=V1)
NAME = DEFINITION["metadata"]["name"]
MADE = {KIND: "", ROLES: ROLE_SUFFIX, ROLE_BINDINGS: ROLE_SUFFIX}
"""The kinds of what a revision with an OperatorCondition has, and the ends of their names."""
TIME = "2026-01-01T00:00:00Z"
TEXT = "The operator is not upgradeable: a migration is running"


def is_established(raw: Object | None) -> bool:
    conditions = (raw or {}).get("status", {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


class Definition:
    """The CRD of OperatorConditions on the cluster, which other tests do not have."""

    def __init__(self, at: Harness) -> None:
        self.at = at

    async def appear(self, definition: Object = DEFINITION) -> None:
        await self.at.client.apply(CRDS, definition, "test")
        await self.at.when(CRDS, NAME, "", is_established)

    async def disappear(self) -> None:
        found = await self.at.find(CRDS, NAME)
        if found is None:
            return
        await self.at.read(replace(KIND, version=found["spec"]["versions"][0]["name"]))
        await self.at.client.delete(CRDS, NAME)
        await self.at.when(CRDS, NAME, "", gone)


@pytest.fixture
async def definition(at: Harness) -> AsyncIterator[Definition]:
    """It is absent before and after the test."""
    made = Definition(at)
    try:
        yield made
    finally:
        await made.disappear()


def operator(at: Harness, version: str, mode: str = "AllNamespaces") -> dict[str, bytes]:
    """A registry+v1 bundle of one Deployment without pods, with an account of its own."""
    workload = csv_deployment("captain", containers=[{"name": "main", "image": "registry.example.com/x:v1"}])
    workload["spec"]["replicas"] = 0
    permissions = [{"serviceAccountName": "captain", "rules": []}]
    return files(
        csv(
            f"{at.name}.{version}",
            annotations={"operatorframework.io/suggested-namespace": at.name},
            modes=(mode,),
            install={"deployments": [workload], "permissions": permissions},
        )
    )


async def install(at: Harness, version: str) -> None:
    await at.install(at.push(operator(at, version), version), provisioner=REGISTRY)


async def condition_of(at: Harness, version: str) -> Object:
    return await at.client.get(KIND, f"{at.name}.{version}", at.name)


def variables(workload: Object) -> list[Any]:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return list(container.get("env") or ())


def upgradeable(status: str, message: str) -> Object:
    return {
        "type": "Upgradeable",
        "status": status,
        "reason": "Migration",
        "message": message,
        "lastTransitionTime": TIME,
    }


async def say(client: Client, at: Harness, version: str, field: str, *conditions: Mapping[str, Any]) -> None:
    await client.patch(KIND, f"{at.name}.{version}", {"spec": {field: list(conditions)}}, at.name)


def is_copied(status: str) -> Callable[[Object | None], bool]:
    """The condition of the operator is in the status, for this generation."""

    def check(raw: Object | None) -> bool:
        found = ((raw or {}).get("status") or {}).get("conditions") or ()
        return raw is not None and [(each["status"], each["observedGeneration"]) for each in found] == [
            (status, raw["metadata"]["generation"])
        ]

    return check


def holds(raw: Object | None) -> bool:
    return raw is not None and "upgradeHold" in raw["status"]


async def test_an_operator_holds_its_upgrade_and_an_override_lifts_the_hold(
    at: Harness, running: Client, definition: Definition
) -> None:
    await definition.appear()
    await install(at, "v1")
    first = (await at.until(READY))["status"]["activeBundle"]
    made = await condition_of(at, "v1")
    assert made["spec"] == {"deployments": ["captain"], "serviceAccounts": ["captain"]}
    await _is_named(at, "v1")
    await _operator_refuses(at)
    await install(at, "v2")
    raw = await at.until(says("Ready", "False", "OperatorConditionNotUpgradeable", TEXT))
    assert triple(raw, "Reconciling")[1] == "OperatorConditionNotUpgradeable"
    assert f"OperatorCondition {at.name}/{at.name}.v1: {TEXT}; an override" in triple(raw, "Ready")[2]
    assert raw["status"]["activeBundle"] == first
    await _stays(at, "v1", raw)
    assert (await at.client.get(DEPLOYMENTS, "captain", at.name))["metadata"]["generation"] == 1
    await say(at.client, at, "v1", "overrides", {"type": "Upgradeable", "status": "True", "reason": "Approved"})
    raw = await at.until(READY)
    assert raw["status"]["activeBundle"] != first
    assert "upgradeHold" not in raw["status"]
    recorded = [each.get("operatorCondition") for each in raw["status"]["history"]]
    assert recorded == [f"{at.name}/{at.name}.v2", f"{at.name}/{at.name}.v1"]
    assert (await condition_of(at, "v2"))["spec"] == made["spec"], "an override is for one version"
    for kind, suffix in MADE.items():
        await at.when(kind, f"{at.name}.v1{suffix}", at.name, gone)
    await _is_named(at, "v2")


async def _is_named(at: Harness, version: str) -> None:
    """The containers have the name of this OperatorCondition."""
    workload = await at.client.get(DEPLOYMENTS, "captain", at.name)
    assert variables(workload) == [{"name": NAME_VARIABLE, "value": f"{at.name}.{version}"}]


async def _operator_refuses(at: Harness) -> None:
    """The operator says with its own account that it cannot be upgraded, which is copied and reported."""
    captain = at.client.acting_as({"Impersonate-User": f"system:serviceaccount:{at.name}:captain"})
    await say(captain, at, "v1", "conditions", upgradeable("False", "a migration is running"))
    with pytest.raises(Forbidden):
        await captain.delete(KIND, f"{at.name}.v1", at.name)
    await at.when(KIND, f"{at.name}.v1", at.name, is_copied("False"))
    held = await at.until(holds)
    assert held["status"]["upgradeHold"] == {"operatorCondition": f"{at.name}/{at.name}.v1", "message": TEXT}
    assert triple(held, "Ready")[0] == "True", "nothing is requested yet"


async def test_what_others_change_of_the_object_is_put_back_and_their_part_stays(
    at: Harness, running: Client, definition: Definition
) -> None:
    await definition.appear()
    await install(at, "v1")
    await at.until(READY)
    await say(at.client, at, "v1", "conditions", upgradeable("False", "never"))
    await say(at.client, at, "v1", "overrides", {"type": "Upgradeable", "status": "Unknown", "reason": "Freeze"})
    await say(at.client, at, "v1", "deployments")

    def is_restored(raw: Object | None) -> bool:
        return (raw or {}).get("spec", {}).get("deployments") == ["captain"] and is_copied("False")(raw)

    found = await at.when(KIND, f"{at.name}.v1", at.name, is_restored)
    assert found is not None
    assert found["spec"]["conditions"] == [upgradeable("False", "never")]
    assert [each["status"] for each in found["spec"]["overrides"]] == ["Unknown"]
    await say(at.client, at, "v1", "conditions")
    await at.when(KIND, f"{at.name}.v1", at.name, lambda raw: not ((raw or {}).get("status") or {}).get("conditions"))
    await at.until(holds)
    await at.remove()
    await at.until(gone)
    for kind, suffix in MADE.items():
        assert await at.find(kind, f"{at.name}.v1{suffix}", at.name) is None


async def _stays(at: Harness, version: str, raw: Object) -> None:
    """A held upgrade writes nothing."""
    before = version_of(await condition_of(at, version)), version_of(raw)
    await asyncio.sleep(1)
    assert (version_of(await condition_of(at, version)), version_of(at.deployments.get(at.name))) == before


async def test_nothing_is_restarted_when_the_kind_appears_or_disappears(
    at: Harness, running: Client, definition: Definition
) -> None:
    await install(at, "v1")
    await at.until(READY)
    await definition.appear()
    await at.client.patch(bundledeployments.KIND, at.name, {"metadata": {"annotations": {"another": "pass"}}})
    await at.until(lambda raw: READY(raw) and "leftOut" not in (raw or {})["status"])
    assert await at.find(KIND, f"{at.name}.v1", at.name) is None
    workload = await at.client.get(DEPLOYMENTS, "captain", at.name)
    assert (variables(workload), workload["metadata"]["generation"]) == ([], 1)

    await install(at, "v2")
    await at.when(KIND, f"{at.name}.v2", at.name, lambda found: found is not None)
    await at.until(READY)
    await _is_named(at, "v2")
    workload = await at.client.get(DEPLOYMENTS, "captain", at.name)
    generation = workload["metadata"]["generation"]

    await definition.disappear()
    raw = await at.until(lambda found: "leftOut" in (found or {})["status"])
    assert [(each["kind"], each["name"]) for each in raw["status"]["leftOut"]] == [
        ("OperatorCondition", f"{at.name}.v2")
    ]
    assert triple(raw, "Ready")[0] == "True"
    assert await at.find(ROLES, f"{at.name}.v2{ROLE_SUFFIX}", at.name) is not None
    await definition.appear()
    await at.when(KIND, f"{at.name}.v2", at.name, lambda found: found is not None)
    await at.until(lambda found: READY(found) and "leftOut" not in (found or {})["status"])
    assert (await at.client.get(DEPLOYMENTS, "captain", at.name))["metadata"]["generation"] == generation


async def test_an_operator_that_uses_v1_writes_the_status(at: Harness, running: Client, definition: Definition) -> None:
    (older,) = (each for each in DEFINITION["spec"]["versions"] if each["name"] == "v1")
    await definition.appear({**DEFINITION, "spec": {**DEFINITION["spec"], "versions": [{**older, "storage": True}]}})
    await install(at, "v1")
    await at.until(READY)
    captain = at.client.acting_as({"Impersonate-User": f"system:serviceaccount:{at.name}:captain"})
    path = f"{KIND_V1.path(at.name, f'{at.name}.v1')}/status"

    async def write(generation: int) -> None:
        found = {**upgradeable("False", "a migration is running"), "observedGeneration": generation}
        body = {"status": {"conditions": [found]}}
        await captain.request("PATCH", path, body=body, content_type="application/merge-patch+json")

    await write(0)
    outdated = 'The operatorcondition status "Upgradeable"="False" is outdated'
    await at.until(lambda raw: holds(raw) and (raw or {})["status"]["upgradeHold"]["message"] == outdated)
    await write(1)
    await at.until(lambda raw: holds(raw) and (raw or {})["status"]["upgradeHold"]["message"] == TEXT)
    with pytest.raises(Forbidden):
        await captain.patch(KIND_V1, f"{at.name}.v1", {"spec": {"overrides": []}}, at.name)


class CountsCopies(Client):
    """Counts the writes to the status of OperatorConditions."""

    count = 0
    first = asyncio.Event()

    async def request(self, method: str, path: str, **options: Any) -> Object:
        if path.endswith("/status") and "/operatorconditions/" in path:
            type(self).count += 1
            self.first.set()
        return await super().request(method, path, **options)


async def test_copies_that_the_api_server_does_not_store_are_not_repeated(
    at: Harness, definition: Definition, tmp_path: Path
) -> None:
    """Nor do they keep the BundleDeployment from being upgraded."""
    bare = json.loads(json.dumps(DEFINITION))
    for version in bare["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"]
        del version["additionalPrinterColumns"]
    await definition.appear(bare)
    async with rukpak(at.cluster, tmp_path, CountsCopies):
        await install(at, "v1")
        await at.until(READY)
        await say(at.client, at, "v1", "conditions", upgradeable("False", "a migration is running"))
        async with asyncio.timeout(WITHIN):
            await CountsCopies.first.wait()
        await install(at, "v2")
        await at.when(KIND, f"{at.name}.v1", at.name, gone)
        assert CountsCopies.count == 1


async def test_an_account_needs_the_permissions_that_it_gives_to_the_operator(
    at: Harness, running: Client, definition: Definition, tenant: Tenant
) -> None:
    """The copies are made as the account too: it has the permission, because it gives it to the operator."""
    await definition.appear()
    await tenant.bind("admin", tenant.namespace)
    await tenant.install_files(operator(at, "v1", "OwnNamespace"), "v1", provisioner=REGISTRY)
    raw = await at.until(says("Stalled", "True", "Blocked", "operatorconditions"))
    missing = {
        (verb, resource)
        for rule in raw["status"]["missingPermissions"]["rules"]
        for verb in rule["verbs"]
        for resource in rule.get("resources", ())
        if "operatorconditions" in resource
    }
    assert missing == {
        *((verb, "operatorconditions") for verb in ("create", "delete", "get", "patch", "update")),
        *((verb, "operatorconditions/status") for verb in ("get", "patch", "update")),
    }
    verbs: Sequence[str] = ("create", "delete", "get", "patch", "update")
    resources = ["operatorconditions", "operatorconditions/status"]
    rule = {"apiGroups": [KIND.group], "resources": resources, "verbs": list(verbs)}
    await at.create(CLUSTER_ROLES, cluster_role(f"{at.name}-conditions", rules=[rule]))
    await tenant.bind(f"{at.name}-conditions", tenant.namespace)
    await at.until(READY)
    patch = {"spec": {"conditions": [upgradeable("False", "a migration is running")]}}
    await at.client.patch(KIND, f"{at.name}.v1", patch, tenant.namespace)
    found = await at.when(KIND, f"{at.name}.v1", tenant.namespace, is_copied("False"))
    assert found is not None
    assert (await at.until(holds))["status"]["upgradeHold"]["operatorCondition"] == f"{tenant.namespace}/{at.name}.v1"
