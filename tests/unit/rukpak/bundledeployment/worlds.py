"""Worlds of one BundleDeployment for tables: each function changes one part of an ordinary one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from olmkit.api.bundledeployments import FINALIZER, BundleDeployment
from olmkit.api.conditions import format_timestamp
from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.api.ownership import manager_name
from olmkit.api.provisioner_classes import HELM
from olmkit.errors import OlmError
from rukpak.bundledeployment.bundle_info import BundleInfo, UnpackState
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo, OtherMember, member_label
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.evaluate import evaluate
from rukpak.bundledeployment.health.health_result import Health
from rukpak.bundledeployment.plan import Done, Plan, Release
from rukpak.bundledeployment.rendered_bundle import InstallPhase, RenderedBundle, RenderedNamespace, RenderedObject
from rukpak.bundledeployment.report import BundleDeploymentReport, report
from rukpak.bundledeployment.revisions.target import bundle_name
from rukpak.bundledeployment.world import CRD, NAMESPACE, CustomResource, LabeledObject, LastApplied, World
from rukpak.crds.conversion_order import NO_VERSIONS, Versions
from rukpak.format.objects import ObjectKey
from rukpak.render.phases import PHASE_NAMES, phase_of
from tests.causes import PublishedReports, assert_causes

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
NAME, UID = "ship", "uid-ship"
MANAGER = manager_name(NAME)
ENTRY = "entry"

NS = ObjectKey("", "Namespace", "", "ship-system")
DEFINITION = ObjectKey(*CRD, "", "boats.example.com")
ROLE = ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "captain")
SECRET = ObjectKey("", "Secret", "ship-system", "log")
WORKLOAD = ObjectKey("apps", "Deployment", "ship-system", "engine")
BOAT = ObjectKey("example.com", "Boat", "ship-system", "dinghy")
ALL = (NS, DEFINITION, ROLE, SECRET, WORKLOAD, BOAT)


def ago(**parts: float) -> datetime:
    """A moment before now."""
    return NOW - timedelta(**parts)


def rendered(
    *keys: ObjectKey, bundle: str = "", digest: str = "v1", storage: str = "v1", **other: Any
) -> RenderedBundle:
    """A bundle of these objects (all of the ordinary ones without), each hashed as `digest`."""
    wanted = keys or ALL
    stages = []
    for name in PHASE_NAMES:
        items = tuple(
            RenderedObject(key, "v1", digest, Versions((storage,), (), storage) if key[:2] == CRD else NO_VERSIONS)
            for key in wanted
            if phase_of(key) == name
        )
        if items:
            stages.append(InstallPhase(name, items))
    namespaces = tuple(RenderedNamespace(key.name) for key in wanted if key[:2] == NAMESPACE)
    return RenderedBundle(bundle, f"sha256:{digest}", "ship-system", tuple(stages), namespaces=namespaces, **other)


def raw(
    ref: str = "registry.example.com/ship:v1",
    *,
    status: Mapping[str, Any] | None = None,
    provisioner: str = "core-rukpak-io-plain",
    annotations: Mapping[str, str] | None = None,
    template: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """A BundleDeployment as read; with its finalizer, generation 1."""
    spec = {"provisionerClassName": "core-rukpak-io-registry", "source": {"type": "image", "image": {"ref": ref}}}
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {
            "name": NAME,
            "uid": UID,
            "generation": 1,
            "resourceVersion": "7",
            "finalizers": [FINALIZER],
            "annotations": dict(annotations or {}),
            **metadata,
        },
        "spec": {
            "provisionerClassName": provisioner,
            "template": {"spec": spec, **({"metadata": dict(template)} if template else {})},
        },
        "status": dict(status or {"observedGeneration": -1}),
    }


def revision(number: int, ref: str = "registry.example.com/ship:v1", outcome: str = "Succeeded", **other: Any) -> Any:
    """A revision of the history, as read."""
    spec = raw(ref)["spec"]["template"]["spec"]
    return {
        "revision": number,
        "bundle": bundle_name(NAME, spec),
        "spec": spec,
        "install": "{}",
        "outcome": outcome,
        "startedAt": "2026-01-01T10:00:00Z",
        **other,
    }


def world(obj: dict[str, Any] | None = None, **other: Any) -> World:
    """A World of a BundleDeployment that nothing was done for yet."""
    obj = obj or raw()
    return World(now=NOW, raw=obj, deployment=BundleDeployment.load(obj), custom_resources=(), **other)


def bundle(name: str, unpacking: UnpackState = UnpackState.DONE, message: str = "") -> BundleInfo:
    """A Bundle of it, labelled and annotated as the template asks for."""
    labels = {
        "core.rukpak.io/owner-kind": "BundleDeployment",
        "core.rukpak.io/owner-name": NAME,
        "core.rukpak.io/bundle-template-hash": name.rpartition("-")[2],
    }
    return BundleInfo(name, f"uid-{name}", unpacking, message, labels)


def unpacked(seen: World | None = None, content: RenderedBundle | OlmError | None = None) -> World:
    """The wanted Bundle is unpacked; its content is the ordinary one unless given."""
    seen = seen or world()
    known = content if content is not None else rendered()
    if isinstance(known, RenderedBundle):
        known = replace(known, bundle=seen.target_bundle)
    return replace(seen, bundles={**seen.bundles, seen.target_bundle: bundle(seen.target_bundle)}, content=known)


def member(key: ObjectKey, **facts: Any) -> LabeledObject:
    """An object that we applied; well if it is a workload."""
    health = Health("True") if key == WORKLOAD else None
    return LabeledObject(key, f"uid-{key.name}", "3", **{"applied_fields": {MANAGER: ENTRY}, "health": health, **facts})


def namespace(name: str = NS.name, *members: str, created: bool = True, **facts: Any) -> NamespaceInfo:
    """A Namespace with these members (ours alone without), made by rukpak if it is `created`."""
    labels = {member_label(uid): "true" for uid in members or (UID,)}
    others = tuple(OtherMember(uid, is_labeled=True, is_recorded=created) for uid in members if uid != UID)
    seen = {"is_member": not members or UID in members, "is_created": created, "others": others}
    return NamespaceInfo(
        name, f"uid-{name}", "4", **{"labels": labels, "applied_fields": {MANAGER: ENTRY}, **seen, **facts}
    )


def recorded(seen: World, name: str = NS.name, uid: str | None = None) -> World:
    """The status has recorded that the Namespace is about to be created, or was created with this uid."""
    entry = {"name": name, **({"uid": uid} if uid else {})}
    obj = {**seen.raw, "status": {**seen.raw["status"], "createdNamespaces": [entry]}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def inventoried(seen: World, keys: Iterable[ObjectKey] | None = None) -> World:
    """The inventory names the kinds of these objects (those of the content without)."""
    if keys is None:
        assert isinstance(seen.content, RenderedBundle)
        keys = [item.key for item in seen.content.objects()]
    return replace(seen, inventory=frozenset(key[:2] for key in keys if key[:2] != NAMESPACE))


def applied(seen: World, *without: ObjectKey) -> World:
    """Every object of the content is there as we applied it, but those."""
    assert isinstance(seen.content, RenderedBundle)
    items = [item for item in seen.content.objects() if item.key not in without]
    seen = inventoried(seen)
    return replace(
        seen,
        labeled={**seen.labeled, **{item.key: member(item.key) for item in items if item.key[:2] != NAMESPACE}},
        namespaces={**seen.namespaces, **{item.key.name: namespace(item.key.name) for item in items if item.key == NS}},
        crds={**seen.crds, **{item.key.name: crd(item.key.name) for item in items if item.key[:2] == CRD}},
        last_applied={
            **seen.last_applied,
            **{item.key: LastApplied(item.digest, ENTRY, ago(hours=1)) for item in items},
        },
    )


def crd(name: str = DEFINITION.name, **facts: Any) -> CustomResourceDefinition:
    """A CRD of ours that is established."""
    return CustomResourceDefinition(
        name, f"uid-{name}", **{"owner_uid": UID, "is_established": True, "storage_version": "v1", **facts}
    )


def installed(**other: Any) -> World:
    """Installed, healthy, nothing to do."""
    obj = raw()
    active = bundle_name(NAME, obj["spec"]["template"]["spec"])
    status = {"activeBundle": active, "observedGeneration": 1, "revision": 1, "history": [revision(1)]}
    return applied(unpacked(world(raw(status=status), **other)))


def long_installed(seen: World) -> World:
    """Its first revision was installed hours ago."""
    status = seen.deployment.status
    history = [one.model_copy(update={"installed_at": format_timestamp(ago(hours=3))}) for one in status.history or ()]
    status = status.model_copy(update={"history": history})
    return replace(seen, deployment=seen.deployment.model_copy(update={"status": status}))


def unwell(health: Health, before: World | None = None) -> World:
    """Installed, and its workload says that of itself."""
    seen = before or installed()
    return replace(seen, labeled={**seen.labeled, WORKLOAD: member(WORKLOAD, health=health)})


def upgrading(content: RenderedBundle | OlmError | None = None, old: RenderedBundle | None = None) -> World:
    """Version 1 is installed, the template asks for version 2, which is unpacked and has begun."""
    before = installed()
    assert before.active_bundle is not None
    history = [revision(2, "registry.example.com/ship:v2", "InProgress"), revision(1)]
    status = {"activeBundle": before.active_bundle, "observedGeneration": 2, "revision": 1, "history": history}
    obj = raw("registry.example.com/ship:v2", status=status, generation=2)
    after = unpacked(world(obj), content or rendered(digest="v2"))
    return replace(
        after,
        bundles={**after.bundles, before.active_bundle: bundle(before.active_bundle)},
        active_content=replace(old or rendered(), bundle=before.active_bundle),
        inventory=before.inventory,
        labeled=before.labeled,
        namespaces=before.namespaces,
        crds=before.crds,
        last_applied=before.last_applied,
    )


def deleting(seen: World | None = None, **metadata: Any) -> World:
    """Somebody deleted it."""
    seen = seen or installed()
    obj = {**seen.raw, "metadata": {**seen.raw["metadata"], "deletionTimestamp": "2026-01-01T11:00:00Z", **metadata}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def of_chart(seen: World) -> World:
    """The same of a chart."""
    spec = seen.raw["spec"]
    template = {**spec["template"], "spec": {**spec["template"]["spec"], "provisionerClassName": HELM}}
    obj = {**seen.raw, "spec": {**spec, "template": template}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def instance(name: str = "yacht", **facts: Any) -> CustomResource:
    """A custom resource that a person made."""
    return CustomResource(ObjectKey("example.com", "Boat", "harbour", name), f"uid-{name}", "5", **facts)


def plan_of(seen: World) -> Plan:
    """The Plan that `decide` returns; raises the error when there is none."""
    decision = decide(seen)
    if isinstance(decision.plan, OlmError):
        raise decision.plan
    assert not isinstance(decision.plan, Release)
    return decision.plan


def report_of(seen: World, outcome: Done | Exception) -> BundleDeploymentReport:
    """What `report` returns for a pass that ended so."""
    result = report(seen, evaluate(seen), outcome)
    assert result is not None
    assert_causes(seen.deployment.status, result)
    return result


def events_after(steps: list[tuple[World, Done | Exception]]) -> list[tuple[str, str]]:
    """Type and reason of the Events of several passes, each over the status of the one before."""
    published = PublishedReports(steps[0][0].deployment.status)
    events: list[tuple[str, str]] = []
    for seen, outcome in steps:
        seen = replace(seen, deployment=seen.deployment.model_copy(update={"status": published.status}))
        events += published.events(report_of(seen, outcome))
    return events
