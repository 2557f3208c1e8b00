"""The permissions that the account of a BundleDeployment needs to remove what is installed, or what is no longer in its bundle:
all are asked for before anything is deleted as it.

    an object that is deleted               delete
    an object or a Namespace that is kept   patch: its label is removed
    a custom resource                       list its kind, and delete it

Missing permissions for custom resources are reported without their names. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, Reason
from olmkit.api.failures import FailureReason
from olmkit.api.permissions import MAX_MISSING_RULES
from rukpak.bundledeployment.account_rules import LACKING_RETRY_DELAY, RECHECKED
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.deletion.deletion_order import DELETE_BATCH
from rukpak.bundledeployment.deletion.retention import Retention, is_only_member
from rukpak.bundledeployment.plan import CheckRemovalPermissions, ListForeignObjects, Plan, Prune, Removal
from rukpak.bundledeployment.world import CRD, NAMESPACE, ApplyRejected, ForeignObjects, World
from rukpak.format.objects import ObjectKey
from rukpak.permissions.missing import sentence
from rukpak.permissions.rules import Right, compact

ResourceOf = Callable[[tuple[str, str]], str]
"""(group, kind) -> its plural name; empty if it is not served."""


def check_removal(world: World) -> CheckRemovalPermissions | ListForeignObjects | None:
    """Ask for the permissions of the account before anything is deleted; None without an account, or if it has them. A refused
    deletion makes this process ask again, and so do custom resources that cannot be listed any more."""
    identity = f"{world.account} removes, {world.deletion_policy}, {world.custom_resources is not None}"
    if world.account is None or identity in world.permitted:
        return None
    if unread := tuple(each for each in _own_namespaces(world) if _needs_reading(world, each)):
        return ListForeignObjects(unread)
    removals, unlisted = tuple(_removals(world)), _unlisted(world)
    return CheckRemovalPermissions(identity, removals, unlisted) if removals or unlisted else None


def check_prune(world: World, plan: Plan | None) -> Plan | None:
    """The Plan; before one that deletes or releases objects as an account, ask for exactly the permissions that it needs."""
    removals = tuple(_pruned(world, plan)) if isinstance(plan, Prune) and world.account is not None else ()
    identity = f"{world.account} prunes {[(each.key, each.verb) for each in removals]}"
    return CheckRemovalPermissions(identity, removals) if removals and identity not in world.permitted else plan


def _pruned(world: World, plan: Prune) -> Iterator[Removal]:
    yield from (Removal(entry.key, entry.uid, "delete") for entry in (*plan.delete, *plan.delete_crds))
    yield from (Removal(entry.key, entry.uid, "patch") for entry in plan.release)
    for each in plan.namespaces:
        verb = "delete" if each.retention is Retention.DELETE else "patch"
        if each.retention is not Retention.LEAVE and not world.only_joins(each.namespace.name):
            yield _removal(each.namespace, verb)


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
    yield from (_removal(each, _namespace_verb(world, each)) for each in _own_namespaces(world))


def _removal(namespace: NamespaceInfo, verb: str) -> Removal:
    return Removal(ObjectKey(*NAMESPACE, "", namespace.name), namespace.uid, verb)


def _own_namespaces(world: World) -> Iterator[NamespaceInfo]:
    """The Namespaces that are removed or released as the account; rukpak itself leaves those of others."""
    for _, namespace in sorted(world.namespaces.items()):
        if namespace.is_member and namespace.deletion_timestamp is None and is_only_member(namespace):
            yield namespace


def _needs_reading(world: World, namespace: NamespaceInfo) -> bool:
    """Report whether it depends on the objects of others in it what becomes of the Namespace, and they are not known."""
    is_known = world.deletion_policy != "KeepCRDs" or _holds_kept(world, namespace)
    return not is_known and namespace.uid not in world.foreign_objects


def _namespace_verb(world: World, namespace: NamespaceInfo) -> str:
    foreign = world.foreign_objects.get(namespace.uid, ForeignObjects()).count
    is_inhabited = world.deletion_policy == "KeepCRDs" and foreign > 0
    is_released = world.deletion_policy == "Orphan" or _holds_kept(world, namespace) or is_inhabited
    return "patch" if is_released else "delete"


def _holds_kept(world: World, namespace: NamespaceInfo) -> bool:
    return any(key.namespace == namespace.name and world.is_kept(entry) for key, entry in world.owned.items())


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
    rules = f"{sentence(found.rights)}; status.missingPermissions has the rules; {RECHECKED}"
    subject = [str(world.account), *map(str, compact(found.rights)[:MAX_MISSING_RULES])]
    if not world.deployment.metadata.deleting:
        text = f"{world.account} lacks permissions to remove what is no longer in the bundle: {rules}"
        failure = FailureReason.PERMISSIONS_MISSING
        return ApplyRejected(Reason.BLOCKED, text, LACKING_RETRY_DELAY, subject, missing=found.rights, failure=failure)
    text = (
        f"{world.account} lacks permissions to remove what is installed, so that the deletion waits: {rules}; "
        f"or kubectl annotate bundledeployment {world.name} {ABANDON_ANNOTATION}=true leaves behind what it may not remove"
    )
    return ApplyRejected(Reason.REMOVING, text, LACKING_RETRY_DELAY, subject, missing=found.rights)
