"""BundleDeployments whose template moves on: what changes, what goes, what is kept, and what fails."""

from __future__ import annotations

import asyncio

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundle_annotations import VERSION_ANNOTATION
from olmkit.api.bundledeployments import INVENTORY_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL, RELEASED_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.bundledeployment.delays import RETRIED
from rukpak.bundledeployment.revisions.target import bundle_name
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
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
    version_of,
)
from tests.cluster.rukpak.policies import BINDINGS, create_policy, until_denied
from tests.conditions import triple

ROLE_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True)


async def test_what_left_the_bundle_goes_and_the_inventory_shrinks(at: Harness, running: Client) -> None:
    space = namespace(at.name)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": at.name},
        "rules": [],
    }
    await at.install(at.push(plain(space, config_map("old", at.name), config_map("both", at.name), role)))
    await at.until(READY)
    await at.install(at.push(plain(space, config_map("new", at.name), config_map("both", at.name)), "v2"))
    await at.until(READY)
    await at.until(lambda raw: raw is not None and raw["metadata"]["annotations"][INVENTORY_ANNOTATION] == "ConfigMap")
    assert await at.find(CONFIG_MAPS, "old", at.name) is None
    assert await at.find(CLUSTER_ROLES, at.name) is None
    assert await at.find(CONFIG_MAPS, "new", at.name) is not None


async def test_a_new_bundle_that_does_not_unpack_leaves_the_old_one_in_place(at: Harness, running: Client) -> None:
    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="1"))))
    first = await at.until(READY)
    active = first["status"]["activeBundle"]
    await at.install(f"{at.cluster.registry}/bundles/{at.name}:nothing")
    raw = await at.until(says("HasValidBundle", "False", "UnpackFailed"))
    assert triple(raw, "Installed")[:2] == ("True", "InstallationSucceeded")
    assert raw["status"]["activeBundle"] == active
    assert triple(raw, "Ready")[:2] == ("False", "Upgrading")
    assert triple(raw, "Ready")[2].startswith("upgrading to ")
    await at.client.delete(CONFIG_MAPS, "log", at.name)
    assert data(await at.when(CONFIG_MAPS, "log", at.name, lambda found: found is not None)) == {"v": "1"}
    failed = triple(raw, "HasValidBundle")[2]
    assert failed.startswith(f"Failed to unpack the {at.name}-")

    await at.install(at.push(plain(namespace(at.name), config_map("log", at.name, v="3")), "v3"))
    last = (await at.until(READY))["status"]["activeBundle"]
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"v": "3"}
    await at.until(lambda _: [name for _, name in at.bundles.objects if name.startswith(f"{at.name}-")] == [last])


async def test_an_upgrade_that_the_server_refuses_changes_nothing_of_that_phase(at: Harness, running: Client) -> None:
    space, ill = namespace(at.name), deployment("b-ill", at.name)
    await at.install(at.push(plain(space, config_map("log", at.name, v="1"), deployment("a-well", at.name))))
    await at.until(READY)
    ill["spec"]["template"]["spec"]["containers"][0]["name"] = "Not A Name"
    changed = deployment("a-well", at.name, image="registry.example.com/x:v2")
    await at.install(at.push(plain(space, config_map("log", at.name, v="2"), changed, ill), "v2"))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    assert triple(raw, "Installed")[0] == "True"
    assert triple(raw, "Reconciling") == ("", "", "")
    message = triple(raw, "Ready")[2]
    assert message.startswith("cannot upgrade to ")
    assert "Deployment.apps" in message
    assert "b-ill" in message
    assert message.endswith(f"already new: ConfigMap {at.name}/log")
    well = await at.find(DEPLOYMENTS, "a-well", at.name)
    assert well is not None
    assert well["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":v1")
    assert await at.find(DEPLOYMENTS, "b-ill", at.name) is None

    await at.install(at.push(plain(space, config_map("log", at.name, v="3"), changed), "v3"))
    await at.until(READY)


async def test_both_bundles_are_found_with_their_annotations_until_a_pivot_is_finished(
    at: Harness, running: Client
) -> None:
    space, engine = namespace(at.name), deployment("engine", at.name)
    await _install_version(at, "1.0.0", space, config_map("log", at.name, v="1"))
    old = (await at.until(READY))["status"]["activeBundle"]
    assert await _bundles_of(at) == {old: "1.0.0"}

    await at.create(DEPLOYMENTS, engine)  # somebody else has it: the pivot stops in the phase of the workloads
    await _install_version(at, "2.0.0", space, config_map("log", at.name, v="2"), engine)
    raw = await at.until(says("Stalled", "True", "Blocked", f"already new: ConfigMap {at.name}/log"))
    assert raw["status"]["activeBundle"] == raw["status"]["installed"]["bundle"] == old
    assert raw["status"]["installed"]["version"] == "1.0.0"
    template = raw["spec"]["template"]["spec"]
    assert await _bundles_of(at) == {old: "1.0.0", bundle_name(at.name, template): "2.0.0"}

    await at.client.delete(DEPLOYMENTS, "engine", at.name)
    raw = await at.until(READY)
    new = raw["status"]["activeBundle"]
    assert new == raw["status"]["installed"]["bundle"] == bundle_name(at.name, template)
    await at.until(lambda _: [name for _, name in at.bundles.objects if name.startswith(f"{at.name}-")] == [new])
    assert await _bundles_of(at) == {new: "2.0.0"}


async def _install_version(at: Harness, version: str, *objects: Object) -> None:
    body = at.body(at.push(plain(*objects), version))
    body["spec"]["template"]["metadata"] = {"annotations": {VERSION_ANNOTATION: version}}
    await at.client.apply(bundledeployments.KIND, body, "test")


async def _bundles_of(at: Harness) -> dict[str, str]:
    """The Bundles that are found from the BundleDeployment, by its labels, with their versions."""
    selector = f"{OWNER_KIND_LABEL}=BundleDeployment,{OWNER_NAME_LABEL}={at.name}"
    found, _ = await at.client.list(bundles.KIND, label_selector=selector)
    uid = (at.deployments.get(at.name) or {})["metadata"]["uid"]
    assert all(bundle["metadata"]["ownerReferences"][0]["uid"] == uid for bundle in found)
    return {bundle["metadata"]["name"]: bundle["metadata"]["annotations"][VERSION_ANNOTATION] for bundle in found}


async def test_a_first_installation_that_is_rejected_is_reported(at: Harness, running: Client) -> None:
    body = config_map("log", at.name)
    body["dat"] = {"a": "b"}
    await at.install(at.push(plain(namespace(at.name), body)))
    raw = await at.until(says("Stalled", "True", "Blocked", "field not declared in schema"))
    assert triple(raw, "Ready")[2].endswith(f"; {RETRIED}")
    assert triple(raw, "Installed")[:2] == ("False", "InstallFailed")
    assert triple(raw, "Ready")[:2] == ("False", "Blocked")
    assert "activeBundle" not in raw["status"]


async def test_a_definition_that_left_the_bundle_stays_while_it_is_used_and_another_takes_it_over(
    at: Harness, running: Client
) -> None:
    used, unused = definition(at.group), definition(at.group, "Raft")
    log = config_map("log", at.name)
    await at.install(at.push(plain(namespace(at.name), used, unused, log)))
    await at.until(READY)
    await at.create(kind_of(at.group), thing(kind_of(at.group), "dinghy", at.name))
    await at.install(at.push(plain(namespace(at.name), log), "v2"))
    raw = await at.until(lambda raw: READY(raw) and bool((raw or {})["status"].get("released")))
    name = used["metadata"]["name"]
    assert raw["status"]["released"] == [{"group": CRDS.group, "kind": CRDS.kind, "name": name}]
    released = await at.find(CRDS, name)
    assert released is not None
    assert OWNER not in released["metadata"].get("labels", {})
    assert RELEASED_ANNOTATION in released["metadata"]["annotations"]
    await at.when(CRDS, unused["metadata"]["name"], "", gone)

    other = await at.install(at.push(plain(used), "other"), f"{at.name}-b")
    taken = await at.until(READY, other)
    crd = await at.find(CRDS, name)
    assert crd is not None
    assert crd["metadata"]["labels"][OWNER] == taken["metadata"]["uid"]
    await at.until(lambda raw: raw is not None and "released" not in raw["status"])
    assert await at.find(kind_of(at.group), "dinghy", at.name) is not None


async def test_a_namespace_that_left_the_bundle_goes_only_if_it_is_empty(at: Harness, running: Client) -> None:
    empty, used = f"{at.name}-empty", f"{at.name}-used"
    objects = [namespace(empty), deployment("engine", empty), namespace(used), config_map("log", used)]
    await at.install(at.push(plain(namespace(at.name), *objects)))
    await at.until(READY)
    await at.create(CONFIG_MAPS, config_map("somebodys", used))
    await at.install(at.push(plain(namespace(at.name)), "v2"))
    await at.when(NAMESPACES, empty, "", gone)
    raw = await at.until(lambda raw: READY(raw) and bool((raw or {})["status"].get("released")))
    assert raw["status"]["released"] == [{"group": "", "kind": "Namespace", "name": used}]
    space = await at.find(NAMESPACES, used)
    assert space is not None
    assert space["metadata"]["labels"] == {"kubernetes.io/metadata.name": used}
    await at.remove()
    await at.until(gone)
    assert await at.find(CONFIG_MAPS, "somebodys", used) is not None


async def test_an_upgrade_that_moves_a_storage_version_is_announced_first(at: Harness, running: Client) -> None:
    crd = f"boats.{at.group}"
    await at.install(at.push(plain(definition(at.group))))
    await at.until(READY)
    heard: list[Object] = []  # each version of it: a message may be replaced before this test reads it
    at.deployments.subscribe(lambda change: heard.append(change.new) if change.new else None)
    moved = asyncio.create_task(at.when(CRDS, crd, "", lambda found: _stored(found) == "v2"))
    await at.install(at.push(plain(definition(at.group, "Boat", "v1", "v2")), "v2"))
    assert "announced" not in (await at.until(READY))["status"]
    sentence = f"it moves the storage version of {crd} from v1 to v2"
    found = [raw for raw in heard if raw["metadata"]["name"] == at.name and sentence in triple(raw, "Ready")[2]]
    assert found
    assert list(found[0]["status"]["announced"]) == ["storageVersions"]
    assert int(version_of(found[0])) < int(version_of(await moved))


def _stored(crd: Object | None) -> str:
    versions = (crd or {}).get("spec", {}).get("versions") or ()
    return next((version["name"] for version in versions if version["storage"]), "")


def immutable_objects(space: str, version: str) -> list[Object]:
    """Objects of several kinds, of which another version differs in a field that the API server does not change."""
    labels = {"app": f"web-{version}"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "x.example.com/x"}]}}
    selector = {"matchLabels": labels}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": version}
    job = {"restartPolicy": "Never", "containers": [{"name": version, "image": "x.example.com/x"}]}
    size = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    specs: list[tuple[str, str, Object]] = [
        ("apps/v1", "StatefulSet", {"spec": {"serviceName": version, "selector": selector, "template": template}}),
        ("batch/v1", "Job", {"spec": {"template": {"spec": job}}}),
        ("v1", "PersistentVolumeClaim", {"spec": {**size, "storageClassName": version}}),
        ("apps/v1", "Deployment", {"spec": {"selector": selector, "template": template}}),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", {"roleRef": role}),
        ("v1", "ConfigMap", {"immutable": True, "data": {"v": version}}),
    ]
    metadata = {"name": "web", "namespace": space}
    return [{"apiVersion": api, "kind": kind, "metadata": metadata, **rest} for api, kind, rest in specs]


async def test_what_cannot_be_changed_is_named_with_what_lets_the_upgrade_go_on(at: Harness, running: Client) -> None:
    space = namespace(at.name)
    old, new = immutable_objects(at.name, "one"), immutable_objects(at.name, "two")
    accepted = "; a new object would be accepted: delete this one, and it is created as the bundle has it."
    await at.install(at.push(plain(space, *old)))
    await at.until(says("Installed", "True"))
    refusals: dict[str, str] = {}
    for place, changed in enumerate(new):
        kind = str(changed["kind"])
        await at.install(at.push(plain(space, *old[:place], changed, *old[place + 1 :]), f"only-{kind.lower()}"))
        raw = await at.until(lambda raw, kind=kind: refused(raw).startswith(kind))  # type: ignore[misc]
        refusals[kind] = refused(raw)
    assert [kind for kind, text in refusals.items() if accepted not in text] == [], refusals
    assert f"{accepted} Its PersistentVolumeClaims stay, unless" in refusals["StatefulSet"]
    assert f"{accepted} This deletes the data of its volume, unless" in refusals["PersistentVolumeClaim"]
    assert "cannot change roleRef" in refusals["RoleBinding"]

    await at.client.delete(CONFIG_MAPS, "web", at.name)
    raw = await at.until(lambda raw: says("Installed", "True")(raw) and accepted not in triple(raw or {}, "Ready")[2])
    assert data(await at.when(CONFIG_MAPS, "web", at.name, lambda found: data(found) == {"v": "two"}))

    await at.install(at.push(plain(space, *old[:5], {**new[5], "data": {"bad key": "x"}}), "invalid"))
    raw = await at.until(lambda raw: "bad key" in refused(raw))
    assert accepted not in refused(raw)


async def test_a_denial_of_a_policy_has_no_advice_to_delete_the_object(at: Harness, running: Client) -> None:
    """The policy is about changes alone: a new object would be accepted."""
    space = namespace(at.name)
    await at.install(at.push(plain(space, {**config_map("log", at.name), "data": {"v": "one"}})))
    await at.until(READY)
    expression = f"object.metadata.namespace != '{at.name}' || !has(object.data) || object.data.v != 'two'"
    await create_policy(at, "UPDATE", expression, "it is not approved")
    await until_denied(at, "it is not approved", "PATCH", CONFIG_MAPS.path(at.name, "log"), {"data": {"v": "two"}})
    await at.install(at.push(plain(space, {**config_map("log", at.name), "data": {"v": "two"}}), "v2"))
    raw = await at.until(lambda raw: "it is not approved" in refused(raw))
    assert "would be accepted" not in refused(raw)
    assert "would be accepted" not in triple(raw, "Ready")[2]
    await at.client.delete(BINDINGS, at.name)


def refused(raw: Object | None) -> str:
    """The newest reason for which a revision failed."""
    history = (raw or {}).get("status", {}).get("history") or [{}]
    return str(history[0].get("reason", ""))
