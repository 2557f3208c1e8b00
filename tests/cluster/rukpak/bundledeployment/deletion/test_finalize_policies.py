"""What the deletion of a BundleDeployment leaves in the real cluster, and what is taken over from it."""

import uuid

import pytest

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import ADOPTED_ANNOTATION, KEEP_ADOPTED_ANNOTATION, RELEASED_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.api.ownership import MANAGER_PREFIX, manager_name
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from tests.cluster.rukpak.harness import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    OWNER,
    READY,
    Harness,
    Object,
    config_map,
    data,
    definition,
    deployment,
    gone,
    kind_of,
    namespace,
    plain,
    says,
    thing,
)
from tests.conditions import triple


async def install_with(at: Harness, ref: str, name: str = "", **fields: str) -> None:
    body = at.body(ref, name)
    body["spec"] |= fields
    await at.client.apply(bundledeployments.KIND, body, "test")


def fleet(at: Harness) -> list[Object]:
    return [namespace(at.name), definition(at.group), deployment("engine", at.name), config_map("log", at.name)]


def is_ours(raw: Object | None) -> bool:
    assert raw is not None
    assert "deletionTimestamp" not in raw["metadata"]
    return OWNER in (raw["metadata"].get("labels") or {})


async def test_keep_crds_leaves_the_custom_resources_and_their_namespace(at: Harness, running: Client) -> None:
    boats = kind_of(at.group)
    await install_with(at, at.push(plain(*fleet(at))), deletionPolicy="KeepCRDs")
    await at.until(READY)
    await at.create(boats, thing(boats, "dinghy", at.name, finalizers=["test.example.com/hold"]))
    await at.remove()
    await at.until(gone)
    assert await at.find(DEPLOYMENTS, "engine", at.name) is None
    crd = await at.find(CRDS, f"boats.{at.group}")
    assert not is_ours(crd)
    assert (crd or {})["metadata"]["annotations"][RELEASED_ANNOTATION] == at.name
    for kind, name, inside in ((boats, "dinghy", at.name), (NAMESPACES, at.name, "")):
        assert not is_ours(await at.find(kind, name, inside))
    await at.install(at.push(plain(*fleet(at))), name=f"{at.name}-b")  # what was released is taken over
    await at.until(READY, name=f"{at.name}-b")
    assert is_ours(await at.find(CRDS, f"boats.{at.group}"))
    await at.client.patch(boats, "dinghy", {"metadata": {"finalizers": None}}, at.name)


async def test_keep_crds_deletes_a_namespace_that_is_empty(at: Harness, running: Client) -> None:
    await install_with(at, at.push(plain(*fleet(at))), deletionPolicy="KeepCRDs")
    await at.until(READY)
    await at.remove()
    await at.until(gone)
    await at.when(NAMESPACES, at.name, "", gone)
    assert not is_ours(await at.find(CRDS, f"boats.{at.group}"))


async def test_orphan_leaves_everything_and_another_one_may_take_it_over(at: Harness, running: Client) -> None:
    bystander = f"{at.name}-c"  # the watches of its kinds stay open
    await at.install(
        at.push(plain(namespace(bystander), deployment("engine", bystander), config_map("log", bystander))),
        name=bystander,
    )
    await at.until(READY, name=bystander)
    await at.install(at.push(plain(*fleet(at))))
    await at.until(READY)
    await install_with(at, at.push(plain(*fleet(at))), deletionPolicy="Orphan")  # shortly before the deletion
    await at.remove()
    await at.until(gone)
    for kind, name in ((DEPLOYMENTS, "engine"), (CONFIG_MAPS, "log")):
        assert not is_ours(await at.find(kind, name, at.name))
    assert not is_ours(await at.find(NAMESPACES, at.name))
    other = f"{at.name}-b"
    await at.install(at.push(plain(*fleet(at))), name=other)
    await at.until(says("Stalled", "True", "Blocked", "set adoptionPolicy to IfUnowned to take it over"), name=other)
    await install_with(at, at.push(plain(*fleet(at))), name=other, adoptionPolicy="IfUnowned")
    await at.until(READY, name=other)
    assert is_ours(await at.find(DEPLOYMENTS, "engine", at.name))
    await at.remove(other)
    await at.until(gone, name=other)
    assert await at.find(DEPLOYMENTS, "engine", at.name) is None


async def test_what_a_deleted_one_of_this_name_applied_late_is_taken_over_with_its_custom_resources(
    at: Harness, running: Client
) -> None:
    boats, late = kind_of(at.group), fleet(at)
    for body in late:
        body["metadata"]["labels"] = {**body["metadata"].get("labels", {}), OWNER: str(uuid.uuid4())}
        await at.client.apply(kind_named(body["kind"]), body, manager_name(at.name))
    await at.when(CRDS, f"boats.{at.group}", "", is_established)
    await at.create(boats, thing(boats, "dinghy", at.name))
    await at.install(at.push(plain(*fleet(at))))
    raw = await at.until(READY)
    for kind, name in ((CRDS, f"boats.{at.group}"), (DEPLOYMENTS, "engine"), (CONFIG_MAPS, "log")):
        found = await at.find(kind, name, at.name if kind is not CRDS else "")
        assert found is not None
        assert found["metadata"]["labels"][OWNER] == raw["metadata"]["uid"], name
    assert await at.find(boats, "dinghy", at.name) is not None


def is_established(raw: Object | None) -> bool:
    conditions = ((raw or {}).get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def kind_named(name: str) -> Kind:
    return next(kind for kind in (NAMESPACES, CRDS, DEPLOYMENTS, CONFIG_MAPS) if kind.kind == name)


async def test_only_what_nobody_manages_is_taken_over(at: Harness, running: Client) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    free, managed = config_map("log", at.name, whose="mine", color="red"), config_map("book", at.name, whose="Helm")
    managed["metadata"]["annotations"] = {"meta.helm.sh/release-name": "library"}
    for body in (free, managed):
        await at.create(CONFIG_MAPS, body)
    objects = (config_map("log", at.name, whose="bundle"), config_map("book", at.name, whose="bundle"))
    await install_with(at, at.push(plain(*objects)), adoptionPolicy="IfUnowned")
    raw = await at.until(says("Stalled", "True", "Blocked"))
    assert triple(raw, "Ready")[2] == (
        f"ConfigMap {at.name}/book already exists and is managed by Helm: have Helm let go of it without deleting it, remove its "
        "meta.helm.sh/release-name, and it is taken over; or remove it there"
    )
    assert data(await at.find(CONFIG_MAPS, "log", at.name))["whose"] == "mine", (
        "before the first write nothing is changed"
    )
    await at.client.delete(CONFIG_MAPS, "book", at.name)
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"whose": "bundle", "color": "red"}


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "not kept"])
async def test_what_was_there_before_it_was_taken_over_is(at: Harness, running: Client, is_kept: bool) -> None:
    boats, crd = kind_of(at.group), definition(at.group)
    for kind, body in (
        (NAMESPACES, namespace(at.name)),
        (CRDS, crd),
        (CONFIG_MAPS, config_map("log", at.name, old="1")),
    ):
        await at.create(kind, body)
    await at.when(CRDS, crd["metadata"]["name"], "", is_established)
    await at.create(boats, thing(boats, "dinghy", at.name))
    await install_with(at, at.push(plain(*fleet(at), config_map("new", at.name))), adoptionPolicy="IfUnowned")
    await at.until(READY)
    for kind, name, inside, adopted in (
        (CRDS, f"boats.{at.group}", "", True),
        (CONFIG_MAPS, "log", at.name, True),
        (CONFIG_MAPS, "new", at.name, False),
    ):
        found = await at.find(kind, name, inside)
        assert is_ours(found)
        assert ((found or {})["metadata"].get("annotations") or {}).get(ADOPTED_ANNOTATION) == (
            at.name if adopted else None
        )
    if is_kept:
        keep = {"metadata": {"annotations": {KEEP_ADOPTED_ANNOTATION: "true"}}}
        await at.client.patch(bundledeployments.KIND, at.name, keep)
    await at.remove()
    await at.until(gone)
    for kind, name in ((DEPLOYMENTS, "engine"), (CONFIG_MAPS, "new")):
        assert await at.find(kind, name, at.name) is None
    if not is_kept:
        assert await at.find(CRDS, f"boats.{at.group}") is None
        assert await at.find(CONFIG_MAPS, "log", at.name) is None
        return
    for kind, name, inside in (
        (CRDS, f"boats.{at.group}", ""),
        (CONFIG_MAPS, "log", at.name),
        (boats, "dinghy", at.name),
    ):
        found = await at.find(kind, name, inside)
        assert not is_ours(found)
        assert not (found or {})["metadata"].get("annotations")
        assert all(
            not each["manager"].startswith(MANAGER_PREFIX) for each in (found or {})["metadata"]["managedFields"]
        )
    assert data(await at.find(CONFIG_MAPS, "log", at.name))["old"] == "1"


@pytest.mark.parametrize("propagation", ["Foreground", "Background", "Orphan"])
async def test_each_way_to_delete_removes_all_objects(at: Harness, running: Client, propagation: str) -> None:
    await at.install(at.push(plain(*fleet(at))))
    await at.until(READY)
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
    await at.client.request("DELETE", bundledeployments.KIND.path(None, at.name), body=options)
    await at.until(gone)
    await at.when(NAMESPACES, at.name, "", gone)
    assert await at.find(CRDS, f"boats.{at.group}") is None
    if propagation == "Orphan":  # the Bundle has stayed, and the next BundleDeployment of this name takes it over
        bundle = next(raw for raw in at.bundles.objects.values() if raw["metadata"]["name"].startswith(at.name))
        assert not bundle["metadata"].get("ownerReferences")
        await at.install(at.push(plain(*fleet(at))))
        uid = (await at.until(READY))["metadata"]["uid"]
        adopted = await at.find(bundles.KIND, bundle["metadata"]["name"])
        assert adopted is not None
        assert adopted["metadata"]["uid"] == bundle["metadata"]["uid"]
        assert [each["uid"] for each in adopted["metadata"]["ownerReferences"]] == [uid]
