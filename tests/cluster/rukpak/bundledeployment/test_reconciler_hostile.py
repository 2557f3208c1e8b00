"""BundleDeployments when something stands against them: damaged content, admission that forbids, others in the Namespace."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from devcluster.services import free_address
from olmkit.admission.ca_bundle import WEBHOOK_CONFIGURATIONS
from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import ABANDON_ANNOTATION
from olmkit.api.ownership import manager_name
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.namespace_info import member_label
from rukpak.bundledeployment.cluster.rest_mapper import NAMESPACES
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    READY,
    Harness,
    Object,
    cluster_role,
    config_map,
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
from tests.cluster.rukpak.policies import BINDINGS, create_policy, until_denied
from tests.conditions import triple
from tests.integration.disk import fill_up, small_disk

GROUP = "admissionregistration.k8s.io"
CREATED_OR_DRY_RUN = "request.operation == 'CREATE' || request.dryRun"
ABANDON = {"metadata": {"annotations": {ABANDON_ANNOTATION: "true"}}}


class Counting(Client):
    """Counts applies of each path, and dry runs of them."""

    applied: dict[str, int]
    dry_run: dict[str, int]

    async def request(self, method: str, path: str, **options: Any) -> Object:
        query = options.get("query") or {}
        if method == "PATCH" and "fieldManager" in query:
            counts = self.dry_run if query.get("dryRun") else self.applied
            counts[path] = counts.get(path, 0) + 1
        return await super().request(method, path, **options)


async def test_each_object_is_applied_once_and_dry_run_only_if_it_is_changed(at: Harness, tmp_path: Path) -> None:
    Counting.applied, Counting.dry_run = {}, {}
    async with rukpak(at.cluster, tmp_path, Counting):
        objects = (namespace(at.name), definition(at.group), deployment("engine", at.name))
        await at.install(at.push(plain(*objects, *(config_map(name, at.name, v="1") for name in "ab"))))
        await at.until(READY)
        counts = {path: count for path, count in Counting.applied.items() if at.name in path and "rukpak" not in path}
        assert len(counts) == 5, counts
        assert set(counts.values()) == {1}, counts
        assert Counting.dry_run == {}
        await at.install(at.push(plain(*objects, *(config_map(name, at.name, v="2") for name in "ab")), "v2"))
        await at.until(READY)
    assert Counting.dry_run == {CONFIG_MAPS.path(at.name, name): 1 for name in "ab"}


async def test_rules_that_kubernetes_aggregates_are_left_to_it(at: Harness, tmp_path: Path) -> None:
    """Of a ClusterRole with an aggregationRule Kubernetes' own controller writes the rules; ours is applied once."""
    rule = {"apiGroups": [at.group], "resources": ["boats"], "verbs": ["get"]}
    part, whole = cluster_role(f"{at.name}-part", rules=[rule]), cluster_role(at.name, rules=[])
    part["metadata"]["labels"] = {"harbour": at.name}
    whole["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"harbour": at.name}}]}
    Counting.applied, Counting.dry_run = {}, {}
    async with rukpak(at.cluster, tmp_path, Counting):
        await at.install(at.push(plain(part, whole)))
        await at.until(READY)
        await at.when(CLUSTER_ROLES, at.name, "", lambda raw: (raw or {}).get("rules") == [rule])
        part["rules"] = [rule, {**rule, "resources": ["rafts"]}]
        await at.install(at.push(plain(part, whole), "v2"))
        await at.when(CLUSTER_ROLES, at.name, "", lambda raw: len((raw or {}).get("rules") or ()) == 2)
        await at.until(READY)
    found = await at.find(CLUSTER_ROLES, at.name)
    assert found is not None
    owners = {entry["manager"] for entry in found["metadata"]["managedFields"] if "f:rules" in entry["fieldsV1"]}
    assert manager_name(at.name) not in owners
    assert Counting.applied[CLUSTER_ROLES.path(name=at.name)] == 1


async def test_content_that_was_damaged_is_unpacked_again_when_it_is_needed(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path):
        ref = at.push(plain(namespace(at.name), config_map("log", at.name, a="b")))
        await at.install(ref)
        await at.until(READY)
        await asyncio.to_thread(_damage, tmp_path, ref)
        old = (await at.client.get(CONFIG_MAPS, "log", at.name))["metadata"]["uid"]
        await at.client.delete(CONFIG_MAPS, "log", at.name)
        await at.when(CONFIG_MAPS, "log", at.name, lambda raw: raw is not None and raw["metadata"]["uid"] != old)
        await at.until(READY)


def _damage(cache: Path, ref: str) -> None:
    """Of this bundle alone: of other tests there may be content too, which goes at any moment with its Bundle."""
    directory = ref.partition("@")[2].replace(":", "-")
    (cache / "bundles" / directory / "content" / "bundle.json").write_bytes(b'{"objects": 7}')


async def test_a_namespace_that_a_bundle_writes_into_does_not_go_with_the_one_that_made_it(
    at: Harness, running: Client
) -> None:
    shared, second = f"{at.name}-shared", f"{at.name}-b"
    await at.install(at.push(plain(config_map("second", shared)), "b"), second)
    raw = await at.until(says("Reconciling", "True", "Retrying", f"{shared}; create them first"), second)
    assert triple(raw, "Installed")[0] == "Unknown"
    await at.install(at.push(plain(namespace(shared), config_map("first", shared)), "a"))
    await at.until(READY)
    raw = await at.until(READY, second)
    space = await at.find(NAMESPACES, shared)
    assert space is not None
    assert member_label(raw["metadata"]["uid"]) in space["metadata"]["labels"]
    await at.remove()
    await at.until(gone)
    assert await at.find(CONFIG_MAPS, "second", shared) is not None
    await at.remove(second)
    await at.until(gone, second)
    await at.when(NAMESPACES, shared, "", gone)


async def test_what_admission_forbids_to_delete_is_named_and_can_be_left(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("held", at.name), config_map("log", at.name))))
    await at.until(READY)
    expression = f"oldObject.metadata.name != 'held' || oldObject.metadata.namespace != '{at.name}'"
    await create_policy(at, "DELETE", expression, "it is held")
    await until_denied(at, "it is held", "DELETE", CONFIG_MAPS.path(at.name, "held"))
    await at.remove()
    raw = await at.until(says("Ready", "False", "Removing", "it is held"))
    text = triple(raw, "Ready")[2]
    assert f"does not delete ConfigMap {at.name}/held" in text
    assert "abandon" not in text, "nobody is advised to leave it behind at once"
    await at.client.patch(bundledeployments.KIND, at.name, ABANDON)
    await at.until(gone)
    assert await at.find(CONFIG_MAPS, "log", at.name) is None
    await at.client.delete(BINDINGS, at.name)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("", id="nobody has made the Service"),
        pytest.param("..", id="no Service can be there, and no path of the API server leads there"),
    ],
)
async def test_a_webhook_without_endpoints_does_not_hold_the_custom_resources(
    place: str, at: Harness, running: Client
) -> None:
    boats = kind_of(at.group)
    webhook = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": at.name},
        "webhooks": [
            {
                "name": f"guard.{at.group}",
                "rules": [
                    {"apiGroups": [at.group], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["*"]}
                ],
                "clientConfig": {"service": {"namespace": place or at.name, "name": "nobody"}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 1,
            }
        ],
    }
    await at.install(at.push(plain(namespace(at.name), definition(at.group), webhook)))
    await at.until(READY)
    await at.create(boats, thing(boats, "dinghy", at.name))
    await at.remove()
    await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None


async def test_what_cannot_be_repaired_is_not_ready(at: Harness, running: Client) -> None:
    """The deleted object cannot be created, because nobody answers for a webhook of others."""
    await at.install(at.push(plain(namespace(at.name), config_map("held", at.name), config_map("log", at.name))))
    await at.until(READY)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "DELETE"], "resources": ["configmaps"]}
    webhook = {
        "name": f"guard.{at.group}",
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": at.name}},
        "matchConditions": [{"name": "is-created-or-asked-about", "expression": CREATED_OR_DRY_RUN}],
        "clientConfig": {"url": f"https://{free_address()}/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    body: Object = {"apiVersion": f"{GROUP}/v1", "kind": WEBHOOK_CONFIGURATIONS.kind, "metadata": {"name": at.name}}
    await at.create(WEBHOOK_CONFIGURATIONS, {**body, "webhooks": [webhook]})
    await until_denied(at, "failed calling webhook", "DELETE", CONFIG_MAPS.path(at.name, "held"))
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    raw = await at.until(says("Ready", "False", "Retrying", "failed calling webhook"))
    assert triple(raw, "Ready")[2].startswith("cannot repair: ")
    await at.client.delete(WEBHOOK_CONFIGURATIONS, at.name)
    await at.until(READY)
    assert await at.find(CONFIG_MAPS, "log", at.name) is not None


async def test_a_full_disk_is_reported_and_what_is_installed_stays(at: Harness, tmp_path: Path) -> None:
    log = config_map("log", at.name)
    with small_disk(tmp_path / "disk") as disk:
        async with rukpak(at.cluster, disk):
            await at.install(at.push(plain(namespace(at.name), log)))
            await at.until(READY)
            fill_up(disk)
            await at.install(at.push(plain(namespace(at.name), log, config_map("more", at.name)), "v2"))
            text = "is full: free some space or give the cache a larger volume"
            raw = await at.until(says("HasValidBundle", "False", "UnpackFailed", text))
            bundles = [one for (_, name), one in at.bundles.objects.items() if name.startswith(at.name)]
            (bundle,) = (one for one in bundles if triple(one, "Unpacked")[0] == "False")
            assert text in triple(bundle, "Unpacked")[2]
            assert triple(raw, "Installed")[0] == "True"
            assert await at.find(CONFIG_MAPS, "log", at.name) is not None
