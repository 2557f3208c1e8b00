"""An account that may not remove what has to go: all that it lacks is named, nothing is tried, and a right ends the wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.proxy import run_as
from tests.cluster.recording_proxy import RecordingProxy
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    READY,
    Harness,
    cluster_role,
    config_map,
    definition,
    gone,
    kind_of,
    namespace,
    rukpak,
    says,
    thing,
)
from tests.cluster.rukpak.tenants import Tenant

Object = dict[str, Any]
VERBS = ["create", "delete", "get", "patch"]
LACKING = says("Stalled", "True", "Blocked", "lacks permissions to remove what is no longer in the bundle")


def rule(resource: str, *names: str, group: str = "", without: str = "") -> Object:
    """A rule about these objects, with all verbs that an installation needs but one."""
    verbs = [each for each in VERBS if each != without]
    return {"apiGroups": [group], "resources": [resource], "resourceNames": list(names), "verbs": verbs}


async def permit(at: Harness, tenant: Tenant, *rules: Object) -> None:
    """Let the account do this and nothing else."""
    role = cluster_role(f"{at.name}-exact", rules=rules)
    if await at.find(CLUSTER_ROLES, role["metadata"]["name"]) is None:
        await at.create(CLUSTER_ROLES, role)
        await tenant.bind(role["metadata"]["name"])
    else:
        await at.client.patch(CLUSTER_ROLES, role["metadata"]["name"], {"rules": list(rules)})


def missing(raw: Object) -> list[tuple[str, ...]]:
    """Verb, resource and names of each missing rule."""
    rules = raw["status"]["missingPermissions"]["rules"]
    return sorted((*each["verbs"], *each["resources"], *each["resourceNames"]) for each in rules)


async def test_a_right_to_delete_that_is_taken_away_before_a_prune(at: Harness, tenant: Tenant, tmp_path: Path) -> None:
    inside, reading = tenant.namespace, rule("namespaces", tenant.namespace)
    async with (
        run_as(RecordingProxy, at.cluster.kubeconfig, tmp_path) as proxy,
        rukpak(at.cluster, tmp_path / "cache", kubeconfig=str(proxy.kubeconfig)),
    ):
        await permit(at, tenant, reading, rule("configmaps", "log", "old", "older"))
        await tenant.install([config_map(each, inside) for each in ("log", "old", "older")])
        await at.until(READY)
        await permit(
            at, tenant, reading, rule("configmaps", "log"), rule("configmaps", "old", "older", without="delete")
        )
        await at.read(CLUSTER_ROLES)
        await tenant.install([config_map("log", inside)], "v2")
        raw = await at.until(LACKING)
        assert missing(raw) == [("delete", "configmaps", "old", "older")]
        assert says("Installed", "True")(raw)
        assert not [each for each in proxy.writes if each.method == "DELETE" and "/configmaps/" in each.path]
        await permit(at, tenant, reading, rule("configmaps", "log", "old", "older"))
        raw = await at.until(READY, within=15)
        assert "missingPermissions" not in raw["status"]
    assert [await at.find(CONFIG_MAPS, each, inside) for each in ("old", "older")] == [None, None]


async def test_what_becomes_of_definitions_and_namespaces_that_left_the_bundle(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    """The right depends on whether they are in use: one that is released is patched."""
    other, group, crd = f"{at.name}-new", "apiextensions.k8s.io", f"boats.{at.group}"
    boats = {"apiGroups": [at.group], "resources": ["boats"], "verbs": ["list", "delete"]}

    def rules(crds: str, namespaces: str) -> list[Object]:
        definitions = rule("customresourcedefinitions", crd, group=group, without=crds)
        return [definitions, rule("namespaces", other, without=namespaces), rule("namespaces", tenant.namespace), boats]

    log = rule("configmaps", "log")
    await permit(at, tenant, *rules("", ""), log)
    await tenant.install([namespace(other), definition(at.group), config_map("log", tenant.namespace)])
    await at.until(READY)
    await at.create(kind_of(at.group), thing(kind_of(at.group), "dinghy", tenant.namespace))
    await permit(at, tenant, *rules("patch", "delete"), log)
    await at.read(CLUSTER_ROLES)
    await tenant.install([config_map("log", tenant.namespace)], "v2")
    raw = await at.until(LACKING)
    assert missing(raw) == [("patch", "customresourcedefinitions", crd)]
    await permit(at, tenant, *rules("delete", "delete"), log)
    raw = await at.until(lambda raw: LACKING(raw) and raw is not None and missing(raw)[0][1] == "namespaces")
    assert missing(raw) == [("delete", "namespaces", other)]
    await permit(at, tenant, *rules("delete", "patch"), log)
    await at.until(READY)
    await at.when(NAMESPACES, other, "", gone)
    assert await at.find(CRDS, crd) is not None


async def test_a_namespace_is_asked_about_before_a_deletion_that_keeps_definitions(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    other, log = f"{at.name}-new", rule("configmaps", "log")
    await permit(at, tenant, rule("namespaces", other), log)
    await tenant.install(
        [namespace(other), config_map("log", other)], installNamespace=other, deletionPolicy="KeepCRDs"
    )
    await at.until(READY)
    await permit(at, tenant, rule("namespaces", other, without="delete"), log)
    await at.read(CLUSTER_ROLES)
    await at.remove()
    raw = await at.until(says("Ready", "False", "Removing", "lacks permissions to remove what is installed"))
    assert missing(raw) == [("delete", "namespaces", other)]
    assert await at.find(CONFIG_MAPS, "log", other) is not None, "nothing is deleted before"
    await permit(at, tenant, rule("namespaces", other), log)
    await at.until(gone)
    await at.when(NAMESPACES, other, "", gone)
