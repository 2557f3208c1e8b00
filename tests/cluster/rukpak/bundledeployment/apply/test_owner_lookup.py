"""Objects that carry the labels of a tool are taken over in the real cluster as soon as nothing of the tool owns them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from olmkit.api import bundledeployments
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION
from olmkit.api.meta import Kind
from olmkit.api.ownership import manager_name
from olmkit.runtime.client import Client
from rukpak.bundledeployment.apply.object_owner import CLUSTER_SERVICE_VERSIONS, SECRETS, SUBSCRIPTIONS
from rukpak.bundledeployment.apply.owner_lookup import Ownership, find_ownership
from rukpak.bundledeployment.cluster.namespace_info import member_label
from rukpak.bundledeployment.cluster.rest_mapper import CRDS, NAMESPACES
from rukpak.setup import build
from tests.cluster.killable_process import run_killable
from tests.cluster.late_proxy import LateProxy
from tests.cluster.proxy import run_as
from tests.cluster.rukpak.harness import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    OWNER,
    READY,
    WEBHOOK_CONFIGURATIONS,
    Harness,
    Object,
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
    settings,
    thing,
)
from tests.conditions import triple


async def adopt(at: Harness, *objects: Object, name: str = "") -> None:
    body = at.body(at.push(plain(*objects)), name)
    body["spec"]["adoptionPolicy"] = "IfUnowned"
    await at.client.apply(bundledeployments.KIND, body, "test")


def with_metadata(body: Object, **metadata: Any) -> Object:
    return {**body, "metadata": {**body["metadata"], **metadata}}


def operator_definition(kind: Kind) -> Object:
    """A CRD of OLM v0, as far as its objects are looked up."""
    group, name = kind.group, f"{kind.plural}.{kind.group}"
    body = definition(group, kind.kind, kind.version)
    names = {"kind": kind.kind, "plural": kind.plural}
    return {**body, "metadata": {"name": name}, "spec": {**body["spec"], "names": names}}


async def a_boat(at: Harness) -> Object:
    """A custom resource of the CRD that an earlier installation left."""
    boats = kind_of(at.group)
    await at.read(boats)
    return await at.create(boats, thing(boats, "dinghy", at.name))


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        pytest.param(
            {"olm.managed": "true", "operators.coreos.com/boats.operators": ""},
            {"operatorframework.io/installed-alongside-1a2b": "operators/boats.v1.0.0"},
            id="a definition as OLM v0 leaves it",
        ),
        pytest.param(
            {
                "olm.owner": "boats.v1.0.0",
                "olm.owner.kind": "ClusterServiceVersion",
                "olm.owner.namespace": "operators",
            },
            {},
            id="an object that names its ClusterServiceVersion",
        ),
        pytest.param({"olm.managed": "true"}, {}, id="the label of OLM v0 alone"),
        pytest.param(
            {},
            {"meta.helm.sh/release-name": "boats", "meta.helm.sh/release-namespace": "default"},
            id="a former release",
        ),
        pytest.param({"core.rukpak.io/owner-uid": "a-uid-of-nobody"}, {}, id="a BundleDeployment that is not there"),
    ],
)
async def test_a_definition_that_nobody_owns_any_more_is_taken_over_with_its_custom_resources(
    at: Harness, running: Client, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    await at.create(NAMESPACES, namespace(at.name))
    found = with_metadata(definition(at.group), labels=labels, annotations=annotations)
    created = await at.create(CRDS, found)
    boat = await a_boat(at)
    await adopt(at, definition(at.group), config_map("log", at.name))
    await at.until(READY)
    crd = await at.find(CRDS, f"boats.{at.group}")
    assert crd is not None
    assert crd["metadata"]["uid"] == created["metadata"]["uid"]
    kept = await at.find(kind_of(at.group), "dinghy", at.name)
    assert kept is not None
    assert (kept["metadata"]["uid"], kept["spec"]) == (boat["metadata"]["uid"], boat["spec"])


async def test_what_a_tool_owns_is_taken_over_when_its_owner_is_deleted(at: Harness, running: Client) -> None:
    for kind in (CLUSTER_SERVICE_VERSIONS, SUBSCRIPTIONS):
        await at.create(CRDS, operator_definition(kind))
        await at.read(kind)
    await at.create(NAMESPACES, namespace(at.name))
    component = {"operators.coreos.com/boats.operators": ""}
    version = thing(CLUSTER_SERVICE_VERSIONS, "boats.v1.0.0", at.name, labels=component)
    subscription = thing(SUBSCRIPTIONS, "boats", at.name, labels=component)
    for kind, body in ((CLUSTER_SERVICE_VERSIONS, version), (SUBSCRIPTIONS, subscription)):
        await at.create(kind, body)
    release = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "sh.helm.release.v1.log.v1"}}
    await at.create(SECRETS, with_metadata(release, namespace=at.name, labels={"owner": "helm", "name": "log"}))
    await at.create(CRDS, with_metadata(definition(at.group), labels={"olm.managed": "true", **component}))
    boat = await a_boat(at)
    log = config_map("log", at.name, whose="mine")
    helm = {"meta.helm.sh/release-name": "log", "meta.helm.sh/release-namespace": at.name}
    await at.create(CONFIG_MAPS, with_metadata(log, annotations=helm))

    await adopt(at, definition(at.group), config_map("log", at.name, whose="bundle"))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    message = triple(raw, "Ready")[2]
    assert message == (
        f"CustomResourceDefinition.apiextensions.k8s.io boats.{at.group} already exists and is managed by OLM v0 "
        f"(ClusterServiceVersion {at.name}/boats.v1.0.0): delete its Subscription and its ClusterServiceVersion, and it is "
        "taken over (OLM v0 keeps CustomResourceDefinitions and their custom resources)"
    )
    await at.client.delete(CLUSTER_SERVICE_VERSIONS, "boats.v1.0.0", at.name)
    await at.until(says("Stalled", "True", "Blocked", f"(Subscription {at.name}/boats)"))
    await at.client.delete(SUBSCRIPTIONS, "boats", at.name)
    raw = await at.until(says("Stalled", "True", "Blocked", f"(Secret {at.name}/sh.helm.release.v1.log.v1)"))
    assert data(await at.find(CONFIG_MAPS, "log", at.name))["whose"] == "mine"
    await at.client.delete(SECRETS, "sh.helm.release.v1.log.v1", at.name)
    await at.until(READY)
    assert data(await at.find(CONFIG_MAPS, "log", at.name))["whose"] == "bundle"
    kept = await at.find(kind_of(at.group), "dinghy", at.name)
    assert kept is not None
    assert kept["metadata"]["uid"] == boat["metadata"]["uid"]


async def test_where_the_owner_cannot_be_known_the_message_names_what_to_remove(at: Harness, running: Client) -> None:
    annotations = {"argocd.argoproj.io/tracking-id": f"fleet:apiextensions.k8s.io/CustomResourceDefinition:/{at.group}"}
    labels = {"kustomize.toolkit.fluxcd.io/name": "fleet", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    await at.create(NAMESPACES, namespace(at.name))
    await at.create(CRDS, with_metadata(definition(at.group), annotations=annotations, labels=labels))
    boat = await a_boat(at)
    await adopt(at, definition(at.group))
    raw = await at.until(says("Stalled", "True", "Blocked"))
    assert triple(raw, "Ready")[2] == (
        f"CustomResourceDefinition.apiextensions.k8s.io boats.{at.group} already exists and is managed by Argo CD: have Argo CD "
        "let go of it without deleting it, remove its argocd.argoproj.io/tracking-id, and it is taken over with its custom "
        "resources"
    )
    await at.client.patch(CRDS, f"boats.{at.group}", {"metadata": {"annotations": dict.fromkeys(annotations)}})
    await at.until(says("Stalled", "True", "Blocked", "remove its kustomize.toolkit.fluxcd.io/name, and"))
    await at.client.patch(CRDS, f"boats.{at.group}", {"metadata": {"labels": dict.fromkeys(labels)}})
    await at.until(READY)
    kept = await at.find(kind_of(at.group), "dinghy", at.name)
    assert kept is not None
    assert kept["metadata"]["uid"] == boat["metadata"]["uid"]


VALIDATING = next(kind for kind in WEBHOOK_CONFIGURATIONS if kind.kind == "ValidatingWebhookConfiguration")


def fleet(at: Harness) -> list[tuple[Kind, Object]]:
    """The objects of a bundle, of kinds with and without a namespace."""
    webhook = {"apiVersion": VALIDATING.api_version, "kind": VALIDATING.kind, "metadata": {"name": at.name}}
    return [
        (NAMESPACES, namespace(at.name)),
        (CRDS, definition(at.group)),
        (CLUSTER_ROLES, cluster_role(at.name, rules=[])),
        (VALIDATING, webhook),
        (CONFIG_MAPS, config_map("log", at.name)),
        (DEPLOYMENTS, deployment("engine", at.name)),
    ]


async def leave(at: Harness, kind: Kind, body: Object, uid: str) -> Object:
    """An object as it is after an apply of the BundleDeployment of our name with that uid."""
    labels = {member_label(uid): "true"} if kind == NAMESPACES else {OWNER: uid}
    return await at.client.apply(kind, with_metadata(body, labels=labels), manager_name(at.name))


def of_an_older_version(body: Object) -> Object:
    """The object with what the bundle no longer has."""
    if body["kind"] == "ConfigMap":
        return {**body, "data": {"old": "true"}}
    if body["kind"] == VALIDATING.kind:
        service = {"namespace": "nowhere", "name": "nobody"}
        rules = [{"apiGroups": ["old.example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
        old = {"name": "old.example.com", "clientConfig": {"service": service}, "rules": rules, "sideEffects": "None"}
        return {**body, "webhooks": [{**old, "admissionReviewVersions": ["v1"]}]}
    return body


def is_of(uid: str) -> Callable[[Object | None], bool]:
    return lambda raw: (raw or {"metadata": {}})["metadata"].get("labels", {}).get(OWNER) == uid


async def owner_uids(at: Harness) -> dict[str, str]:
    """The uid in the label of each of these objects but the Namespace, by kind."""
    found = {}
    for kind, body in fleet(at)[1:]:
        obj = await at.find(kind, body["metadata"]["name"], body["metadata"].get("namespace", ""))
        found[kind.kind] = (obj or {"metadata": {}})["metadata"].get("labels", {}).get(OWNER, "")
    return found


async def test_what_a_dead_leader_has_applied_too_late_is_taken_over_by_one_of_any_name(
    at: Harness, tmp_path: Path
) -> None:
    """Its request for the CustomResourceDefinition is on its way while another leader removes the BundleDeployment."""
    other, ref = f"{at.name}-b", at.push(plain(*(body for _, body in fleet(at))))
    async with run_as(LateProxy, at.cluster.kubeconfig, tmp_path) as between:
        between.hold(rb"PATCH /apis/apiextensions\.k8s\.io/\S*/boats\.(?!\S*dryRun)")
        dead = settings(at.cluster, tmp_path / "dead", kubeconfig=str(between.kubeconfig))
        async with run_killable("rukpak", dead, build):
            await at.install(ref)
            await between.until_held(1)
        async with rukpak(at.cluster, tmp_path / "alive"):
            uid = (at.deployments.get(at.name) or {})["metadata"]["uid"]
            await at.remove()
            await at.until(gone)
            assert await between.carry_out() == [201]
            assert (await owner_uids(at))["CustomResourceDefinition"] == uid
            for kind, body in fleet(at):
                if kind != CRDS:
                    await leave(at, kind, of_an_older_version(body), uid)
            await at.install(ref, name=other)
            raw = await at.until(READY, name=other)
            assert set((await owner_uids(at)).values()) == {raw["metadata"]["uid"]}
            assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {}
            webhooks = await at.find(VALIDATING, at.name)
            assert webhooks is not None
            assert "webhooks" not in webhooks
            for kind, body in fleet(at)[1:]:  # a late change of what was taken over
                await leave(at, kind, body, uid)
            for kind, body in fleet(at)[1:]:
                metadata = body["metadata"]
                await at.when(kind, metadata["name"], metadata.get("namespace", ""), is_of(raw["metadata"]["uid"]))
            await at.until(READY, name=other)
            await at.remove(other)
            await at.until(gone, name=other)
            assert set((await owner_uids(at)).values()) == {""}


class OvertakenClient(Client):
    """Has something happen once, before it hands on the answer to the question for a BundleDeployment."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def request(self, method: str, path: str, **options: Any) -> Object:
        answer = await super().request(method, path, **options)
        if (
            self.meanwhile
            and path == bundledeployments.KIND.path()
            and (options.get("query") or {}).get("fieldSelector")
        ):
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return answer


@pytest.mark.parametrize(
    "kind", [pytest.param(CRDS, id="a definition"), pytest.param(CONFIG_MAPS, id="an object of another kind")]
)
async def test_what_somebody_else_takes_over_first_stays_theirs(at: Harness, tmp_path: Path, kind: Kind) -> None:
    body, faster, slower = next(body for each, body in fleet(at) if each == kind), f"{at.name}-b", f"{at.name}-c"
    await at.create(NAMESPACES, namespace(at.name))
    left = await leave(at, kind, body, str(uuid.uuid4()))
    await at.install(f"{at.cluster.registry}/nothing@sha256:{'0' * 64}", name=faster)
    uid = (await at.until(lambda raw: raw is not None, name=faster))["metadata"]["uid"]

    async def meanwhile() -> None:
        taken = with_metadata(body, labels={OWNER: uid}, uid=left["metadata"]["uid"])
        await at.client.apply(kind, taken, manager_name(faster))

    async with rukpak(at.cluster, tmp_path, make=OvertakenClient) as client:
        assert isinstance(client, OvertakenClient)
        client.meanwhile = meanwhile
        await at.install(at.push(plain(body)), name=slower)
        await at.until(says("Stalled", "True", "Blocked", f"belongs to BundleDeployment {faster}"), name=slower)
        found = await at.find(kind, body["metadata"]["name"], body["metadata"].get("namespace", ""))
        assert is_of(uid)(found)


async def test_what_others_may_still_want_is_left_to_the_policy(at: Harness, running: Client) -> None:
    """A BundleDeployment of the name that is there again, or somebody who has changed what the deleted one has left."""
    other, ref = f"{at.name}-b", at.push(plain(*(body for _, body in fleet(at)[:3])))
    await at.install(at.push(plain(namespace(at.name), config_map("own", at.name)), tag="again"))
    await at.until(READY)
    for kind, body in fleet(at)[1:3]:
        await leave(at, kind, body, str(uuid.uuid4()))
    boat = await a_boat(at)
    await at.install(ref, name=other)
    blocked = says("Stalled", "True", "Blocked", f"an earlier BundleDeployment {at.name} has left it")
    raw = await at.until(blocked, name=other)
    assert "IfUnowned" in triple(raw, "Ready")[2]
    assert "delete" not in triple(raw, "Ready")[2]
    await at.client.patch(CLUSTER_ROLES, at.name, {"metadata": {"labels": {"color": "red"}}})
    await at.remove()
    text = (
        f"ClusterRole.rbac.authorization.k8s.io {at.name} already exists and BundleDeployment {at.name}, which is gone"
    )
    raw = await at.until(says("Stalled", "True", "Blocked", text), name=other)
    assert "set adoptionPolicy to IfUnowned to take it over" in triple(raw, "Ready")[2]
    await adopt(at, *(body for _, body in fleet(at)[:3]), name=other)
    await at.until(READY, name=other)
    kept = await at.find(kind_of(at.group), "dinghy", at.name)
    assert kept is not None
    assert kept["metadata"]["uid"] == boat["metadata"]["uid"]


async def test_the_end_of_the_owner_starts_the_next_try(at: Harness, running: Client) -> None:
    """Its finalizer is removed by hand: it leaves everything, and nothing but its own deletion shows it."""
    other, ref = f"{at.name}-b", at.push(plain(*(body for _, body in fleet(at))))
    await at.install(ref)
    await at.until(READY)
    await at.install(ref, name=other)
    await at.until(says("Stalled", "True", "Blocked", f"belongs to BundleDeployment {at.name}"), name=other)
    patch = {"metadata": {"annotations": {DELETION_HOLD_ANNOTATION: "the test"}}}
    await at.client.patch(bundledeployments.KIND, at.name, patch)
    await at.remove()
    await at.until(says("Ready", "False", "DeletionHeld"))
    await at.client.patch(bundledeployments.KIND, at.name, {"metadata": {"finalizers": None}})
    raw = await at.until(READY, name=other)
    assert set((await owner_uids(at)).values()) == {raw["metadata"]["uid"]}


async def test_an_owner_that_the_informers_do_not_show_is_found(at: Harness) -> None:
    """The API server is asked also if an informer lags behind, and if the name that applied the object leads nowhere."""

    async def ownership(asking: str) -> Ownership:
        found = await at.find(CLUSTER_ROLES, at.name)
        assert found is not None
        return await find_ownership(at.client, found, lambda uid: "", asking)

    await at.install(f"{at.cluster.registry}/nothing@sha256:{'0' * 64}")
    uid = (await at.until(lambda raw: raw is not None))["metadata"]["uid"]
    role = cluster_role(at.name, rules=[])
    await leave(at, CLUSTER_ROLES, role, uid)
    found = await ownership("another")
    assert (found.owner, found.is_held, found.is_left) == (f"BundleDeployment {at.name}", True, False)
    await leave(at, CLUSTER_ROLES, role, str(uuid.uuid4()))
    found = await ownership("another")
    assert (found.owner, found.is_left, found.departed is not None and found.departed.is_replaced) == ("", False, True)
    assert (await ownership(at.name)).is_left
    await at.remove()
    await at.until(gone)
    assert (await ownership("another")).is_left
    default = await at.client.get(NAMESPACES, "default")
    owner = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "name": "default",
        "uid": default["metadata"]["uid"],
        "controller": True,
    }
    await at.client.patch(CLUSTER_ROLES, at.name, {"metadata": {"ownerReferences": [owner]}})
    found = await ownership("another")
    assert (found.owner, found.is_left) == ("Namespace default", False)
    await at.client.delete(CLUSTER_ROLES, at.name)
    body = with_metadata(role, labels={OWNER: uid})
    await at.client.apply(CLUSTER_ROLES, body, manager_name("../nodes"))
    found = await ownership("another")
    assert (found.owner, found.departed, found.is_left) == ("", None, False)


async def test_what_others_have_taken_the_label_from_is_repaired(
    at: Harness, running: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """As `kubectl replace` does with a manifest without labels. What an earlier one of the name was to leave stays left."""
    caplog.set_level("INFO")
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    log, engine, role = (
        config_map("log", at.name, a="1", b="1"),
        deployment("engine", at.name),
        cluster_role(at.name, rules=rules),
    )
    ref = at.push(plain(namespace(at.name), log, engine, role))
    await at.install(f"{at.cluster.registry}/bundles/nothing:{at.name}")
    created = await at.until(says("HasValidBundle", "False", "UnpackFailed"))
    next_second = datetime.fromisoformat(created["metadata"]["creationTimestamp"]) + timedelta(seconds=1)
    while datetime.now(UTC) < next_second:  # noqa: ASYNC110 entries have times in seconds, and there is no event to await
        await asyncio.sleep(0.05)
    await at.install(ref)
    uid = (await at.until(READY))["metadata"]["uid"]
    for kind, body, changed in (
        (CONFIG_MAPS, log, config_map("log", at.name, a="2", b="1")),
        (DEPLOYMENTS, engine, engine),
        (CLUSTER_ROLES, role, with_metadata(role, labels={OWNER: "a-uid-of-nobody"})),
    ):
        name, inside = body["metadata"]["name"], body["metadata"].get("namespace", "")
        before = await at.find(kind, name, inside)
        await at.client.request("PUT", kind.path(inside or None, name), body=changed)
        after = await at.when(kind, name, inside, is_of(uid))
        assert before is not None
        assert after is not None
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert data(await at.find(CONFIG_MAPS, "log", at.name)) == {"a": "1", "b": "1"}
    raw = await at.until(READY)
    assert "True" not in triple(raw, "Stalled")
    repaired = f"reverted ConfigMap {at.name}/log: others had removed its label {OWNER}"
    assert repaired in {record.getMessage() for record in caplog.records}

    await at.client.patch(bundledeployments.KIND, at.name, {"spec": {"deletionPolicy": "Orphan"}})
    await at.remove()
    await at.until(gone)
    await at.install(ref)
    await at.until(says("Stalled", "True", "Blocked", "set adoptionPolicy to IfUnowned to take it over"))
