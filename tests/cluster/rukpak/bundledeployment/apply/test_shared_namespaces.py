"""BundleDeployments and what others have: objects, Bundles, Namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.api.ownership import apply_entries, manager_name
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.namespace_info import member_label
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    OWNER,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    gone,
    namespace,
    plain,
    says,
    version_of,
)
from tests.conditions import triple

CREATED = "core.rukpak.io/created"
"""A label that says that rukpak created a Namespace; nobody believes it."""
NAME_LABEL = "kubernetes.io/metadata.name"
AT_ONCE = 30.0
"""Seconds: half of the time after which the same would be tried again without being woken."""


async def test_what_is_there_already_is_not_taken_and_it_is_said_who_has_it(at: Harness, running: Client) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    await at.create(CONFIG_MAPS, config_map("log", at.name, whose="mine"))
    await at.install(
        at.push(plain(namespace(at.name), config_map("log", at.name, whose="bundle"), config_map("x", at.name)))
    )
    raw = await at.until(says("Stalled", "True", "Blocked"))
    message = triple(raw, "Ready")[2]
    assert message.startswith(f"ConfigMap {at.name}/log already exists and is not managed by olm-suite (written by ")
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"whose": "mine"}
    assert await at.find(CONFIG_MAPS, "x", at.name) is None

    await at.client.delete(CONFIG_MAPS, "log", at.name)
    await at.until(READY, within=AT_ONCE)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"whose": "bundle"}


async def test_an_object_with_a_copy_of_our_label_is_not_ours(at: Harness, running: Client) -> None:
    """Somebody copied the label to an object of his own, which the next version of the bundle has too."""
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
    uid = (await at.until(READY))["metadata"]["uid"]
    body = config_map("book", at.name, whose="mine")
    body["metadata"]["labels"] = {OWNER: uid}
    made = await at.create(CONFIG_MAPS, body)
    await at.install(at.push(plain(namespace(at.name), config_map("book", at.name, whose="bundle")), "v2"))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    writer = made["metadata"]["managedFields"][0]["manager"]
    assert (
        f"ConfigMap {at.name}/book already exists and has the label {OWNER} of BundleDeployment {at.name}, which did not apply "
        f"it (written by {writer}): set adoptionPolicy to IfUnowned to take it over, or delete it, and the object of the "
        "bundle is installed"
    ) in triple(raw, "Ready")[2]
    assert data(await at.find(CONFIG_MAPS, "book", at.name)) == {"whose": "mine"}

    await at.client.delete(CONFIG_MAPS, "book", at.name)
    await at.until(READY, within=AT_ONCE)
    assert data(await at.find(CONFIG_MAPS, "book", at.name)) == {"whose": "bundle"}


async def test_a_copy_that_has_the_entries_of_its_original_is_not_ours(at: Harness, running: Client) -> None:
    """As clients create what they have read under another name, and as backup tools restore into another namespace."""
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name))))
    await at.until(READY)
    applied = await at.find(CONFIG_MAPS, "log", at.name)
    assert applied is not None
    entries = [{**each, "time": "2026-01-01T12:00:00Z"} for each in applied["metadata"]["managedFields"]]
    copied = {name: applied["metadata"][name] for name in ("labels", "managedFields")}
    cloned = await at.create(CONFIG_MAPS, {**applied, "metadata": {**copied, "name": "cloned", "namespace": at.name}})
    assert [each["operation"] for each in cloned["metadata"]["managedFields"]].count("Apply") == 1, "of the original"
    restored = {**applied, "metadata": {"name": "restored", "namespace": "default", "labels": copied["labels"]}}
    await at.create(CONFIG_MAPS, restored)
    try:
        await at.client.patch(CONFIG_MAPS, "restored", {"metadata": {"managedFields": entries}}, "default")
        await at.install(at.push(plain(namespace(at.name), config_map("book", at.name)), "v2"))
        await at.when(CONFIG_MAPS, "log", at.name, gone)
        await at.until(READY)
        assert await at.find(CONFIG_MAPS, "cloned", at.name) is not None
        found = await at.find(CONFIG_MAPS, "restored", "default")
        assert found is not None
        assert [each["time"] for each in found["metadata"]["managedFields"]] == [each["time"] for each in entries]
    finally:
        await at.client.delete(CONFIG_MAPS, "restored", "default")


async def test_nobody_is_asked_to_delete_a_definition(at: Harness, running: Client) -> None:
    await at.create(CRDS, definition(at.group))
    await at.install(at.push(plain(definition(at.group))))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    message = triple(raw, "Ready")[2]
    assert message.endswith("): set adoptionPolicy to IfUnowned to take it over with its custom resources")
    assert "delete" not in message


async def test_what_another_has_is_free_when_that_one_is_gone(at: Harness, running: Client) -> None:
    one, two = f"{at.name}-a", f"{at.name}-b"
    await at.install(at.push(plain(definition(at.group))), one)
    await at.until(READY, one)
    await at.install(at.push(plain(definition(at.group), config_map("log", "default")), "v2"), two)
    raw = await at.until(says("Stalled", "True"), two)
    assert triple(raw, "Ready")[2] == (
        f"CustomResourceDefinition.apiextensions.k8s.io boats.{at.group} already exists and belongs to "
        f"BundleDeployment {one}"
    )
    await at.remove(one)
    raw = await at.until(READY, two)
    await at.remove(two)
    await at.until(gone, two)


async def test_a_namespace_is_shared_and_goes_with_its_last_member(at: Harness, running: Client) -> None:
    one, two = f"{at.name}-a", f"{at.name}-b"
    level = "pod-security.kubernetes.io/enforce"
    await at.install(at.push(plain(namespace(at.name, **{level: "privileged"}), config_map("a", at.name)), "a"), one)
    await at.until(READY, one)
    await at.install(at.push(plain(namespace(at.name, **{level: "baseline"}), config_map("b", at.name)), "b"), two)
    raw = await at.until(READY, two)
    assert triple(raw, "Ready")[2].endswith(
        f"; Namespace {at.name} keeps {level}: privileged; the bundle asks for baseline"
    )
    await at.remove(one)
    await at.until(gone, one)
    space = await at.find(NAMESPACES, at.name)
    assert space is not None
    assert "deletionTimestamp" not in space["metadata"]
    assert [label for label in space["metadata"]["labels"] if label.startswith("member.")] == [
        member_label(raw["metadata"]["uid"])
    ]
    assert await at.find(CONFIG_MAPS, "a", at.name) is None
    assert await at.find(CONFIG_MAPS, "b", at.name) is not None
    await at.remove(two)
    await at.until(gone, two)
    assert await at.find(NAMESPACES, at.name) is None


def is_deleting(space: Object | None) -> bool:
    """Whether a Namespace is being deleted, or is gone."""
    return space is None or "deletionTimestamp" in space["metadata"]


def is_left_by(deployment: str, space: Object | None) -> bool:
    """Whether the BundleDeployment has applied nothing to a Namespace, or it is being deleted."""
    managers = {entry["manager"] for entry in apply_entries(space)} if space is not None else set()
    return is_deleting(space) or manager_name(deployment) not in managers


def other_than(uid: str) -> Callable[[Object | None], bool]:
    """It was made again."""
    return lambda found: found is not None and found["metadata"]["uid"] != uid


async def test_members_of_a_namespace_do_not_apply_it_again_after_each_other(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    members = [f"{at.name}-a", f"{at.name}-b"]
    for name in members:
        await at.install(at.push(plain(namespace(at.name), config_map(name, at.name)), name), name)
        await at.until(READY, name)
    before = version_of(await at.find(NAMESPACES, at.name))
    for name in members:
        # The repair is a pass over all objects, the Namespace included.
        uid = (await at.find(CONFIG_MAPS, name, at.name) or {})["metadata"]["uid"]
        await at.client.delete(CONFIG_MAPS, name, at.name)
        await at.when(CONFIG_MAPS, name, at.name, other_than(uid))
        await at.until(READY, name)
    assert [line for line in map(str, caplog.messages) if line.startswith("reverted Namespace")] == []
    assert version_of(await at.find(NAMESPACES, at.name)) == before


async def test_two_members_that_leave_at_once_leave_no_namespace(at: Harness, running: Client) -> None:
    members = [f"{at.name}-{number}" for number in range(4)]
    for name in members:
        await at.install(at.push(plain(namespace(at.name), config_map(name, at.name)), name), name)
    for name in members:
        await at.until(READY, name)
    await asyncio.gather(*(at.remove(name) for name in members))
    for name in members:
        await at.until(gone, name)
    assert await at.find(NAMESPACES, at.name) is None


async def test_a_namespace_that_was_there_before_stays_as_it_was(at: Harness, running: Client) -> None:
    await at.create(NAMESPACES, namespace(at.name, team="red"))
    before = await at.find(NAMESPACES, at.name)
    await at.install(at.push(plain(namespace(at.name, team="blue", extra="x"), config_map("log", at.name))))
    raw = await at.until(READY)
    assert "keeps team: red; the bundle asks for blue" in triple(raw, "Ready")[2]
    joined = await at.find(NAMESPACES, at.name)
    assert before is not None
    assert joined is not None
    assert joined["metadata"]["labels"] == {
        **before["metadata"]["labels"],
        "extra": "x",
        member_label(raw["metadata"]["uid"]): "true",
    }
    await at.remove()
    await at.until(gone)
    after = await at.find(NAMESPACES, at.name)
    assert after is not None
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


async def test_a_copied_manifest_of_a_namespace_makes_nobody_a_member(at: Harness, running: Client) -> None:
    """Somebody creates a Namespace with the labels of one of ours: it is neither pruned nor deleted with the BundleDeployment."""
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name), config_map("old", at.name))))
    raw = await at.until(READY)
    copy = f"{at.name}-copy"
    ours = await at.find(NAMESPACES, at.name) or {}
    labels = {name: value for name, value in ours["metadata"]["labels"].items() if name != NAME_LABEL}
    assert member_label(raw["metadata"]["uid"]) in labels
    await at.create(NAMESPACES, namespace(copy, **{**labels, CREATED: "true"}))
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name)), "v2"))
    await at.when(CONFIG_MAPS, "old", at.name, gone)  # what is no longer in the bundle has been removed
    await at.until(READY)
    await at.create(CONFIG_MAPS, config_map("mine", copy))
    await at.remove()
    await at.until(gone)
    assert await at.find(NAMESPACES, at.name) is None
    assert not is_deleting(await at.find(NAMESPACES, copy))
    assert await at.find(CONFIG_MAPS, "mine", copy) is not None


async def test_who_may_patch_a_namespace_cannot_have_it_deleted(at: Harness, running: Client) -> None:
    """Somebody forges everything that a Namespace itself shows: the labels, and an apply as the field manager of rukpak."""
    joined, foreign = f"{at.name}-a", f"{at.name}-b"
    for name in (joined, foreign):
        await at.create(NAMESPACES, namespace(name))
        await at.create(CONFIG_MAPS, config_map("mine", name))
    await at.install(at.push(plain(namespace(joined), config_map("log", joined))))
    uid = (await at.until(READY))["metadata"]["uid"]
    forged = {CREATED: "true", member_label(uid): "true"}
    for name in (joined, foreign):
        await at.client.patch(NAMESPACES, name, {"metadata": {"labels": forged}})
    await at.client.apply(NAMESPACES, namespace(foreign, **forged), manager_name(at.name))
    await at.when(NAMESPACES, foreign, "", partial(is_left_by, at.name))  # it is not in the bundle
    await at.remove()
    await at.until(gone)
    for name in (joined, foreign):
        assert not is_deleting(await at.find(NAMESPACES, name)), name
        assert await at.find(CONFIG_MAPS, "mine", name) is not None, name


async def test_a_namespace_that_is_going_is_waited_for(at: Harness, running: Client) -> None:
    space = namespace(at.name)
    await at.create(NAMESPACES, space)
    body = config_map("held", at.name)
    body["metadata"]["finalizers"] = ["test.example.com/hold"]
    await at.create(CONFIG_MAPS, body)
    await at.client.delete(NAMESPACES, at.name)
    await at.install(at.push(plain(space, config_map("log", at.name))))
    raw = await at.until(says("Reconciling", "True", "Retrying", f"until it is gone: Namespace {at.name}"))
    assert triple(raw, "Stalled") == ("", "", "")
    held = f"Namespace {at.name}, which waits for ConfigMap {at.name}/held (finalizers: test.example.com/hold)"
    await at.until(says("Reconciling", "True", "Retrying", held))
    await at.client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, at.name)
    await at.until(READY)


async def test_a_bundle_of_the_wanted_name_that_is_another_s_is_not_used(at: Harness, running: Client) -> None:
    ref = at.push(plain(namespace(at.name)))
    await at.install(ref)
    active = (await at.until(READY))["status"]["activeBundle"]
    await at.remove()
    await at.until(gone)
    await at.when(bundles.KIND, active, "", gone)
    spec = at.body(ref)["spec"]["template"]["spec"]
    body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "metadata": {"name": active}, "spec": spec}
    await at.create(bundles.KIND, body)
    await at.install(ref)
    await at.until(says("Stalled", "True", "Blocked", f"the Bundle {active} belongs to an unknown owner"))
    await at.client.delete(bundles.KIND, active)
    await at.until(READY)


async def test_a_bundle_that_somebody_deletes_comes_back(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name))))
    active = (await at.until(READY))["status"]["activeBundle"]
    uid = (await at.client.get(bundles.KIND, active))["metadata"]["uid"]
    await at.client.delete(bundles.KIND, active)
    await at.when(bundles.KIND, active, "", lambda raw: raw is not None and raw["metadata"]["uid"] != uid)
    raw = await at.until(READY)
    assert raw["status"]["activeBundle"] == active


async def test_an_unknown_provisioner_is_said(at: Harness, running: Client) -> None:
    body = at.body("registry.example.com/x")
    body["spec"]["provisionerClassName"] = "core-rukpak-io-other"
    await at.client.apply(bundledeployments.KIND, body, "test")
    await at.until(says("Stalled", "True", "Blocked", "set spec.provisionerClassName to core-rukpak-io-plain"))


def facts(space: Object | None) -> tuple[Object, Object, set[str]]:
    """The labels and annotations of a Namespace, and who has written it."""
    metadata = (space or {})["metadata"]
    managers = {entry["manager"] for entry in metadata.get("managedFields") or ()}
    return metadata.get("labels") or {}, metadata.get("annotations") or {}, managers


async def test_a_namespace_that_has_to_exist_is_waited_for_and_never_changed(at: Harness, running: Client) -> None:
    log = config_map("log", at.name)
    log["metadata"].pop("namespace")  # it is in the install namespace
    must_exist = {"installNamespace": at.name, "namespacePolicy": "MustExist"}
    await at.install(at.push(plain(log)), **must_exist)
    text = f"Namespace {at.name} does not exist: create it"
    await at.until(says("Reconciling", "True", "WaitingForNamespace", text))
    await at.create(NAMESPACES, namespace(at.name, team="red"))
    raw = await at.until(READY, within=AT_ONCE)
    before = facts(await at.find(NAMESPACES, at.name))
    assert member_label(raw["metadata"]["uid"]) not in before[0]
    assert manager_name(at.name) not in before[2]
    assert "createdNamespaces" not in raw["status"]

    kubernetes, other = facts(await at.find(NAMESPACES, "default")), f"{at.name}-b"
    body = config_map(at.name, "default")
    must_exist["installNamespace"] = "default"
    await at.install(at.push(plain(body), "b"), other, **must_exist)
    await at.until(READY, other)
    await at.remove(other)
    await at.until(gone, other)
    assert await at.find(CONFIG_MAPS, at.name, "default") is None
    space = await at.find(NAMESPACES, "default")
    assert (is_deleting(space), facts(space)) == (False, kubernetes)
    await at.remove()
    await at.until(gone)
    space = await at.find(NAMESPACES, at.name)
    assert (is_deleting(space), facts(space)) == (False, before)
    assert await at.find(CONFIG_MAPS, "log", at.name) is None


async def test_a_namespace_that_rukpak_created_stays_when_it_has_to_exist(at: Harness, running: Client) -> None:
    """First for another BundleDeployment, which has no label on it, then for the one that it was created for."""
    one, two = f"{at.name}-a", f"{at.name}-b"
    created, required = {"installNamespace": at.name}, {"installNamespace": at.name, "namespacePolicy": "MustExist"}
    refs = {name: at.push(plain(config_map(name, at.name)), name) for name in (one, two)}
    await at.install(refs[one], one, **created)
    uid = (await at.until(READY, one))["status"]["createdNamespaces"][0]["uid"]
    await at.install(refs[two], two, **required)
    await at.until(READY, two)
    await at.remove(one)
    await at.until(gone, one)
    space = await at.find(NAMESPACES, at.name)
    assert (is_deleting(space), (space or {})["metadata"]["uid"]) == (False, uid)
    assert await at.find(CONFIG_MAPS, two, at.name) is not None
    await at.remove(two)
    await at.until(gone, two)
    await at.client.delete(NAMESPACES, at.name)
    await at.when(NAMESPACES, at.name, "", gone)

    await at.install(refs[one], one, **created)
    await at.until(lambda raw: READY(raw) and bool((raw or {})["status"].get("createdNamespaces")), one)
    await at.install(refs[one], one, **required)
    raw = await at.until(lambda raw: READY(raw) and "createdNamespaces" not in (raw or {})["status"], one)
    assert member_label(raw["metadata"]["uid"]) not in facts(await at.find(NAMESPACES, at.name))[0]
    await at.remove(one)
    await at.until(gone, one)
    assert not is_deleting(await at.find(NAMESPACES, at.name))
    assert await at.find(CONFIG_MAPS, one, at.name) is None
    await at.client.delete(NAMESPACES, at.name)
