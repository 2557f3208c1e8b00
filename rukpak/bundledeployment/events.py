"""Which BundleDeployments a change concerns. Used by rukpak.bundledeployment.reconciler as the `keys` of its informers. Never
decides.

A change that cannot lead to another decision wakes nobody: with 41 BundleDeployments in one Namespace, or 700 CRDs that appear,
waking all of them each time would be most of the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from olmkit.api import bundledeployments
from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment import transforms
from rukpak.bundledeployment.rest_mapper import GroupKind
from rukpak.bundledeployment.transforms import CrdDefinition
from rukpak.bundledeployment.world import manager_name

UID_INDEX = "uid"


@dataclass
class Interests:
    """What of the cluster matters to one BundleDeployment beside its own objects."""

    kinds: frozenset[GroupKind] = frozenset()
    """Group-kinds that it has objects of or needs."""
    namespaces: frozenset[str] = frozenset()
    crds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class EventMapper:
    """`concerns` is kept up to date by the observer, by name."""

    deployments: Informer
    concerns: dict[str, Interests] = field(default_factory=dict)

    def name(self, uid: str) -> str:
        """The BundleDeployment of a uid; empty when there is none."""
        found = self.deployments.by_index(UID_INDEX, uid)
        return str(found[0]["metadata"]["name"]) if found else ""

    def names(self, uids: Iterable[str]) -> Iterator[str]:
        """The BundleDeployments of some uids, as far as there are."""
        return filter(None, map(self.name, sorted(uids)))

    def by_deployment(self, change: Change) -> Iterator[str]:
        """Itself; when one goes, those that are stalled, perhaps by what it had."""
        obj = change.new or change.old or {}
        yield obj["metadata"]["name"]
        if change.new is None:
            yield from (name for name, raw in _named(self.deployments.objects) if _is_stalled(raw))

    def by_bundle(self, change: Change) -> Iterator[str]:
        """Whose it is, and whose it would be by its name."""
        for obj in filter(None, (change.old, change.new)):
            yield from (entry["name"] for entry in controllers(obj))
            yield obj["metadata"]["name"].rpartition("-")[0]

    def by_namespace(self, change: Change) -> Iterator[str]:
        """Whose part of it changed; everybody who is in it or wants it when it comes, begins to go or is gone."""
        old, new = transforms.namespace_info_of(change.old), transforms.namespace_info_of(change.new)
        if old is not None and new is not None and old.deletion_timestamp == new.deletion_timestamp:
            yield from self.names(old.members ^ new.members)
            managers = {manager for manager, _ in old.applied_fields.items() ^ new.applied_fields.items()}
            yield from (manager.removeprefix(manager_name("")) for manager in sorted(managers))
            return
        for facts in filter(None, (old, new)):
            yield from self.names(facts.members)
            yield from (name for name, known in list(self.concerns.items()) if facts.name in known.namespaces)

    def by_crd(self, change: Change) -> Iterator[str]:
        """Who has it or wants it; when it begins or ceases to be served, those that have or lack such objects."""
        old, new = transforms.definition_of(change.old), transforms.definition_of(change.new)
        crd = new or old
        if crd is None:
            return
        owners = {uid for obj in (change.old, change.new) if obj for uid in transforms.owner_uid_index(obj)}
        yield from self.names(owners)
        is_kind_news = _served(old) != _served(new)
        is_news = old is None or new is None or old.info != new.info
        for name, known in list(self.concerns.items()):
            if (is_kind_news and (crd.group, crd.kind) in known.kinds) or (is_news and crd.info.name in known.crds):
                yield name

    def by_api_service(self, change: Change) -> Iterator[str]:
        """When an aggregated API server comes, goes or answers again: those that have or lack objects of its group."""
        before, after = transforms.remote_of(change.old), transforms.remote_of(change.new)
        if before == after:
            return
        groups = {group for group, _ in filter(None, (before, after))}
        for name, known in list(self.concerns.items()):
            if any(group in groups for group, _ in known.kinds):
                yield name


def controllers(obj: Object) -> list[Object]:
    """The owner that is a BundleDeployment and the controller; none or one."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return [entry for entry in owners if entry.get("controller") and entry.get("kind") == bundledeployments.KIND.kind]


def _named(objects: Mapping[tuple[str, str], Object]) -> Iterator[tuple[str, Object]]:
    return ((name, raw) for (_, name), raw in objects.items())


def _is_stalled(raw: Object) -> bool:
    return any(entry["type"] == "Stalled" for entry in (raw.get("status") or {}).get("conditions") or ())


def _served(crd: CrdDefinition | None) -> tuple[str, ...]:
    return crd.versions if crd is not None and crd.is_served else ()
