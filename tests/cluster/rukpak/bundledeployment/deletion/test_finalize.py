"""BundleDeployments that are deleted, or lose what they were installed from."""

from __future__ import annotations

import asyncio
import urllib.request
from datetime import timedelta
from pathlib import Path

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployment_status import KEEP_ANNOTATION
from olmkit.api.bundledeployments import ABANDON_ANNOTATION, DELETION_HOLD_ANNOTATION, INVENTORY_ANNOTATION
from olmkit.runtime.client import Client
from olmkit.runtime.event_recorder import EVENT
from rukpak.bundledeployment import delays
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, NAMESPACES
from rukpak.bundledeployment.deletion import finalize
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    OWNER,
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
from tests.conditions import triple


async def test_custom_resources_go_before_their_operator_and_what_is_stuck_can_be_left(
    at: Harness, running: Client
) -> None:
    boats = kind_of(at.group)
    objects = (namespace(at.name), definition(at.group), deployment("engine", at.name))
    await at.install(at.push(plain(*objects)))
    await at.until(READY)
    await at.create(boats, thing(boats, "held", at.name, finalizers=["test.example.com/hold"]))
    await at.remove()
    named = f"removing custom resources: waiting for Boat.{at.group} {at.name}/held (finalizers: test.example.com/hold)"
    await at.until(says("Ready", "False", "Removing", named))
    assert (await at.find(DEPLOYMENTS, "engine", at.name) or {})["metadata"].get("deletionTimestamp") is None
    held = await at.find(boats, "held", at.name)
    assert held is not None
    assert held["metadata"]["deletionTimestamp"]
    patch = {"metadata": {"annotations": {ABANDON_ANNOTATION: "true"}}}
    await at.client.patch(bundledeployments.KIND, at.name, patch)
    await at.until(gone)
    assert await at.find(DEPLOYMENTS, "engine", at.name) is None
    await at.client.patch(boats, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.when(NAMESPACES, at.name, "", gone)


async def test_what_waits_for_the_deletion_of_a_namespace_goes_on_when_it_is_gone(
    at: Harness, running: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both the deletion and the next installation of the same name; no pass without an event is made before the test ends."""
    monkeypatch.setattr(delays, "MIN_POLL_DELAY", timedelta(hours=1))
    monkeypatch.setattr(finalize, "MAX_RECHECK_DELAY", timedelta(hours=1))
    ref = at.push(plain(namespace(at.name), config_map("log", at.name)))
    await at.install(ref)
    await at.until(READY)
    held = config_map("held", at.name)
    held["metadata"]["finalizers"] = ["test.example.com/hold"]
    await at.create(CONFIG_MAPS, held)
    await at.remove()
    await at.until(says("Ready", "False", "Removing", f"removing Namespace {at.name}"))
    await at.install(ref, f"{at.name}-next")
    await at.until(says("Ready", "False", text=f"waiting until it is gone: Namespace {at.name}"), f"{at.name}-next")
    await at.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.until(gone)
    await at.until(READY, f"{at.name}-next")


async def test_custom_resources_of_a_definition_that_only_has_the_label_stay(at: Harness, running: Client) -> None:
    rafts = kind_of(at.group, "Raft")
    await at.install(at.push(plain(namespace(at.name), definition(at.group))))
    raw = await at.until(READY)
    copied = definition(at.group, "Raft")
    copied["metadata"]["labels"] = {OWNER: raw["metadata"]["uid"]}
    await at.create(CRDS, copied)
    await at.when(CRDS, f"rafts.{at.group}", "", is_established)
    await at.create(rafts, thing(rafts, "mine", "default"))
    await at.remove()
    await at.until(gone)
    for kind, name, inside in ((rafts, "mine", "default"), (CRDS, f"rafts.{at.group}", "")):
        assert "deletionTimestamp" not in (await at.client.get(kind, name, inside or None))["metadata"]
    assert await at.find(CRDS, f"boats.{at.group}") is None


def is_established(raw: Object | None) -> bool:
    conditions = ((raw or {}).get("status") or {}).get("conditions") or ()
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)


async def hold(at: Harness, text: str | None) -> None:
    patch = {"metadata": {"annotations": {DELETION_HOLD_ANNOTATION: text}}}
    await at.client.patch(bundledeployments.KIND, at.name, patch)


async def test_a_held_deletion_deletes_nothing_until_the_annotation_is_removed(at: Harness, running: Client) -> None:
    boats = kind_of(at.group)
    await at.install(at.push(plain(namespace(at.name), definition(at.group), deployment("engine", at.name))))
    raw = await at.until(READY)
    await hold(at, "party needs it")
    await at.remove()
    await at.until(says("Ready", "False", "DeletionHeld", "deletion is held: party needs it"))
    await at.create(boats, thing(boats, "late", at.name))  # its operator runs
    await hold(at, "picnic needs it")
    raw = await at.until(says("Reconciling", "True", "DeletionHeld", "deletion is held: picnic needs it"))
    assert triple(raw, "Installed")[0] == "True"
    for kind, name, inside in ((DEPLOYMENTS, "engine", at.name), (boats, "late", at.name), (NAMESPACES, at.name, "")):
        assert "deletionTimestamp" not in (await at.find(kind, name, inside) or {})["metadata"]
    await hold(at, None)
    await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None
    assert await at.find(CRDS, f"boats.{at.group}") is None
    events = await at.client.list(EVENT, namespace="default")
    ours = [event for event in events[0] if event["involvedObject"].get("uid") == raw["metadata"]["uid"]]
    held = [event for event in ours if event["reason"] == "DeletionHeld"]
    assert [(event["type"], event["message"]) for event in held] == [("Normal", "deletion is held: party needs it")]


async def test_a_held_deletion_waits_when_the_garbage_collector_deletes_the_bundle_deployment(
    at: Harness, running: Client
) -> None:
    owner = await at.create(CLUSTER_ROLES, cluster_role(f"{at.name}-owner", rules=[]))
    reference = {
        "apiVersion": CLUSTER_ROLES.api_version,
        "kind": CLUSTER_ROLES.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    body = at.body(at.push(plain(namespace(at.name), config_map("log", at.name))))
    body["metadata"]["ownerReferences"] = [reference]
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(READY)
    await hold(at, "party needs it")
    path = CLUSTER_ROLES.path(None, owner["metadata"]["name"])
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
    await at.client.request("DELETE", path, body=options)
    await at.until(says("Ready", "False", "DeletionHeld", "deletion is held: party needs it"))
    assert "deletionTimestamp" not in (await at.find(CONFIG_MAPS, "log", at.name) or {})["metadata"]
    await hold(at, None)
    await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None
    await at.when(CLUSTER_ROLES, owner["metadata"]["name"], "", gone)


async def test_what_holds_a_namespace_of_ours_is_named(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
    await at.until(READY)
    body = config_map("held", at.name)
    body["metadata"]["finalizers"] = ["test.example.com/hold"]
    await at.create(CONFIG_MAPS, body)
    await at.remove()
    named = (
        f"removing Namespace {at.name}, which waits for ConfigMap {at.name}/held (finalizers: test.example.com/hold)"
    )
    await at.until(says("Ready", "False", "Removing", named))
    await at.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None


async def test_what_others_have_in_a_namespace_that_goes_is_named_before_it_goes(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), deployment("engine", at.name))))
    raw = await at.until(READY)
    await at.create(CONFIG_MAPS, config_map("notes", at.name))
    held = config_map("held", at.name)
    held["metadata"]["finalizers"] = ["test.example.com/hold"]
    await at.create(CONFIG_MAPS, held)
    await at.remove()
    named = (
        "objects that are not part of the bundle are deleted with their Namespace: "
        f"ConfigMap {at.name}/held, ConfigMap {at.name}/notes"
    )
    await at.until(says("Ready", "False", "Removing", named))
    raw = await at.until(says("Ready", "False", "Removing", f"held (finalizers: test.example.com/hold); {named}"))
    assert raw["status"]["announced"] == {"foreignObjects": True}
    event = await at.when_any(EVENT, "default", lambda event: event["message"] == named)
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "NamespaceNotEmpty", 1)
    assert event["involvedObject"]["uid"] == raw["metadata"]["uid"]
    await at.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None


async def test_a_namespace_that_somebody_wants_to_keep_stays(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
    await at.until(READY)
    await at.create(CONFIG_MAPS, config_map("notes", at.name))
    await at.client.patch(NAMESPACES, at.name, {"metadata": {"annotations": {KEEP_ANNOTATION: "true"}}})
    await at.remove()
    await at.until(gone)
    space = await at.find(NAMESPACES, at.name)
    assert space is not None
    assert "deletionTimestamp" not in space["metadata"]
    assert await at.find(CONFIG_MAPS, "notes", at.name) is not None


async def test_what_left_the_bundle_and_is_held_is_named_with_its_finalizer(at: Harness, running: Client) -> None:
    space = namespace(at.name)
    await at.install(at.push(plain(space, config_map("log", at.name), config_map("old", at.name))))
    await at.until(READY)
    await at.client.patch(CONFIG_MAPS, "old", {"metadata": {"finalizers": ["test.example.com/hold"]}}, at.name)
    await at.install(at.push(plain(space, config_map("log", at.name)), "v2"))
    held = f"waiting until it is gone: ConfigMap {at.name}/old (finalizers: test.example.com/hold)"
    await at.until(says("Reconciling", "True", "Removing", f"no longer in the bundle, {held}"))
    await at.client.patch(CONFIG_MAPS, "old", {"metadata": {"finalizers": None}}, at.name)
    await at.until(lambda raw: READY(raw) and triple(raw or {}, "Reconciling")[0] == "")

    await at.client.patch(CONFIG_MAPS, "log", {"metadata": {"finalizers": ["test.example.com/hold"]}}, at.name)
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    await at.until(says("Reconciling", "True", "Retrying", f"{at.name}/log (finalizers: test.example.com/hold)"))
    await at.client.patch(CONFIG_MAPS, "log", {"metadata": {"finalizers": None}}, at.name)
    await at.until(READY)


async def test_what_an_api_server_that_is_away_may_have_is_not_forgotten(at: Harness, tmp_path: Path) -> None:
    async with rukpak(at.cluster, tmp_path):
        await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
        await at.until(READY)
    service = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{at.group}"},
        "spec": {
            "group": at.group,
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "nothing"},
        },
    }
    made = await at.create(API_SERVICES, service)
    annotation = {INVENTORY_ANNOTATION: f"ConfigMap,Cup.{at.group}"}
    await at.client.patch(bundledeployments.KIND, at.name, {"metadata": {"annotations": annotation}})
    # A process that hears of the annotation before the APIService takes the kind for one that is not served: this one has both.
    async with rukpak(at.cluster, tmp_path):
        raw = await at.until(says("Reconciling", "True", "Retrying", f"nothing is removed: Cup.{at.group}"))
        assert triple(raw, "Ready")[0] == "True"
        await at.remove()
        await at.until(says("Ready", "False", "Removing", f"the API server does not answer for {at.group}"))
        assert await at.find(CONFIG_MAPS, "log", at.name) is not None
        await at.client.delete(API_SERVICES, made["metadata"]["name"])
        await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None


async def test_removal_needs_neither_content_nor_definitions(at: Harness, tmp_path: Path) -> None:
    boats = kind_of(at.group)
    objects = (namespace(at.name), definition(at.group), thing(boats, "dinghy", at.name), config_map("log", at.name))
    async with rukpak(at.cluster, tmp_path / "one"):
        await at.install(at.push(plain(*objects)))
        active = (await at.until(READY))["status"]["activeBundle"]
    await at.client.delete(CRDS, f"boats.{at.group}")
    await at.client.delete(bundles.KIND, active)
    await at.remove()
    async with rukpak(at.cluster, tmp_path / "two"):
        await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None


async def test_what_never_was_installed_is_let_go(at: Harness, running: Client) -> None:
    await at.install(f"{at.cluster.registry}/bundles/nothing:{at.name}")
    await at.until(says("HasValidBundle", "False", "UnpackFailed"))
    await at.remove()
    await at.until(gone)


async def test_installing_again_does_not_wait_for_the_garbage_collector(at: Harness, running: Client) -> None:
    ref = at.push(plain(namespace(at.name), config_map("log", at.name)))
    await at.install(ref)
    raw = await at.until(READY)
    bundle = raw["status"]["activeBundle"]
    await at.remove()
    await at.until(gone)
    assert await at.find(bundles.KIND, bundle) is None
    owner = {"kind": bundledeployments.KIND.kind, "name": at.name, "uid": raw["metadata"]["uid"], "controller": True}
    owner["apiVersion"] = f"{bundledeployments.KIND.group}/v0"  # the garbage collector does not know it, so it waits
    left = {"metadata": {"name": bundle, "ownerReferences": [owner]}, "spec": raw["spec"]["template"]["spec"]}
    await at.create(bundles.KIND, {"apiVersion": bundles.KIND.api_version, "kind": bundles.KIND.kind, **left})
    await at.install(ref)
    again = await at.until(READY)
    created = await at.find(bundles.KIND, bundle)
    assert created is not None
    assert [one["uid"] for one in created["metadata"]["ownerReferences"]] == [again["metadata"]["uid"]]


async def test_installed_and_content_nowhere_stays_installed(at: Harness, tmp_path: Path) -> None:
    """The image is gone from the registry too: only what runs is left."""
    async with rukpak(at.cluster, tmp_path / "one"):
        ref = at.push(plain(namespace(at.name), config_map("log", at.name)), "v1", f"bundles/{at.name}/gone")
        await at.install(ref)
        await at.until(READY)
    registry, _, rest = ref.partition("/")
    repository, _, digest = rest.partition("@")
    await asyncio.to_thread(_delete_manifest, registry, repository, digest)
    async with rukpak(at.cluster, tmp_path / "two"):
        raw = await at.until(says("HasValidBundle", "False", "UnpackFailed"))
        assert triple(raw, "Installed")[0] == "True"
        assert triple(raw, "Healthy")[0] == "Unknown"
        assert triple(raw, "Ready")[0] == "False"
        assert triple(raw, "Ready")[2].startswith("cannot repair: content unavailable")
        assert await at.find(CONFIG_MAPS, "log", at.name) is not None


def _delete_manifest(registry: str, repository: str, digest: str) -> None:
    request = urllib.request.Request(f"http://{registry}/v2/{repository}/manifests/{digest}", method="DELETE")
    with urllib.request.urlopen(request, timeout=30):
        pass


async def test_a_namespace_that_a_broken_conversion_webhook_holds_names_the_kind(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("notes", at.name))))
    raw = await at.until(READY)
    # They are stored as v1, and whoever deletes all objects of a Namespace asks for v2.
    boats, name = kind_of(at.group), f"boats.{at.group}"
    await at.create(CRDS, definition(at.group, "Boat", "v2", "v1"))
    await at.when(CRDS, name, "", is_established)
    await at.create(boats, thing(boats, "dinghy", at.name))
    where = {"service": {"namespace": at.name, "name": "nowhere"}}
    webhook = {"clientConfig": where, "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    await at.client.patch(CRDS, name, {"spec": {"conversion": conversion}})
    try:
        await at.remove()
        held = (
            f"Namespace {at.name}, which waits for custom resources of Boat.{at.group}, whose conversion webhook does not "
            "answer: see to the Service that the CustomResourceDefinition names in spec.conversion"
        )
        await at.until(says("Ready", "False", "Removing", held))
        other = f"{at.name}-other"
        await at.install(at.push(plain(namespace(at.name)), "v2"), other)
        await at.until(says("Reconciling", "True", "Retrying", f"waiting until it is gone: {held}"), other)
        assert raw["metadata"]["uid"] == (at.deployments.get(at.name) or {})["metadata"]["uid"]
    finally:
        await at.client.patch(CRDS, name, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    await at.until(gone)
    await at.until(READY, other)


async def test_custom_resources_that_a_broken_conversion_webhook_hides_are_deleted_without_it(
    at: Harness, running: Client
) -> None:
    boats, name = kind_of(at.group), f"boats.{at.group}"
    await at.install(at.push(plain(namespace(at.name), definition(at.group, "Boat", "v1", "v2"))))
    await at.until(READY)
    await at.create(boats, thing(boats, "dinghy", at.name))
    await hold(at, "the webhook is broken first")
    await at.remove()
    await at.until(says("Ready", "False", "DeletionHeld", "the webhook is broken first"))
    # The dinghy is stored as one version, and all are listed as another one.
    versions = (await at.client.get(CRDS, name))["spec"]["versions"]
    for version in versions:
        version["storage"] = not version["storage"]
    where = {"service": {"namespace": at.name, "name": "nowhere"}}
    webhook = {"clientConfig": where, "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    await at.client.patch(CRDS, name, {"spec": {"conversion": conversion, "versions": versions}})
    await hold(at, None)
    raw = await at.until(says("Ready", "False", "Removing", f"see to its conversion webhook {at.name}/nowhere"))
    text = triple(raw, "Ready")[2]
    assert f"does not list Boat.{at.group}, which has to be removed: conversion webhook for {at.group}/v2" in text
    assert "abandon" not in text
    await at.client.patch(CRDS, name, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    await at.until(gone)
    assert await at.find(CRDS, name) is None
