"""Selects the objects that are no longer in the bundle and are removed next. Pure.

Objects come first, then Namespaces. Whether a CustomResourceDefinition or a Namespace is deleted is decided by
rukpak.bundledeployment.deletion.retention, from its usage: the Plan before reads it.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.api.bundledeployments import Reason
from olmkit.errors import ApiError, Waiting
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.delays import SYNC_POLL_DELAY, UNREACHABLE_RETRY_DELAY
from rukpak.bundledeployment.deletion.retention import (
    Retention,
    crd_retention,
    is_only_member,
    namespace_retention,
    unsettled,
)
from rukpak.bundledeployment.plan import NamespaceRemoval, Prune, ReadUsage
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.world import CRD, NAMESPACE, BriefWait, LabeledObject, Usage, World


def obsolete_objects(world: World, content: RenderedBundle) -> list[LabeledObject]:
    """Objects of the BundleDeployment that are not in `content`, also those that are being deleted, sorted by key."""
    entries = sorted(world.owned.items())
    return [entry for key, entry in entries if key not in content.keys and not world.is_left(key)]


def prune(world: World, content: RenderedBundle) -> ReadUsage | Prune | None:
    """The next removal, or what has to be read before; None when all objects that are not in the bundle are removed or being
    deleted.

    Raises Waiting when nothing can be removed because usage cannot be read.
    """
    obsolete = obsolete_objects(world, content)
    if not obsolete:
        return prune_namespaces(world, _obsolete_namespaces(world, content))
    remaining = _remaining(obsolete)
    kept = tuple(entry for entry in remaining if world.is_kept(entry))
    others = tuple(entry for entry in remaining if not (_is_crd(entry) or world.is_kept(entry)))
    return Prune(delete=others, release=kept) if kept or others else _prune_crds(world, remaining)


def require_settled(world: World, namespaces: Iterable[NamespaceInfo]) -> None:
    """Raise BriefWait while others have to record something before the BundleDeployment can leave these Namespaces."""
    text = unsettled(namespaces)
    if text and not world.abandoned:
        raise BriefWait(Reason.REMOVING, text, SYNC_POLL_DELAY)


def _prune_crds(world: World, remaining: list[LabeledObject]) -> ReadUsage | Prune | None:
    """The other objects are deleted before the usage of CustomResourceDefinitions is read: custom resources that were in the
    bundle do not count as usage.
    """
    needed = ReadUsage(crds=tuple(remaining))
    if not needed.uids <= world.usage.keys():
        return needed
    crds: dict[Retention, list[LabeledObject]] = {Retention.DELETE: [], Retention.RELEASE: []}
    for crd in remaining:
        usage = world.usage.get(crd.uid)
        if isinstance(usage, Usage):
            crds[crd_retention(usage)].append(crd)
    plan = Prune(delete_crds=tuple(crds[Retention.DELETE]), release=tuple(crds[Retention.RELEASE]))
    if plan.is_empty:
        _raise_unread(world, needed)
        return None
    return plan


def _remaining(obsolete: list[LabeledObject]) -> list[LabeledObject]:
    return [entry for entry in obsolete if entry.deletion_timestamp is None]


def _obsolete_namespaces(world: World, content: RenderedBundle) -> list[NamespaceInfo]:
    wanted = {item.key.name for item in content.objects() if item.key[:2] == NAMESPACE}
    return [
        namespace
        for name, namespace in sorted(world.namespaces.items())
        if namespace.is_member and name not in wanted and namespace.deletion_timestamp is None
    ]


def prune_namespaces(world: World, namespaces: list[NamespaceInfo]) -> ReadUsage | Prune | None:
    """Decide what becomes of Namespaces that are not needed any more, or what has to be read before; None if there are none left.

    Raises Waiting when nothing can be removed because usage cannot be read.
    """
    needed = ReadUsage(namespaces=tuple(filter(is_only_member, namespaces)))
    if not needed.uids <= world.usage.keys():
        return needed
    removals: list[NamespaceRemoval] = []
    for namespace in namespaces:
        usage = world.usage.get(namespace.uid)
        retention = namespace_retention(namespace, usage if isinstance(usage, Usage) else None)
        if retention is not None:
            removals.append(NamespaceRemoval(namespace, retention))
    if removals:
        return Prune(namespaces=tuple(removals))
    _raise_unread(world, needed)
    require_settled(world, namespaces)
    return None


def release_namespaces(world: World, namespaces: list[NamespaceInfo]) -> Prune | None:
    """The end of all memberships of a BundleDeployment that is being deleted and keeps everything."""
    require_settled(world, namespaces)
    removals = tuple(
        NamespaceRemoval(entry, Retention.RELEASE if is_only_member(entry) else Retention.LEAVE) for entry in namespaces
    )
    return Prune(namespaces=removals) if removals else None


def _raise_unread(world: World, unread: ReadUsage) -> None:
    texts = [_unread(world, str(entry.key), entry.uid) for entry in unread.crds]
    texts += [_unread(world, f"Namespace {entry.name}", entry.uid) for entry in unread.namespaces]
    if texts:
        names = [
            *(str(entry.key) for entry in unread.crds),
            *(f"Namespace {entry.name}" for entry in unread.namespaces),
        ]
        text = f"not removed, because its objects cannot be listed: {list_names(texts, '; ')}"
        raise Waiting(Reason.OBJECT_LOOKUP_FAILURE, text, UNREACHABLE_RETRY_DELAY, names)


def _unread(world: World, name: str, uid: str) -> str:
    error = world.usage.get(uid)
    return f"{name} ({error.message})" if isinstance(error, ApiError) else name


def _is_crd(entry: LabeledObject) -> bool:
    return entry.key[:2] == CRD
