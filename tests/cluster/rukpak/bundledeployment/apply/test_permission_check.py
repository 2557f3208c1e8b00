"""What the account of a BundleDeployment lacks, as the API server says it before anything is applied."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.processes import REPOSITORY
from olmctl.bundle.permissions import permissions
from olmctl.commands import CommandError
from olmctl.questions.errors import QuestionError
from olmkit.api import bundledeployments
from olmkit.api.meta import Kind
from olmkit.api.provisioner_classes import REGISTRY
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    READY,
    Harness,
    cluster_role,
    config_map,
    namespace,
    rukpak,
    says,
)
from tests.cluster.rukpak.tenants import ROLE_BINDINGS, ROLES, Tenant

Object = dict[str, Any]
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
LACKING = says("Stalled", "True", "Blocked", "lacks permissions to install the bundle, so that nothing is applied")


def role(name: str, inside: str, *rules: Object) -> Object:
    head = {"apiVersion": ROLES.api_version, "kind": "Role", "metadata": {"name": name, "namespace": inside}}
    return {**head, "rules": list(rules)}


def role_binding(name: str, inside: str, kind: str, to: str) -> Object:
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": inside}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to}
    metadata = {"name": name, "namespace": inside}
    head = {"apiVersion": ROLE_BINDINGS.api_version, "kind": "RoleBinding", "metadata": metadata}
    return {**head, "subjects": [subject], "roleRef": reference}


def missing(raw: Object) -> list[Object]:
    return list(raw["status"]["missingPermissions"]["rules"])


def roles_of(rules: list[Object], name: str) -> list[Object]:
    """Roles of rules as a person pastes them."""
    made: dict[str, Object] = {}
    for each in rules:
        inside = each.get("namespace", "")
        metadata = {"name": name, **({"namespace": inside} if inside else {})}
        kind = "Role" if inside else "ClusterRole"
        body = {"apiVersion": ROLES.api_version, "kind": kind, "metadata": metadata, "rules": []}
        made.setdefault(inside, body)["rules"].append({key: each[key] for key in each if key != "namespace"})
    return list(made.values())


async def grant(tenant: Tenant, rules: list[Object], name: str) -> None:
    """Give the account these rules."""
    for body in roles_of(rules, name):
        inside = body["metadata"].get("namespace", "")
        await tenant.at.create(ROLES if inside else CLUSTER_ROLES, body)
        await tenant.bind(name, inside, kind=body["kind"])


async def test_all_missing_rules_are_named_at_once_and_are_all_that_is_needed(
    at: Harness, tenant: Tenant, running: Client
) -> None:
    other = f"{at.name}-new"
    objects = (
        namespace(other),
        config_map("log", tenant.namespace),
        config_map("log", other),
        cluster_role(at.name, rules=[PODS]),
        role("inner", tenant.namespace, {**PODS, "verbs": ["watch"]}),
        role_binding("inner", tenant.namespace, "Role", "inner"),
    )
    await tenant.install(objects)
    raw = await at.until(LACKING)
    assert raw["status"]["missingPermissions"]["serviceAccount"] == f"{tenant.namespace}/installer"
    assert await at.find(NAMESPACES, other) is None, "nothing is half applied"
    assert await at.find(CONFIG_MAPS, "log", tenant.namespace) is None
    await grant(tenant, missing(raw), f"{at.name}-pasted")
    raw = await at.until(READY)
    assert "missingPermissions" not in raw["status"]
    await at.remove()
    await at.until(lambda raw: raw is None)
    assert await at.find(NAMESPACES, other) is None, "what was pasted permits the deletion too"


async def test_the_rules_of_a_role_are_missing_one_by_one(at: Harness, tenant: Tenant, running: Client) -> None:
    await tenant.bind("admin", tenant.namespace)
    wide = {"apiGroups": ["", "apps"], "resources": ["pods", "nodes"], "verbs": ["get", "list"]}
    await tenant.install((role("wide", tenant.namespace, wide),))
    raw = await at.until(LACKING)
    # admin may get and list pods in its namespace; of the group apps it may neither, and nodes are of nobody.
    assert missing(raw) == [
        {"namespace": tenant.namespace, "apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]},
        {
            "namespace": tenant.namespace,
            "apiGroups": ["apps"],
            "resources": ["nodes", "pods"],
            "verbs": ["get", "list"],
        },
    ]
    assert await at.find(ROLES, "wide", tenant.namespace) is None
    escalate = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate"]}
    await grant(tenant, [{"namespace": tenant.namespace, **escalate}], f"{at.name}-escalate")
    await at.until(READY)


async def test_a_binding_of_a_role_outside_of_the_bundle(at: Harness, tenant: Tenant, running: Client) -> None:
    await tenant.bind("admin", tenant.namespace)
    bindings = (
        role_binding("low", tenant.namespace, "ClusterRole", "view"),
        role_binding("high", tenant.namespace, "ClusterRole", "cluster-admin"),
        role_binding("none", tenant.namespace, "ClusterRole", f"{at.name}-absent"),
    )
    await tenant.install(bindings)
    rules = missing(await at.until(LACKING))
    assert {"namespace": tenant.namespace, "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]} in rules
    bind = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind"]}
    assert {"namespace": tenant.namespace, **bind, "resourceNames": [f"{at.name}-absent"]} in rules
    assert "view" not in yaml.safe_dump(rules)
    assert await at.find(ROLE_BINDINGS, "low", tenant.namespace) is None
    assert await at.find(ROLE_BINDINGS, "high", tenant.namespace) is None


async def test_rights_by_the_name_of_an_object_suffice(at: Harness, tenant: Tenant, running: Client) -> None:
    named = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["log"]}
    verbs = ["create", "delete", "get", "patch"]
    read = {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [tenant.namespace], "verbs": ["get"]}
    rules = [{**each, "namespace": tenant.namespace} for each in ({**named, "verbs": verbs}, read)]
    await grant(tenant, rules, f"{at.name}-named")
    await tenant.install((config_map("log", tenant.namespace), config_map("other", tenant.namespace)))
    raw = await at.until(LACKING)
    assert [each["resourceNames"] for each in missing(raw)] == [["other"]]
    await tenant.install((config_map("log", tenant.namespace),), "v2")
    await at.until(READY)


async def test_a_right_that_is_taken_away_later_is_reported(at: Harness, tenant: Tenant, tmp_path: Path) -> None:
    await tenant.bind("admin", tenant.namespace)
    async with rukpak(at.cluster, tmp_path):
        await tenant.install((config_map("log", tenant.namespace, a="1"),))
        await at.until(READY)
        await at.client.delete(ROLE_BINDINGS, f"{at.name}-admin", tenant.namespace)
        await at.client.patch(CONFIG_MAPS, "log", {"data": {"a": "2"}}, tenant.namespace)
        raw = await at.until(lambda raw: LACKING(raw) and "missingPermissions" in (raw or {})["status"])
        assert {"configmaps", "namespaces"} == {name for each in missing(raw) for name in each["resources"]}
        assert says("Installed", "True")(raw)
        before = raw["metadata"]["resourceVersion"]
        await tenant.bind("admin", tenant.namespace)
        raw = await at.until(READY)
        assert before != raw["metadata"]["resourceVersion"]
        assert (await at.client.get(CONFIG_MAPS, "log", tenant.namespace))["data"] == {"a": "1"}


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
async def test_an_upgrade_that_needs_more_leaves_what_runs(
    at: Harness, tenant: Tenant, running: Client, kind: str
) -> None:
    await tenant.bind("admin", tenant.namespace)
    await tenant.install((config_map("log", tenant.namespace, a="1"),))
    await at.until(READY)
    more = role("more", tenant.namespace, {**PODS, "verbs": ["*"]})
    more = more if kind == "Role" else cluster_role(at.name, rules=[PODS])
    await tenant.install((config_map("log", tenant.namespace, a="2"), more), "v2")
    raw = await at.until(LACKING)
    assert says("Installed", "True")(raw)
    assert (await at.client.get(CONFIG_MAPS, "log", tenant.namespace))["data"] == {"a": "1"}


async def test_the_account_stays_that_of_spec_when_it_is_replaced(at: Harness, tenant: Tenant, running: Client) -> None:
    await tenant.bind("admin", tenant.namespace)
    await tenant.install((config_map("log", tenant.namespace, a="1"),))
    await at.until(READY)
    other = {"spec": {"serviceAccount": {"name": "default", "namespace": tenant.namespace}}}
    await at.client.patch(bundledeployments.KIND, at.name, other)
    await at.client.patch(CONFIG_MAPS, "log", {"data": {"a": "2"}}, tenant.namespace)
    raw = await at.until(lambda raw: LACKING(raw) and "missingPermissions" in (raw or {})["status"])
    assert raw["status"]["missingPermissions"]["serviceAccount"] == f"{tenant.namespace}/default"


HELLO = REPOSITORY / "config" / "samples" / "bundles" / "hello-operator"
NO_IMAGE_OPTIONS: dict[str, Any] = {"registries_conf": None, "pull_cas_dir": None, "allow_source_cidr": ()}


async def test_what_olm_prints_before_is_enough_for_a_registry_bundle(
    at: Harness, tenant: Tenant, running: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        path.relative_to(HELLO / "0.1.0").as_posix(): path.read_bytes() for path in (HELLO / "0.1.0").rglob("*.yaml")
    }
    await tenant.install_files(files, provisioner=REGISTRY)
    raw = await at.until(LACKING)
    assert await at.find(CRDS, "greetings.hello.example.com") is None
    account = f"{tenant.namespace}/installer"
    options: dict[str, Any] = {"namespace": tenant.namespace, "exists": True, **NO_IMAGE_OPTIONS}
    assert permissions(str(HELLO / "0.1.0"), service_account=account, output="yaml", **options) == 0
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert {each["kind"] for each in printed} == {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    for each in printed:
        each["metadata"]["name"] = f"{at.name}-printed"
        if "roleRef" in each:
            each["roleRef"]["name"] = f"{at.name}-printed"
        kind = Kind(
            "rbac.authorization.k8s.io", "v1", each["kind"], f"{each['kind'].lower()}s", "namespace" in each["metadata"]
        )
        await at.create(kind, each)
    raw = await at.until(says("Installed", "True"))
    assert "missingPermissions" not in raw["status"]
    await at.remove()
    await at.until(lambda raw: raw is None)
    assert await at.find(CRDS, "greetings.hello.example.com") is None


def test_a_json_list_has_the_roles_without_bindings(capsys: pytest.CaptureFixture[str]) -> None:
    assert permissions(str(HELLO / "0.1.0"), None, None, "json", exists=False, **NO_IMAGE_OPTIONS) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    assert [each["kind"] for each in found["items"]] == ["ClusterRole"], (
        "of a Namespace that does not exist nobody has a Role"
    )


async def test_what_cannot_be_rendered_here_is_printed_from_the_status(
    at: Harness, tenant: Tenant, running: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    await tenant.bind("view", tenant.namespace)
    await tenant.install((config_map("log", tenant.namespace),))
    await at.until(LACKING)
    options: dict[str, Any] = {**NO_IMAGE_OPTIONS, "kubeconfig": str(at.cluster.kubeconfig), "system_namespace": "none"}
    # Without the registries.conf of the cluster, its registry is not asked over plain HTTP.
    status = await asyncio.to_thread(permissions, at.name, None, None, "yaml", exists=False, **options)
    printed = capsys.readouterr()
    assert (status, "these are only the permissions that the account lacks" in printed.err) == (0, True)
    role, binding = yaml.safe_load_all(printed.out)
    verbs = ["create", "delete", "patch"]
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["log"], "verbs": verbs}
    assert (role["kind"], role["rules"], binding["kind"]) == ("Role", [rule], "RoleBinding")
    for each, kind in ((role, ROLES), (binding, ROLE_BINDINGS)):
        await at.create(kind, each)
    await at.until(READY)
    with pytest.raises(QuestionError, match="it names nothing now"):
        await asyncio.to_thread(permissions, at.name, None, None, "yaml", exists=False, **options)


def test_a_chart_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("name: shop")
    with pytest.raises(CommandError, match="is a Helm chart, which is rendered on a cluster"):
        permissions(str(tmp_path), None, None, "yaml", exists=False, **NO_IMAGE_OPTIONS)


async def test_the_rules_of_a_role_of_others_are_not_named(at: Harness, tenant: Tenant, running: Client) -> None:
    other, theirs = f"{at.name}-other", {"apiGroups": [""], "resources": ["hatches"], "verbs": ["get"]}
    await at.create(NAMESPACES, namespace(other))
    await at.create(ROLES, role("theirs", other, theirs))
    await tenant.install((role_binding("mine", other, "Role", "theirs"),))
    raw = await at.until(LACKING)
    assert "hatches" not in yaml.safe_dump(raw["status"])
    assert ["theirs"] in [each.get("resourceNames") for each in missing(raw) if each["verbs"] == ["bind"]]
    read = {"namespace": other, "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["get"]}
    await grant(tenant, [read], f"{at.name}-read")
    await at.until(lambda raw: {"namespace": other, **theirs} in (missing(raw) if raw else ()))
