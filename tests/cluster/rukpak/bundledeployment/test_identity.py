"""A BundleDeployment with a ServiceAccount on the real API server: who sends which request."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import MEMBER_LABEL_PREFIX
from olmkit.runtime.client import Client
from olmkit.runtime.event_recorder import EVENT
from olmkit.runtime.source_secrets import SECRETS
from rukpak.bundledeployment.cluster.account_watch import SERVICE_ACCOUNTS
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.bundledeployment.observe import PODS_READ_AFTER
from tests.cluster.proxy import run_as
from tests.cluster.recording_proxy import RecordingProxy
from tests.cluster.rukpak import boats
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    READY,
    Harness,
    cluster_role,
    config_map,
    data,
    definition,
    deployment,
    gone,
    kind_of,
    namespace,
    plain,
    rukpak,
    says,
    thing,
)
from tests.cluster.rukpak.tenants import OWN, Tenant

Object = dict[str, Any]


@contextlib.asynccontextmanager
async def recorded(at: Harness, directory: Path) -> AsyncIterator[RecordingProxy]:
    """rukpak runs, and all of its requests are recorded."""
    async with (
        run_as(RecordingProxy, at.cluster.kubeconfig, directory) as proxy,
        rukpak(at.cluster, directory / "cache", kubeconfig=str(proxy.kubeconfig)),
    ):
        yield proxy


def strangers(proxy: RecordingProxy, user: str) -> list[str]:
    """The writes that neither the account makes nor rukpak may make as itself."""
    lines = {f"{each.method} {each.path}" for each in proxy.writes if each.user != user}
    return sorted(line for line in lines if not OWN.fullmatch(line))


async def test_everything_of_the_bundle_is_written_as_the_account(at: Harness, tenant: Tenant, tmp_path: Path) -> None:
    await tenant.bind("cluster-admin")
    other, crd, boat = f"{at.name}-new", definition(at.group), kind_of(at.group)
    role = cluster_role(at.name, rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
    first = (
        namespace(other),
        crd,
        role,
        config_map("old", other),
        config_map("log", other, a="1"),
        thing(boat, "x", other),
    )
    async with recorded(at, tmp_path) as proxy:
        await tenant.install(first)
        await at.until(READY)
        await at.client.patch(CONFIG_MAPS, "log", {"data": {"a": "2"}}, other)
        await at.when(CONFIG_MAPS, "log", other, lambda raw: data(raw).get("a") == "1")
        await tenant.install((namespace(other), config_map("log", other, a="3")), "v2")
        await at.when(CONFIG_MAPS, "old", other, gone)
        await at.until(READY)
        await at.remove()
        await at.until(gone)
        assert strangers(proxy, tenant.user) == []
        as_account = [each for each in proxy.requests if each.user]
        assert {each.user for each in as_account} == {tenant.user}
        for each in as_account:
            assert each.impersonation == {
                "impersonate-user": tenant.user,
                "impersonate-extra-core.rukpak.io%2fimpersonated-by": "rukpak",
            }
        written = {f"{each.method} {each.path}" for each in proxy.writes if each.user}
    assert {
        f"PATCH /api/v1/namespaces/{other}",
        f"DELETE /api/v1/namespaces/{other}",
        f"PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.{at.group}",
        f"PATCH /apis/rbac.authorization.k8s.io/v1/clusterroles/{at.name}",
        f"DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/{at.name}",
        f"DELETE /api/v1/namespaces/{other}/configmaps/old",
        f"PATCH /apis/{at.group}/v1/namespaces/{other}/boats/x",
    } <= written


async def test_serving_certificates_are_made_and_rotated_as_the_account(
    at: Harness, tenant: Tenant, tmp_path: Path
) -> None:
    await tenant.bind("cluster-admin")
    async with recorded(at, tmp_path) as proxy:
        account = {"name": "installer", "namespace": tenant.namespace}
        await boats.install(at, boats.operator(at), serviceAccount=account)
        await at.until(says("Installed", "Unknown", text=f"no pod of Deployment {at.name} is ready"))
        secret = f"/api/v1/namespaces/{at.name}/secrets/{boats.secret_name(at)}"
        assert {each.user for each in proxy.requests if each.path == secret} == {tenant.user}
        await at.client.patch(SECRETS, boats.secret_name(at), {"data": {"tls.crt": "eA=="}}, at.name)
        await at.when(SECRETS, boats.secret_name(at), at.name, lambda raw: data(raw).get("tls.crt") != "eA==")
        await at.remove()
        await at.until(gone)
        assert strangers(proxy, tenant.user) == []
        assert {each.user for each in proxy.requests if each.path == secret} == {tenant.user}
        assert f"DELETE {secret}" in {f"{each.method} {each.path}" for each in proxy.writes}


async def test_a_namespace_of_others_gets_the_label_of_a_member_and_nothing_else(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    await tenant.bind("admin", tenant.namespace)
    await tenant.install((namespace(tenant.namespace, team="blue"), config_map("log", tenant.namespace)))
    raw = await at.until(READY)
    found = await at.client.get(NAMESPACES, tenant.namespace)
    label = f"{MEMBER_LABEL_PREFIX}{raw['metadata']['uid']}"
    assert found["metadata"]["labels"].get(label) == "true"
    assert "team" not in found["metadata"]["labels"]
    assert f"Namespace {tenant.namespace} keeps no team; the bundle asks for blue" in says_message(raw)
    await at.remove()
    await at.until(gone)
    assert label not in (await at.client.get(NAMESPACES, tenant.namespace))["metadata"]["labels"]
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None


def says_message(raw: Object) -> str:
    return str(next(one["message"] for one in raw["status"]["conditions"] if one["type"] == "Ready"))


async def test_an_account_that_does_not_exist_is_waited_for_before_and_after_the_installation(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    await tenant.bind("admin", tenant.namespace)
    await at.client.delete(SERVICE_ACCOUNTS, "installer", tenant.namespace)
    missing = f"ServiceAccount {tenant.namespace}/installer does not exist"
    await tenant.install((config_map("log", tenant.namespace),))
    await at.until(says("Reconciling", "True", "WaitingForServiceAccount", missing))
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None
    await tenant.create_account()
    await at.until(READY)
    await at.client.delete(SERVICE_ACCOUNTS, "installer", tenant.namespace)
    await at.until(says("Ready", "False", "WaitingForServiceAccount", missing))
    await at.remove()
    await at.until(says("Ready", "False", "Removing", "nothing is deleted: create it again"))
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is not None
    await tenant.create_account()
    await at.until(gone)
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None


async def test_what_a_deleted_account_installed_can_be_left_behind(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    await tenant.bind("admin", tenant.namespace)
    await tenant.install((config_map("log", tenant.namespace),))
    await at.until(READY)
    await at.client.delete(SERVICE_ACCOUNTS, "installer", tenant.namespace)
    await at.remove()
    await at.until(says("Ready", "False", "Removing", f"kubectl annotate bundledeployment {at.name}"))
    abandon = {"metadata": {"annotations": {bundledeployments.ABANDON_ANNOTATION: "true"}}}
    await at.client.patch(bundledeployments.KIND, at.name, abandon)
    await at.until(gone)
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is not None


@pytest.mark.parametrize("suite_namespace", ["olm-suite-system", "olm-suite-keys"])
async def test_an_account_of_the_suite_is_refused(
    at: Harness, tenant: Tenant, running: Client, suite_namespace: str
) -> None:
    account = {"name": "rukpak", "namespace": suite_namespace}
    await tenant.install((config_map("log", tenant.namespace),), serviceAccount=account)
    await at.until(says("Stalled", "True", "Blocked", "is in a namespace of olm-suite"))


async def test_nothing_is_installed_or_deleted_without_an_account_where_one_is_required(
    at: Harness, tenant: Tenant, tmp_path: Path
) -> None:
    await tenant.bind("admin", tenant.namespace)
    async with rukpak(at.cluster, tmp_path, require_service_account=True):
        ref = at.push(plain(config_map("log", tenant.namespace)))
        await at.install(ref)
        await at.until(says("Stalled", "True", "Blocked", "spec.serviceAccount is required"))
        assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None
        await tenant.install((config_map("log", tenant.namespace),))
        await at.until(READY)
        removal = {"spec": {"serviceAccount": None}}
        await at.client.patch(bundledeployments.KIND, at.name, removal)
        await at.until(says("Ready", "False", "Blocked", "not maintained: spec.serviceAccount is required"))
        await at.remove()
        await at.until(says("Ready", "False", "Removing", "spec.serviceAccount is required"))
        assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is not None
        account = {"name": "installer", "namespace": tenant.namespace}
        await at.client.patch(bundledeployments.KIND, at.name, {"spec": {"serviceAccount": account}})
        await at.until(gone)
        assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None


async def test_pods_are_explained_to_an_account_that_may_list_them(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    verbs = ["get", "create", "patch", "delete"]
    rules = [{"apiGroups": ["", "apps"], "resources": ["deployments", "namespaces"], "verbs": verbs}]
    await at.create(CLUSTER_ROLES, cluster_role(f"{at.name}-blind", rules=rules))
    await tenant.bind(f"{at.name}-blind", tenant.namespace)
    engine = deployment("engine", tenant.namespace)
    engine["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "nowhere"}
    await tenant.install((engine,))
    await at.until(says("Ready", "False", "Progressing"))
    await asyncio.sleep(PODS_READ_AFTER.total_seconds() + 2)
    annotate = {"metadata": {"annotations": {"seen": "1"}}}
    await at.client.patch(bundledeployments.KIND, at.name, annotate)
    await asyncio.sleep(1)
    assert "Unschedulable" not in str(at.deployments.get(at.name))
    await tenant.bind("admin", tenant.namespace)
    await asyncio.sleep(1)  # no event says that the API server has read a binding
    await at.client.patch(bundledeployments.KIND, at.name, {"metadata": {"annotations": {"seen": "2"}}})
    await at.until(says("Ready", "False", "Progressing", "is not running: Unschedulable"))


async def test_custom_resources_of_others_are_read_after_the_account_has_all_permissions(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    """Else who may create a BundleDeployment could ask by the rules of a schema what is in them."""
    boats, strict = kind_of(at.group), definition(at.group)
    await at.create(CRDS, definition(at.group))
    await at.when(CRDS, f"boats.{at.group}", "", lambda raw: "Established" in str(raw))
    await at.create(boats, {**thing(boats, "hatch", tenant.namespace), "spec": {"size": 1}})
    for version in strict["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"] = {"type": "object", "required": ["oars"]}
    await tenant.install((strict,), adoptionPolicy="IfUnowned")
    raw = await at.until(says("Stalled", "True", "Blocked", "lacks permissions to install the bundle"))
    assert "custom resource" not in says_message(raw)
    await tenant.bind("cluster-admin")
    await at.until(says("Stalled", "True", "Blocked", "1 custom resource is not valid by the new schema"))


async def remove_without_permissions(at: Harness, tenant: Tenant) -> None:
    """Delete what is installed as an account whose permissions were taken away."""
    await tenant.bind("cluster-admin")
    await tenant.install((config_map("log", tenant.namespace), cluster_role(at.name, rules=[])))
    await at.until(READY)
    await at.client.delete(CLUSTER_ROLE_BINDINGS, f"{at.name}-cluster-admin")
    await asyncio.sleep(1)  # no event says that the API server has read a binding
    await at.remove()


async def test_a_deletion_names_all_missing_permissions_at_once_and_continues_with_them(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    await remove_without_permissions(at, tenant)
    raw = await at.until(says("Ready", "False", "Removing", "lacks permissions to remove what is installed"))
    found = {(*each["resources"], *each["resourceNames"], *each["verbs"]) for each in rules_of(raw)}
    assert found == {("clusterroles", at.name, "delete"), ("configmaps", "log", "delete")}
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is not None
    await tenant.bind("cluster-admin")
    await at.until(gone)
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None


def rules_of(raw: Object) -> list[Object]:
    return list(raw["status"]["missingPermissions"]["rules"])


async def test_what_the_account_may_not_remove_is_left_at_once_and_named(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    await remove_without_permissions(at, tenant)
    raw = await at.until(says("Ready", "False", "Removing", "core.rukpak.io/abandon=true leaves behind"))
    abandon = {"metadata": {"annotations": {bundledeployments.ABANDON_ANNOTATION: "true"}}}
    async with asyncio.timeout(8):  # three refused deletions take longer
        await at.client.patch(bundledeployments.KIND, at.name, abandon)
        await at.until(gone)
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is not None
    uid = raw["metadata"]["uid"]
    event = await at.when_any(EVENT, "default", lambda each: is_left_behind(each, uid))
    assert f"ConfigMap {tenant.namespace}/log" in event["message"]


def is_left_behind(event: Object, uid: str) -> bool:
    return bool(event["reason"] == "LeftBehind" and event["involvedObject"]["uid"] == uid)
