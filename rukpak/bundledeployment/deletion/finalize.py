"""The next step for a BundleDeployment that is being deleted.

    the annotation that holds the deletion: nothing is deleted before it is removed
    the account with whose permissions objects are deleted: nothing is deleted before it exists and has all permissions
    objects, in the order of rukpak.bundledeployment.deletion.deletion_order
    Namespaces: left or deleted, see rukpak.bundledeployment.deletion.retention; objects in them that the bundle did not bring are
    reported first
    the finalizer

Objects of a chart that Helm would keep stay too, with their Namespace.

With the deletion policy KeepCRDs the CRDs, their custom resources and Namespaces with objects of others stay, with Orphan all
objects do: their labels are removed.

Depends on the inventory only: content, Bundles and catalogs may be deleted already. Never removes finalizers of others: an object
that cannot be deleted is named, and with the abandon annotation it is left behind. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus

from olmkit.api.bundledeployments import ABANDON_ANNOTATION, FINALIZER, Reason
from olmkit.errors import ApiError, Unavailable, Waiting
from olmkit.gocompat.text import list_names
from olmkit.stored_times import has_passed
from rukpak.bundledeployment.account_rules import await_account_to_delete, leaves_everything
from rukpak.bundledeployment.announcements import is_announced
from rukpak.bundledeployment.cluster.namespace_info import NamespaceInfo
from rukpak.bundledeployment.delays import (
    SYNC_POLL_DELAY,
    UNREACHABLE_RETRY_DELAY,
    WATCHED_RETRY_DELAY,
    describe_deleting,
    poll_delay,
    with_finalizers,
)
from rukpak.bundledeployment.deletion.deletion_order import DELETE_BATCH, Entry, in_order, waves
from rukpak.bundledeployment.deletion.prune import prune_namespaces, release_namespaces, require_settled
from rukpak.bundledeployment.deletion.removal_rights import check_prune, check_removal
from rukpak.bundledeployment.deletion.retention import Retention, finalized_namespace_retention, is_only_member
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.plan import (
    Announce,
    DeleteObjects,
    Keep,
    LeaveNamespaces,
    ListForeignObjects,
    NamespaceRemoval,
    Plan,
    Prune,
    RemoveFinalizer,
)
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    BriefWait,
    CustomResource,
    LabeledObject,
    ListFailure,
    World,
)
from rukpak.format.objects import ObjectKey

STUCK_AFTER = timedelta(minutes=10)
MAX_RECHECK_DELAY = timedelta(minutes=1)
UNLISTED_RETRY_DELAY = timedelta(seconds=5)


def finalize(world: World, evaluation: Evaluation) -> Plan:
    """The next step. Raises Waiting while objects are being deleted, BriefWait while it is not known which objects there are."""
    if FINALIZER not in world.deployment.metadata.finalizers:
        return Keep()
    _require_no_hold(evaluation)
    await_account_to_delete(world)
    if leaves_everything(world):
        return RemoveFinalizer()
    _require_synced(world)
    if (check := check_removal(world)) is not None:
        return check
    _require_known(world)
    objects = _delete_objects(world) or _release_kept(world) or _release_objects(world)
    return objects or check_prune(world, _remove_namespaces(world, evaluation)) or RemoveFinalizer()


def _require_no_hold(evaluation: Evaluation) -> None:
    """Raise Waiting while the deletion is held; the event of the annotation ends it."""
    if evaluation.deletion_hold:
        raise Waiting(Reason.DELETION_HELD, evaluation.deletion_hold, WATCHED_RETRY_DELAY)


def _require_synced(world: World) -> None:
    unsynced = world.unsynced - world.unreachable_kinds
    if unsynced:
        kinds = list_names(kind for _, kind in unsynced)
        raise BriefWait(Reason.OBJECT_LOOKUP_FAILURE, f"listing {kinds}", SYNC_POLL_DELAY)


def _require_known(world: World) -> None:
    if world.abandoned or not (world.unreachable_kinds or world.custom_resources is None):
        return
    if world.unreachable_kinds:
        groups = list_names({group for group, _ in world.unreachable_kinds})
        text = f"the API server does not answer for {groups}: its objects cannot be removed"
        raise Waiting(Reason.OBJECT_LOOKUP_FAILURE, text, UNREACHABLE_RETRY_DELAY)
    text = _unlisted(world, world.list_failure) if world.list_failure is not None else "custom resources are not listed"
    raise Waiting(Reason.OBJECT_LOOKUP_FAILURE, text, UNLISTED_RETRY_DELAY)


def _unlisted(world: World, failure: ListFailure) -> str:
    """The API server does not list custom resources: its answer, and how the deletion can go on."""
    definition, error = failure.definition, failure.error
    what = f"{definition.kind}.{definition.group}"
    text = f"the API server does not list {what}, which has to be removed: {error.message}"
    if definition.conversion.is_webhook and error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        text += (
            f"; see to its conversion webhook {definition.conversion.address}, or set spec.conversion of "
            f"CustomResourceDefinition {definition.name} "
            'to {"strategy":"None"}: what is removed need not be converted'
        )
    return f"{text}{abandon_hint(world, [error])}"


def _delete_objects(world: World) -> Plan | None:
    """Delete everything but Namespaces, and what the policy keeps, in waves."""
    if world.deletion_policy == "Orphan":
        return None
    resources = {entry.key: entry for entry in world.custom_resources or ()}
    kept = _kept(world)
    remaining: list[Entry] = [entry for key, entry in resources.items() if key not in kept]
    remaining += [entry for key, entry in world.owned.items() if key not in resources and key not in kept]
    if world.deletion_policy == "KeepCRDs":
        remaining = [entry for entry in remaining if entry.key[:2] != CRD]
    for wave in waves(remaining, world.webhooks_without_endpoints):
        plan = _wave(world, wave.name, wave.entries)
        if plan is not None:
            return plan
    return None


def _kept(world: World) -> dict[ObjectKey, LabeledObject]:
    """The objects of a chart that are kept."""
    return {key: entry for key, entry in sorted(world.owned.items()) if world.is_kept(entry)}


def _release_kept(world: World) -> Plan | None:
    """Release the objects of a chart that are kept; before them their Namespaces, which would be deleted with them."""
    kept = [entry for entry in _kept(world).values() if _is_releasable(world, entry)]
    if not kept or world.deletion_policy == "Orphan":
        return None
    holding = [entry for entry in _members(world) if entry.name in {one.key.namespace for one in kept}]
    require_settled(world, holding)
    if own := [NamespaceRemoval(entry, Retention.RELEASE) for entry in holding if is_only_member(entry)]:
        return Prune(namespaces=tuple(own))
    return Prune(release=tuple(kept[:DELETE_BATCH]))


def _release_objects(world: World) -> Plan | None:
    """Release what the policy keeps."""
    if world.deletion_policy == "Cascade":
        return None
    kept = [entry for _, entry in sorted(world.owned.items()) if _is_releasable(world, entry)]
    return Prune(release=tuple(kept[:DELETE_BATCH])) if kept else None


def _is_releasable(world: World, entry: LabeledObject) -> bool:
    return entry.deletion_timestamp is None and not _is_left_behind(world, entry.uid)


def _wave(world: World, name: str, entries: Sequence[Entry]) -> Plan | None:
    """Delete the entries in order, then wait until they are deleted. None: none remains."""
    if not entries:
        return None
    remaining = [
        entry for entry in entries if entry.deletion_timestamp is None and not _is_left_behind(world, entry.uid)
    ]
    if remaining:
        return DeleteObjects(name, in_order(remaining))
    if world.abandoned:
        return None
    raise _wait_for(world, name, entries)


def _wait_for(world: World, name: str, entries: Sequence[Entry]) -> Waiting:
    """Objects with finalizers are named at once, other objects when their deletion takes long."""
    ages = {
        entry.key: world.now - entry.deletion_timestamp for entry in entries if entry.deletion_timestamp is not None
    }
    stuck = [entry for entry in entries if ages.get(entry.key, timedelta()) >= STUCK_AFTER]
    held = [entry for entry in entries if entry.finalizers and entry.key in ages and entry not in stuck]
    text = "; ".join(
        filter(
            None,
            [
                _describe("waiting for", held),
                _describe("not deleted for more than 10 minutes:", stuck),
            ],
        )
    )
    text = f"removing {name}: {text}" if text else f"removing {name}"
    is_polled = any(isinstance(entry, CustomResource) for entry in entries)
    until_stuck = [STUCK_AFTER - age for age in ages.values() if age < STUCK_AFTER]
    polled = [poll_delay(world.now, (entry.deletion_timestamp for entry in entries))] if is_polled else []
    hint = abandon_hint(world) if stuck else ""
    return Waiting(Reason.REMOVING, text + hint, min([MAX_RECHECK_DELAY, *until_stuck, *polled]))


def _describe(words: str, entries: Sequence[Entry]) -> str:
    listed = list_names(with_finalizers(entry.key, entry.finalizers) for entry in entries)
    return f"{words} {listed}" if entries else ""


def abandon_hint(world: World, errors: Iterable[ApiError] = ()) -> str:
    """Say how to proceed when an object cannot be deleted, as the end of a message. What is left behind is never removed. So this
    is empty while the deletion is younger than STUCK_AFTER, in which most of what refuses passes, and if any of the `errors` of
    the API server says nothing about the object: too many requests, a server or a webhook that does not answer."""
    began = world.deployment.metadata.deletion_timestamp
    may_pass = any(isinstance(error, Unavailable) or error.status == HTTPStatus.UNAUTHORIZED for error in errors)
    if may_pass or began is None or not has_passed(datetime.fromisoformat(began), STUCK_AFTER, world.now):
        return ""
    return f"; kubectl annotate bundledeployment {world.name} {ABANDON_ANNOTATION}=true leaves it behind"


def _remove_namespaces(world: World, evaluation: Evaluation) -> Plan | None:
    """Leave, release or delete the Namespaces; foreign objects are listed and reported before they are deleted with a
    Namespace."""
    if world.deletion_policy == "Orphan":
        return release_namespaces(world, _members(world))
    if world.deletion_policy == "KeepCRDs":
        return prune_namespaces(world, _members(world))
    delete, leave = (_remaining_namespaces(world, retention) for retention in (Retention.DELETE, Retention.LEAVE))
    if unlisted := tuple(namespace for namespace in delete if namespace.uid not in world.foreign_objects):
        return ListForeignObjects(unlisted)
    if not is_announced(world, evaluation):
        return Announce()
    if leave or delete:
        return LeaveNamespaces(leave, delete)
    require_settled(world, _members(world))
    deleting = [entry for entry in _namespaces(world, Retention.DELETE) if entry.deletion_timestamp is not None]
    if deleting and not world.abandoned:
        raise _wait_for_namespaces(world, deleting)
    return None


def _members(world: World) -> list[NamespaceInfo]:
    """The Namespaces that the BundleDeployment is a member of, that are not being deleted, and that are not left behind."""
    known = (entry for _, entry in sorted(world.namespaces.items()) if entry.is_member)
    return [entry for entry in known if entry.deletion_timestamp is None and not _is_left_behind(world, entry.uid)]


def _namespaces(world: World, retention: Retention) -> tuple[NamespaceInfo, ...]:
    """The Namespaces that the BundleDeployment is a member of and for which the rules give this retention."""
    return tuple(
        namespace
        for _, namespace in sorted(world.namespaces.items())
        if namespace.is_member and finalized_namespace_retention(namespace) is retention
    )


def _remaining_namespaces(world: World, retention: Retention) -> tuple[NamespaceInfo, ...]:
    return tuple(
        namespace
        for namespace in _namespaces(world, retention)
        if namespace.deletion_timestamp is None and not _is_left_behind(world, namespace.uid)
    )


def _is_left_behind(world: World, uid: str) -> bool:
    """Report whether the API server refuses to delete the object, and it may stay."""
    return world.abandoned and uid in world.undeletable


def _wait_for_namespaces(world: World, leaving: list[NamespaceInfo]) -> Waiting:
    text = (
        f"removing {list_names(describe_deleting(world, ObjectKey(*NAMESPACE, '', entry.name)) for entry in leaving)}"
    )
    ages = [world.now - entry.deletion_timestamp for entry in leaving if entry.deletion_timestamp is not None]
    if max(ages) >= STUCK_AFTER:
        text += f": not deleted for more than 10 minutes{abandon_hint(world)}"
    delay = poll_delay(world.now, (entry.deletion_timestamp for entry in leaving))
    return Waiting(Reason.REMOVING, text, min(MAX_RECHECK_DELAY, delay))
