"""Worlds of one BundleDeployment for tables: each function says one thing about it, the rest is as ordinary as can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from olmkit.api.bundledeployments import CREATED_LABEL, FINALIZER, BundleDeployment
from olmkit.errors import OlmError
from rukpak.bundledeployment.health import Health
from rukpak.bundledeployment.template import bundle_name
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    BundleFacts,
    CrdFacts,
    Instance,
    Item,
    Member,
    NamespaceFacts,
    NamespaceItem,
    Note,
    Rendered,
    Stage,
    Unpacking,
    World,
    manager_name,
    member_label,
)
from rukpak.format.objects import ObjectKey
from rukpak.render.phases import NAMES, phase_of

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


def rendered(*keys: ObjectKey, bundle: str = "", digest: str = "v1", storage: str = "v1", **other: Any) -> Rendered:
    """A bundle of these objects (all of the ordinary ones without), each hashed as `digest`."""
    wanted = keys or ALL
    stages = []
    for name in NAMES:
        items = tuple(
            Item(key, "v1", digest, storage if key[:2] == CRD else "") for key in wanted if phase_of(key) == name
        )
        if items:
            stages.append(Stage(name, items))
    namespaces = tuple(NamespaceItem(key.name) for key in wanted if key[:2] == NAMESPACE)
    return Rendered(bundle, f"sha256:{digest}", "ship-system", tuple(stages), namespaces=namespaces, **other)


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


def world(obj: dict[str, Any] | None = None, **other: Any) -> World:
    """A World of a BundleDeployment that nothing was done for yet."""
    obj = obj or raw()
    wanted = bundle_name(NAME, obj["spec"]["template"]["spec"])
    return World(now=NOW, raw=obj, deployment=BundleDeployment.load(obj), wanted=wanted, instances=(), **other)


def bundle(name: str, unpacking: Unpacking = Unpacking.DONE, message: str = "") -> BundleFacts:
    """A Bundle of it, labelled and annotated as the template asks for."""
    labels = {
        "core.rukpak.io/owner-kind": "BundleDeployment",
        "core.rukpak.io/owner-name": NAME,
        "core.rukpak.io/bundle-template-hash": name.rpartition("-")[2],
    }
    return BundleFacts(name, f"uid-{name}", unpacking, message, labels)


def unpacked(seen: World | None = None, content: Rendered | OlmError | None = None) -> World:
    """The wanted Bundle is unpacked; its content is the ordinary one unless given."""
    seen = seen or world()
    known = content if content is not None else rendered()
    if isinstance(known, Rendered):
        known = replace(known, bundle=seen.wanted)
    return replace(seen, bundles={**seen.bundles, seen.wanted: bundle(seen.wanted)}, content=known)


def member(key: ObjectKey, **facts: Any) -> Member:
    """An object that we applied; well if it is a workload."""
    health = Health("True") if key == WORKLOAD else None
    return Member(key, f"uid-{key.name}", "3", **{"entries": {MANAGER: ENTRY}, "health": health, **facts})


def namespace(name: str = NS.name, *members: str, created: bool = True, **facts: Any) -> NamespaceFacts:
    """A Namespace with these members (ours alone without), made by rukpak."""
    labels = {member_label(uid): "true" for uid in members or (UID,)}
    labels |= {CREATED_LABEL: "true"} if created else {}
    return NamespaceFacts(name, f"uid-{name}", "4", **{"labels": labels, "entries": {MANAGER: ENTRY}, **facts})


def inventoried(seen: World, keys: Iterable[ObjectKey] | None = None) -> World:
    """The inventory names the kinds of these objects (those of the content without)."""
    if keys is None:
        assert isinstance(seen.content, Rendered)
        keys = [item.key for item in seen.content.items()]
    return replace(seen, inventory=frozenset(key[:2] for key in keys if key[:2] != NAMESPACE))


def applied(seen: World, *without: ObjectKey) -> World:
    """Every object of the content is there as we applied it, but those."""
    assert isinstance(seen.content, Rendered)
    items = [item for item in seen.content.items() if item.key not in without]
    seen = inventoried(seen)
    return replace(
        seen,
        members={**seen.members, **{item.key: member(item.key) for item in items if item.key[:2] != NAMESPACE}},
        namespaces={**seen.namespaces, **{item.key.name: namespace(item.key.name) for item in items if item.key == NS}},
        crds={**seen.crds, **{item.key.name: crd(item.key.name) for item in items if item.key[:2] == CRD}},
        notes={**seen.notes, **{item.key: Note(item.digest, ENTRY, ago(hours=1)) for item in items}},
    )


def crd(name: str = DEFINITION.name, **facts: Any) -> CrdFacts:
    """A CRD of ours that is established."""
    return CrdFacts(name, f"uid-{name}", **{"owner": UID, "established": True, "storage": "v1", **facts})


def installed(**other: Any) -> World:
    """Installed, healthy, nothing to do."""
    obj = raw()
    active = bundle_name(NAME, obj["spec"]["template"]["spec"])
    return applied(unpacked(world(raw(status={"activeBundle": active, "observedGeneration": 1}), **other)))


def upgrading(content: Rendered | OlmError | None = None, old: Rendered | None = None) -> World:
    """Version 1 is installed, the template asks for version 2, which is unpacked."""
    before = installed()
    assert before.active is not None
    obj = raw(
        "registry.example.com/ship:v2", status={"activeBundle": before.active, "observedGeneration": 2}, generation=2
    )
    after = unpacked(world(obj), content or rendered(digest="v2"))
    return replace(
        after,
        bundles={**after.bundles, before.active: bundle(before.active)},
        active_content=replace(old or rendered(), bundle=before.active),
        inventory=before.inventory,
        members=before.members,
        namespaces=before.namespaces,
        crds=before.crds,
        notes=before.notes,
    )


def deleting(seen: World | None = None, **metadata: Any) -> World:
    """Somebody deleted it."""
    seen = seen or installed()
    obj = {**seen.raw, "metadata": {**seen.raw["metadata"], "deletionTimestamp": "2026-01-01T11:00:00Z", **metadata}}
    return replace(seen, raw=obj, deployment=BundleDeployment.load(obj))


def instance(name: str = "yacht", **facts: Any) -> Instance:
    """A custom resource that a person made."""
    return Instance(ObjectKey("example.com", "Boat", "harbour", name), f"uid-{name}", "5", **facts)
