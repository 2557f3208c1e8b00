"""Maps watch events to keys: which BundleDeployments a change enqueues. Never decides.

A change that cannot lead to another decision enqueues nothing. With 41 BundleDeployments in one Namespace, or 700 CRDs that are
created, enqueuing all BundleDeployments for each change would be most of the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.api import bundledeployments
from olmkit.api.customresourcedefinitions import CustomResourceDefinition, definition_of
from olmkit.api.meta import Object
from olmkit.api.ownership import MANAGER_PREFIX
from olmkit.runtime.informer import Change, Informer
from olmkit.sources.spec_source import InputReference
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.inventory import OWNER_INDEX
from rukpak.bundledeployment.deletion.crd_removal import removes_custom_resources
from rukpak.bundledeployment.world import Interests

UID_INDEX, CREATED_INDEX, REQUIRED_INDEX = "uid", "created", "required"


@dataclass
class EventMapper:
    """Maps changes with the `interests` of each BundleDeployment by name, which are recorded at the end of each pass."""

    deployments: Informer
    crds: Informer
    namespaces: Informer
    interests: dict[str, Interests] = field(default_factory=dict)
    changes: int = 0
    """The number of changes that the interests have mapped."""
    _removing: dict[str, str] = field(default_factory=dict)
    """uid -> name of the BundleDeployments that are removing their CRDs with all custom resources."""

    def __post_init__(self) -> None:
        self.deployments.subscribe(self._note_removal)

    def name_of(self, uid: str) -> str:
        """The name of the BundleDeployment with this uid; empty if there is none."""
        found = self.deployments.by_index(UID_INDEX, uid)
        return str(found[0]["metadata"]["name"]) if found else ""

    def names_of(self, uids: Iterable[str]) -> Iterator[str]:
        """The names of the existing BundleDeployments with these uids."""
        return filter(None, map(self.name_of, sorted(uids)))

    def remover_of(self, crd: CustomResourceDefinition) -> str:
        """The name of the BundleDeployment that installed the CRD and is removing it with all custom resources; empty if there is
        none. Threads that render may call it."""
        name = self._removing.get(crd.owner_uid, "")
        return name if name and crd.is_applied_by(crd.owner_uid, name) else ""

    def record(self, name: str, interests: Interests, changes_before: int) -> bool:
        """Record the interests of a BundleDeployment, as observed by a pass that began after `changes_before` changes. Returns
        True if a change may have been missed, because it was mapped with other interests."""
        is_another = self.interests.get(name, Interests()) != interests
        self.interests[name] = interests
        return is_another and self.changes != changes_before

    def _note_removal(self, change: Change) -> None:
        for obj in filter(None, (change.old, change.new)):  # with the name, another one may have come
            self._removing.pop(obj["metadata"]["uid"], None)
        if change.new is not None and removes_custom_resources(change.new):
            self._removing[change.new["metadata"]["uid"]] = change.new["metadata"]["name"]

    def keys_of_deployment(self, change: Change) -> Iterator[str]:
        """The BundleDeployment itself. If it starts or stops removing its CRDs, also the BundleDeployments with objects of their
        kinds. If it is deleted, also all stalled BundleDeployments, because its objects may have been the reason. Also the
        BundleDeployments that have to record that rukpak created a Namespace before this one leaves it, and the BundleDeployments
        that wait for its record."""
        obj = change.new or change.old or {}
        yield obj["metadata"]["name"]
        yield from self._successors(change)
        yield from self._predecessors(change)
        removals = [each for each in filter(None, (change.old, change.new)) if removes_custom_resources(each)]
        if len(removals) == 1:
            self.changes += 1
            found = map(definition_of, self.crds.by_index(OWNER_INDEX, removals[0]["metadata"]["uid"]))
            kinds = {crd.group_kind for crd in found if crd is not None}
            yield from (name for name, known in list(self.interests.items()) if known.kinds & kinds)
        if change.new is None:
            yield from (name for name, raw in _named(self.deployments.objects) if _is_stalled(raw))

    def _successors(self, change: Change) -> Iterator[str]:
        """The other members of its Namespaces that have no record of them, if the BundleDeployment may leave these Namespaces."""
        if change.new is None or (change.old is not None and _asked(change.old) == _asked(change.new)):
            return
        for name in recorded_namespaces(change.new):
            namespace = transforms.namespace_info_of(self.namespaces.get(name))
            for uid in sorted(namespace.members) if namespace is not None else ():
                found = self.deployments.by_index(UID_INDEX, uid)
                yield from (raw["metadata"]["name"] for raw in found if name not in recorded_namespaces(raw))

    def _predecessors(self, change: Change) -> Iterator[str]:
        """The members that are being deleted and have a record of the same Namespaces, if the record of the BundleDeployment
        changes."""
        old, new = (frozenset(recorded_namespaces(raw)) if raw else frozenset() for raw in (change.old, change.new))
        for name in sorted(old ^ new):
            for raw in self.deployments.by_index(CREATED_INDEX, name):
                if "deletionTimestamp" in raw["metadata"]:
                    yield raw["metadata"]["name"]

    def keys_of_bundle(self, change: Change) -> Iterator[str]:
        """The owner of the Bundle, and the BundleDeployment that would own it according to its name."""
        for obj in filter(None, (change.old, change.new)):
            yield from (entry["name"] for entry in controller_references(obj))
            yield obj["metadata"]["name"].rpartition("-")[0]

    def keys_of_namespace(self, change: Change) -> Iterator[str]:
        """The BundleDeployments whose part of the Namespace changed. If it is created or deleted, all its members and all
        BundleDeployments that need it."""
        old, new = transforms.namespace_info_of(change.old), transforms.namespace_info_of(change.new)
        if old is not None and new is not None and old.deletion_timestamp == new.deletion_timestamp:
            yield from self.names_of(old.members ^ new.members)
            managers = {manager for manager, _ in old.applied_fields.items() ^ new.applied_fields.items()}
            yield from (manager.removeprefix(MANAGER_PREFIX) for manager in sorted(managers))
            return
        self.changes += 1
        for namespace in filter(None, (old, new)):
            yield from self.names_of(namespace.members)
            yield from (name for name, known in list(self.interests.items()) if namespace.name in known.namespaces)

    def keys_of_crd(self, change: Change) -> Iterator[str]:
        """The owner of the CRD and the BundleDeployments that need it. If it starts or stops being served, also the
        BundleDeployments with objects of its kind."""
        old, new = definition_of(change.old), definition_of(change.new)
        crd = new or old
        if crd is None:
            return
        self.changes += 1
        owners = {uid for obj in (change.old, change.new) if obj for uid in transforms.owner_uid_index(obj)}
        yield from self.names_of(owners)
        is_kind_news = _served(old) != _served(new)
        # The schema of one that is about to be taken over is no part of its facts.
        is_news = old is None or new is None or old != new or not crd.owner_uid
        for name, known in list(self.interests.items()):
            is_kind_wanted = known.all_kinds or crd.group_kind in known.kinds
            if (is_kind_news and is_kind_wanted) or (is_news and crd.name in known.crds):
                yield name

    def keys_of_values(self, kind: str, change: Change) -> Iterator[str]:
        """The BundleDeployments of whose charts a Secret or ConfigMap of the suite's namespace has values."""
        obj = change.new or change.old or {}
        reference = InputReference(kind, obj["metadata"]["name"])
        self.changes += 1
        yield from (name for name, known in list(self.interests.items()) if reference in known.values)

    def keys_of_api_service(self, change: Change) -> Iterator[str]:
        """The BundleDeployments with objects of a group whose aggregated API server became available or unavailable."""
        before, after = transforms.remote_of(change.old), transforms.remote_of(change.new)
        if before == after:
            return
        self.changes += 1
        groups = {group for group, _ in filter(None, (before, after))}
        for name, known in list(self.interests.items()):
            if known.all_kinds or any(group in groups for group, _ in known.kinds):
                yield name


def recorded_namespaces(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the Namespaces that a BundleDeployment has recorded as created by rukpak. An index of the informer."""
    return tuple(entry["name"] for entry in (raw.get("status") or {}).get("createdNamespaces") or ())


def controller_references(obj: Object) -> list[Object]:
    """The owner references to a controlling BundleDeployment: none or one."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return [entry for entry in owners if entry.get("controller") and entry.get("kind") == bundledeployments.KIND.kind]


def _asked(raw: Object) -> object:
    """The parts of a BundleDeployment that people change. After a change it may leave a Namespace."""
    return raw["metadata"]["generation"], raw["metadata"].get("deletionTimestamp")


def _named(objects: Mapping[tuple[str, str], Object]) -> Iterator[tuple[str, Object]]:
    return ((name, raw) for (_, name), raw in objects.items())


def _is_stalled(raw: Object) -> bool:
    return any(entry["type"] == "Stalled" for entry in (raw.get("status") or {}).get("conditions") or ())


def _served(crd: CustomResourceDefinition | None) -> tuple[str, ...]:
    return crd.served_versions if crd is not None and crd.is_served else ()
