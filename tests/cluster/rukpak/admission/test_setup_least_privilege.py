"""rukpak with the permissions of config/least-privilege alone: what a tenant reaches through it, and what not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.processes import REPOSITORY
from olmctl.bundle.permissions import permissions
from olmkit.api import bundledeployments
from olmkit.api.impersonation import Account
from olmkit.api.label_policy import POLICIES, POLICY
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.errors import Forbidden
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.account_watch import SERVICE_ACCOUNTS
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.admission.conftest import Place
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    READY,
    cluster_role,
    config_map,
    namespace,
    says,
)
from tests.cluster.rukpak.tenants import ROLE_BINDINGS, Tenant

Object = dict[str, Any]
OVERLAY = REPOSITORY / "config" / "least-privilege"
HELLO = REPOSITORY / "config" / "samples" / "bundles" / "hello-operator" / "0.1.0"
RBAC = "rbac.authorization.k8s.io"
LACKING = "lacks permissions to install the bundle, so that nothing is applied"


def relocated(text: str, place: Place) -> str:
    """The manifests for the namespaces of the test, with names that go with it."""
    moved = text.replace("olm-suite-system", place.system).replace("olm-suite-keys", place.keys)
    return moved.replace("name: olm-suite-rukpak\n", f"name: {place.at.name}-rukpak\n").replace(
        "name: olm-suite-rukpak-", f"name: {place.at.name}-rukpak-"
    )


async def grant_overlay(place: Place) -> Path:
    """Give the permissions of the overlay to an account of the test; returns its kubeconfig."""
    at = place.at
    built = await asyncio.to_thread(at.cluster.kubectl, "kustomize", str(OVERLAY))
    documents = [each for each in yaml.safe_load_all(built) if each["apiVersion"].startswith(RBAC)]
    mine = [each for each in documents if each["metadata"]["name"].startswith("olm-suite-rukpak")]
    assert {each["kind"] for each in mine} == {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    head = {"apiVersion": "v1", "kind": "ServiceAccount"}
    await at.create(SERVICE_ACCOUNTS, {**head, "metadata": {"name": "rukpak", "namespace": place.system}})
    for each in yaml.safe_load_all(relocated(yaml.safe_dump_all(mine), place)):
        if "ClusterRole" in each["kind"] and "Binding" not in each["kind"]:  # the test's names of what it may write
            text = yaml.safe_dump(each["rules"]).replace(f"- {at.name}-rukpak\n", "- olm-suite-rukpak\n")
            each["rules"] = yaml.safe_load(text)
        plural = f"{each['kind'].lower()}s"
        await at.create(Kind(RBAC, "v1", each["kind"], plural, namespaced="namespace" in each["metadata"]), each)
    token = await asyncio.to_thread(at.cluster.kubectl, "create", "token", "rukpak", f"--namespace={place.system}")
    content = yaml.safe_load(await asyncio.to_thread(at.cluster.kubeconfig.read_text))
    content["users"][0]["user"] = {"token": token.strip()}
    file = place.directory / "rukpak.kubeconfig"
    await asyncio.to_thread(file.write_text, yaml.safe_dump(content))
    return file


@contextlib.asynccontextmanager
async def running_least(place: Place) -> AsyncIterator[Client]:
    file = await grant_overlay(place)
    options: dict[str, Any] = {"kubeconfig": str(file), "leader_elect": True, "require_service_account": True}
    async with place.rukpak(**options) as client:
        await place.configure()
        await place.answers()
        yield client


def test_the_overlay_sets_the_flag_and_takes_nothing_else_away() -> None:
    kustomization = yaml.safe_load((OVERLAY / "kustomization.yaml").read_text())
    assert "--require-service-account" in kustomization["patches"][1]["patch"]
    role = yaml.safe_load((OVERLAY / "cluster-role.yaml").read_text())
    assert not [rule for rule in role["rules"] if "*" in rule["verbs"]]
    wide = [rule for rule in role["rules"] if "*" in rule["resources"]]
    assert [rule["verbs"] for rule in wide] == [["get", "list", "watch"]]


async def test_an_operator_is_installed_changed_and_removed_with_the_permissions_of_its_account(
    place: Place, tenant: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    at = place.at
    async with running_least(place) as client:
        own = config_map("own", tenant.namespace)
        with pytest.raises(Forbidden):
            await client.create(CONFIG_MAPS, own)
        await at.when(POLICIES, POLICY, "", lambda found: found is not None)
        files = {path.relative_to(HELLO).as_posix(): path.read_bytes() for path in HELLO.rglob("*.yaml")}
        await tenant.install_files(files, provisioner=REGISTRY)
        await at.until(says("Stalled", "True", "Blocked", LACKING))
        options = _options(place)
        status = await asyncio.to_thread(permissions, at.name, None, None, "yaml", exists=False, **options)
        assert status == 0
        for each in yaml.safe_load_all(capsys.readouterr().out):
            plural = f"{each['kind'].lower()}s"
            await at.create(Kind(RBAC, "v1", each["kind"], plural, namespaced="namespace" in each["metadata"]), each)
        await at.until(says("Installed", "True"))
        assert await at.find(CRDS, "greetings.hello.example.com") is not None
        await at.remove()
        await at.until(lambda raw: raw is None)
        assert await at.find(CRDS, "greetings.hello.example.com") is None


def _options(place: Place) -> dict[str, Any]:
    """The options of `olm bundle permissions NAME` on the cluster of the test."""
    cluster = place.at.cluster
    return {
        "pull_cas_dir": None,
        "allow_source_cidr": (),
        "registries_conf": cluster.registries_conf,
        "kubeconfig": str(cluster.kubeconfig),
        "system_namespace": place.system,
    }


def binding(name: str, inside: str, kind: str, to: str) -> Object:
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": inside}
    head = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": name, "namespace": inside}}
    return {**head, "subjects": [subject], "roleRef": {"apiGroup": RBAC, "kind": kind, "name": to}}


Attack = Callable[[Tenant, Place], list[Object]]
ATTACKS: dict[str, tuple[Attack, str]] = {
    "a ClusterRole": (
        lambda tenant, _: [
            cluster_role(tenant.at.name, rules=[{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
        ],
        LACKING,
    ),
    "an object in another namespace": (lambda _, __: [config_map("evil", "default")], LACKING),
    "an object in kube-system": (lambda _, __: [config_map("evil", "kube-system")], LACKING),
    "an object in the namespace of the suite": (
        lambda _, place: [config_map("evil", place.system)],
        "is in the suite's own namespace",
    ),
    "a binding to cluster-admin": (
        lambda tenant, _: [binding("evil", tenant.namespace, "ClusterRole", "cluster-admin")],
        LACKING,
    ),
    "a Namespace": (lambda tenant, _: [namespace(f"{tenant.at.name}-evil")], LACKING),
    "a webhook for everything": (
        lambda tenant, _: [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": tenant.at.name},
                "webhooks": [],
            }
        ],
        LACKING,
    ),
}


async def test_a_tenant_reaches_nothing_that_its_account_may_not_reach(place: Place, tenant: Tenant) -> None:
    at = place.at
    await tenant.bind("admin", tenant.namespace)
    good = config_map("good", tenant.namespace)
    async with running_least(place):
        for number, (attack, (objects, words)) in enumerate(ATTACKS.items()):
            await tenant.install((good, *objects(tenant, place)), f"v{number}")
            await at.until(says("Stalled", "True", text=words))
            assert await at.find(CONFIG_MAPS, "good", tenant.namespace) is None, f"{attack}: nothing is half applied"
            for inside in ("default", "kube-system", place.system):
                assert await at.find(CONFIG_MAPS, "evil", inside) is None, attack
            assert await at.find(CLUSTER_ROLES, at.name) is None, attack
            assert await at.find(ROLE_BINDINGS, "evil", tenant.namespace) is None, attack
            assert await at.find(NAMESPACES, f"{at.name}-evil") is None, attack
        await tenant.install((good,), "good")
        await at.until(READY)


async def test_rukpaks_own_account_and_no_account_install_nothing(place: Place, tenant: Tenant) -> None:
    at = place.at
    async with running_least(place):
        account = {"name": "rukpak", "namespace": place.system}
        await tenant.install((config_map("good", tenant.namespace),), serviceAccount=account)
        await at.until(says("Stalled", "True", "Blocked", "is in a namespace of olm-suite"))
        await at.client.patch(bundledeployments.KIND, at.name, {"spec": {"serviceAccount": None}})
        await at.until(says("Stalled", "True", "Blocked", "spec.serviceAccount is required"))
        assert await at.find(CONFIG_MAPS, "good", tenant.namespace) is None
        user = at.client.acting_as({"Impersonate-User": Account(tenant.namespace, "installer").user})
        with pytest.raises(Forbidden):
            await user.get(bundledeployments.KIND, at.name)
