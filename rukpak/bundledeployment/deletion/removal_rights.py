"""The permissions that the account of a BundleDeployment needs to remove what is installed: all are asked for before anything is
deleted as it.

    an object that is deleted               delete
    an object or a Namespace that is kept   patch: its label is removed
    a custom resource                       list its kind, and delete it

Missing permissions for custom resources are reported without their names. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, Reason
from olmkit.api.permissions import MAX_MISSING_RULES
from rukpak.bundledeployment.account_rules import LACKING_RETRY_DELAY, RECHECKED
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.deletion_order import DELETE_BATCH
from rukpak.bundledeployment.deletion.retention import is_only_member
from rukpak.bundledeployment.plan import CheckRemovalPermissions, Removal
from rukpak.bundledeployment.world import CRD, NAMESPACE, ApplyRejected, World
from rukpak.format.objects import ObjectKey
from rukpak.permissions.missing import sentence
from rukpak.permissions.rules import Right, compact

ResourceOf = Callable[[tuple[str, str]], str]
"""(group, kind) -> its plural name; empty if it is not served."""


def check_removal(world: World) -> CheckRemovalPermissions | None:
    """Ask for the permissions of the account before anything is deleted; None without an account, or if it has them. A refused
    deletion makes this process ask again, and so do custom resources that cannot be listed any more."""
    identity = f"{world.account} removes, {world.deletion_policy}, {world.custom_resources is not None}"
    removals = tuple(_removals(world))
    unlisted = _unlisted(world)
    if world.account is None or identity == world.permitted or not (removals or unlisted):
        return None
    return CheckRemovalPermissions(identity, removals, unlisted)


def _removals(world: World) -> Iterator[Removal]:
    resources = [each for each in world.custom_resources or () if each.deletion_timestamp is None]
    yield from (Removal(each.key, each.uid, "delete", is_custom_resource=True) for each in resources[:DELETE_BATCH])
    for key, entry in sorted(world.owned.items()):
        is_released = (
            world.deletion_policy == "Orphan"
            or world.is_kept(entry)
            or (world.deletion_policy == "KeepCRDs" and key[:2] == CRD)
        )
        if entry.deletion_timestamp is None:
            yield Removal(key, entry.uid, "patch" if is_released else "delete")
    for _, namespace in sorted(world.namespaces.items()):
        if _is_removed(world, namespace):
            verb = "delete" if world.deletion_policy == "Cascade" else "patch"
            yield Removal(ObjectKey(*NAMESPACE, "", namespace.name), namespace.uid, verb)


def _is_removed(world: World, namespace: NamespaceInfo) -> bool:
    """Report whether the Namespace is removed or released as the account; rukpak itself leaves those of others."""
    if not namespace.is_member or namespace.deletion_timestamp is not None or not is_only_member(namespace):
        return False
    holds_kept = any(key.namespace == namespace.name and world.is_kept(entry) for key, entry in world.owned.items())
    return world.deletion_policy != "KeepCRDs" and not holds_kept


def _unlisted(world: World) -> tuple[str, ...]:
    """The CustomResourceDefinitions whose custom resources have to be listed before they are deleted, and are not."""
    if world.custom_resources is not None:
        return ()
    return tuple(key.name for key, entry in sorted(world.owned.items()) if key[:2] == CRD and not world.is_kept(entry))


def right_of(removal: Removal, resource_of: ResourceOf) -> Right | None:
    """The right that a removal needs; None if its kind is not served. The API server asks about a Namespace as if it was in
    itself."""
    key = removal.key
    resource = resource_of(key[:2])
    place = key.name if key[:2] == NAMESPACE else key.namespace
    return Right(place, key.group, resource, key.name, removal.verb) if resource else None


def listing_rights(definitions: Iterable[str]) -> frozenset[Right]:
    """The rights on the custom resources of these CustomResourceDefinitions, which are not known."""
    names = (each.partition(".") for each in definitions)
    return frozenset(Right("", group, plural, "", verb) for plural, _, group in names for verb in ("delete", "list"))


@dataclass(frozen=True)
class Lacking:
    """The objects that the account may not remove."""

    removals: tuple[Removal, ...]
    rights: frozenset[Right]

    @property
    def names(self) -> list[str]:
        """The objects, for messages; custom resources by their kind alone."""
        return list(dict.fromkeys(map(_name, self.removals)))


def lacking(plan: CheckRemovalPermissions, missing: frozenset[Right], resource_of: ResourceOf) -> Lacking:
    """The objects that cannot be removed without these rights."""
    removals = tuple(each for each in plan.removals if right_of(each, resource_of) in missing)
    shown = {_shown(each, right) for each in removals if (right := right_of(each, resource_of)) is not None}
    return Lacking(removals, frozenset(shown | (missing & listing_rights(plan.unlisted))))


def _shown(removal: Removal, right: Right) -> Right:
    return right._replace(name="") if removal.is_custom_resource else right


def _name(removal: Removal) -> str:
    key = removal.key
    return f"custom resources of {key.kind}.{key.group}" if removal.is_custom_resource else str(key)


def lacking_to_remove(world: World, found: Lacking) -> ApplyRejected:
    """The error about all rights that the account lacks."""
    text = (
        f"{world.account} lacks permissions to remove what is installed, so that the deletion waits: {sentence(found.rights)}; "
        f"status.missingPermissions has the rules; {RECHECKED}; "
        f"or kubectl annotate bundledeployment {world.name} {ABANDON_ANNOTATION}=true leaves behind what it may not remove"
    )
    subject = [str(world.account), *map(str, compact(found.rights)[:MAX_MISSING_RULES])]
    return ApplyRejected(Reason.REMOVING, text, LACKING_RETRY_DELAY, subject, missing=found.rights)
