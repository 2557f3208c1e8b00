"""Records the Namespaces that rukpak created: in the status of each of their members, by uid, and read from nowhere else.

A Namespace that rukpak created is deleted with its last member, and with everything in it. What the Namespace itself shows is not
evidence of that: labels are copied, and who may patch a Namespace can apply as any field manager.

    before it is created    the record has the name alone, and is written before the create-only apply
    after                   the record has the uid too: the Namespace has our labels from an apply of ours, and we join none
                            while its name alone is recorded
    others join             each member records what it reads in the status of another one
    the first member leaves when another one has recorded it: rukpak.bundledeployment.deletion.retention

So a process that is killed between any two writes leaves a record from which the next one continues. Called by
rukpak.bundledeployment.observe (`observed`), decide (`is_recorded`) and report (`reported`). docs/decisions/0056. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from olmkit.api.bundledeployment_status import CreatedNamespace
from olmkit.api.ownership import manager_name
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo, OtherMember
from rukpak.bundledeployment.plan import Apply, BeginRevision, Done, ForgetNotes, RecordNamespaces
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import NAMESPACE, World

_WRITTEN_BEFORE_APPLY = (BeginRevision, ForgetNotes, RecordNamespaces)
"""Plans after which objects are applied: their status names the Namespaces that are to be created."""


def observed(namespace: NamespaceInfo, raw: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> NamespaceInfo:
    """The Namespace as the BundleDeployment `raw` sees it. `others`: the other BundleDeployments that exist and that the labels
    of the Namespace name, or that have recorded a Namespace of its name; as read."""
    seen = tuple(sorted((_other(namespace, other) for other in others), key=lambda other: other.name))
    labeled = sum(other.is_labeled for other in seen) + (_uid(raw) in namespace.members)
    return replace(
        namespace,
        is_member=_is_member(namespace, raw),
        is_created=_is_recorded(namespace, raw) or any(other.is_recorded for other in seen),
        others=seen,
        is_left_behind=len(namespace.members) > labeled,
    )


def _other(namespace: NamespaceInfo, raw: Mapping[str, Any]) -> OtherMember:
    return OtherMember(raw["metadata"]["name"], _uid(raw) in namespace.members, _is_recorded(namespace, raw))


def _is_member(namespace: NamespaceInfo, raw: Mapping[str, Any]) -> bool:
    return _uid(raw) in namespace.members and manager_name(raw["metadata"]["name"]) in namespace.applied_fields


def _is_recorded(namespace: NamespaceInfo, raw: Mapping[str, Any]) -> bool:
    """Report whether the status of a BundleDeployment says that rukpak created this Namespace."""
    recorded = (raw.get("status") or {}).get("createdNamespaces") or ()
    entry = next((entry for entry in recorded if entry["name"] == namespace.name), None)
    if entry is None:
        return False
    return entry["uid"] == namespace.uid if "uid" in entry else _is_member(namespace, raw)


def _uid(raw: Mapping[str, Any]) -> str:
    uid: str = raw["metadata"]["uid"]
    return uid


def is_recorded(world: World, plan: Apply) -> bool:
    """Report whether the status says what the plan is about to do: which Namespaces it creates, and that it creates no others."""
    intended = {entry.name for entry in _known(world).values() if entry.uid is None}
    names = {item.key.name for step in plan.steps for item in step.items if item.key[:2] == NAMESPACE}
    created = names - world.namespaces.keys() - plan.content.external_namespaces
    joined = {name for name in names & world.namespaces.keys() if not world.namespaces[name].is_member}
    return created <= intended and not joined & intended


def reported(world: World, outcome: Done | Exception) -> list[CreatedNamespace] | None:
    """The record for the status."""
    is_applied_next = isinstance(outcome, Done) and isinstance(outcome.plan, _WRITTEN_BEFORE_APPLY)
    names = _known(world).keys() | world.namespaces.keys() | _bundled(world)
    entries = (_entry(world, name, is_applied_next=is_applied_next) for name in sorted(names))
    return [entry for entry in entries if entry is not None] or None


def _entry(world: World, name: str, *, is_applied_next: bool) -> CreatedNamespace | None:
    namespace, known = world.namespaces.get(name), _known(world).get(name)
    is_wanted = name in _bundled(world) and not world.deployment.metadata.deleting
    if namespace is None:
        if is_wanted and is_applied_next:
            return CreatedNamespace(name=name)
        return known if known is not None and known.uid is None else None
    if namespace.is_member:
        return CreatedNamespace(name=name, uid=namespace.uid) if namespace.is_created else None
    is_same = known is not None and known.uid == namespace.uid
    return known if is_same and (is_wanted or not _is_complete(world)) else None


def _known(world: World) -> dict[str, CreatedNamespace]:
    return {entry.name: entry for entry in world.deployment.status.created_namespaces or ()}


def _bundled(world: World) -> set[str]:
    """The Namespaces that its bundles contain, as far as they are known."""
    contents = (content for content in (world.content, world.active_content) if isinstance(content, RenderedBundle))
    return {item.name for content in contents for item in content.namespaces if item.is_in_bundle}


def _is_complete(world: World) -> bool:
    """Report whether it is known which Namespaces its bundles contain; a BundleDeployment that is being deleted needs none."""
    contents = (world.content,) if world.is_target_active else (world.content, world.active_content)
    return world.deployment.metadata.deleting or all(isinstance(content, RenderedBundle) for content in contents)
