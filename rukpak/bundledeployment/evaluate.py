"""Evaluates a World for its BundleDeployment, once per pass, as soon as all facts that the evaluation depends on are read.

The facts that are read later depend on the evaluation. decide and report get it. Pure.
"""

from __future__ import annotations

from olmkit.api.bundledeployments import FINALIZER, MAX_DELETION_HOLD_LENGTH, Reason
from olmkit.api.failures import FailureReason
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment import upgrade_hold
from rukpak.bundledeployment.bundle_info import UnpackState
from rukpak.bundledeployment.crd_upgrade import crd_gate
from rukpak.bundledeployment.delays import (
    CONTENT_RETRY_DELAY,
    UNREACHABLE_RETRY_DELAY,
    WATCHED_RETRY_DELAY,
    describe_deleting,
    poll_delay,
)
from rukpak.bundledeployment.deletion.retention import is_only_member
from rukpak.bundledeployment.evaluation import Evaluation, StorageMove
from rukpak.bundledeployment.rendered_bundle import Content, MissingContent, RenderedBundle, UnrenderedChart
from rukpak.bundledeployment.revisions.rollback import obstacle
from rukpak.bundledeployment.world import NAMESPACE, FailedStep, Refused, World
from rukpak.crds.conversion_order import interruption
from rukpak.format.objects import ObjectKey


def evaluate(world: World) -> Evaluation:
    """The evaluation of one pass."""
    if world.deployment.metadata.deleting:
        return Evaluation(foreign_objects=_foreign_objects(world), deletion_hold=_deletion_hold(world))
    blocker = (
        _unpack_blocker(world)
        or _content_blocker(world)
        or namespace_blocker(world, world.content)
        or crd_gate.blocker(world)
        or upgrade_hold.hold_blocker(world)
    )
    permission = crd_gate.permission(world)
    return Evaluation(
        blocker,
        crd_gate.remarks(permission),
        permission.permitted_loss,
        storage_moves(world),
        _interruptions(world),
        obstacle(world),
    )


def storage_moves(world: World) -> tuple[StorageMove, ...]:
    """The changes of storage versions of CRDs by the upgrade, sorted, without the changes that are done already. A rollback
    leaves the new storage versions."""
    if not world.is_upgrade or not isinstance(world.content, RenderedBundle):
        return ()
    applied = (item for item in world.content.objects() if not world.is_left(item.key))
    live = {item.key.name: (world.crds.get(item.key.name), item.versions.storage) for item in applied}
    moved = [
        StorageMove(name, crd.storage_version, storage)
        for name, (crd, storage) in live.items()
        if storage and crd is not None and crd.owner_uid == world.uid and crd.storage_version not in ("", storage)
    ]
    return tuple(sorted(moved))


def _interruptions(world: World) -> str:
    """Name the requests that fail while the conversion of custom resources changes."""
    content = world.content
    if not world.is_upgrade or not isinstance(content, RenderedBundle):
        return ""
    sentences = {
        interruption(live, item.versions, is_awaited=item.key in content.awaited_keys)
        for item in content.objects()
        if item.versions.conversion.is_webhook
        and not world.is_left(item.key)
        and item.key in world.owned
        and (live := world.crds.get(item.key.name)) is not None
    }
    return list_names(sentences - {""}, "; ")


def unpacking(world: World) -> str:
    """The sentence about a Bundle that is not unpacked. One of an upload names what it waits for; the progress of others would
    change with each layer."""
    bundle = world.bundles.get(world.target_bundle)
    text = f"Waiting for the {world.target_bundle} Bundle to be unpacked"
    return f"{text}: {bundle.message}" if bundle is not None and bundle.is_pending_upload else text


def _unpack_blocker(world: World) -> OlmError | None:
    bundle = world.bundles.get(world.target_bundle)
    failed = f"Failed to unpack the {world.target_bundle} Bundle: {bundle.message if bundle else ''}"
    if bundle is None or bundle.is_deleting or bundle.unpack_state is UnpackState.PENDING:
        return Waiting(Reason.UNPACK_PENDING, unpacking(world), WATCHED_RETRY_DELAY)
    if bundle.unpack_state is UnpackState.RETRYING:
        return Waiting(Reason.UNPACK_FAILED, failed, WATCHED_RETRY_DELAY, [world.target_bundle])
    if bundle.unpack_state is UnpackState.FAILED:
        return Blocked(Reason.UNPACK_FAILED, failed, [world.target_bundle])
    return None


def _content_blocker(world: World) -> OlmError | None:
    match world.content:
        case MissingContent():
            return Waiting(
                Reason.UNPACK_PENDING,
                f"the content of the {world.target_bundle} Bundle is unavailable",
                CONTENT_RETRY_DELAY,
            )
        case UnrenderedChart():
            text = f"the chart of the {world.target_bundle} Bundle is being rendered"
            return Waiting(Reason.UNPACK_PENDING, text, WATCHED_RETRY_DELAY)
        case Waiting() as error:
            failure, reason, subject = (
                FailureReason.UNPACK_FAILED,
                Reason.BUNDLE_LOAD_FAILED,
                [error.reason, *error.subject],
            )
            return FailedStep(failure, reason, error.message, error.after, subject)
        case OlmError() as error if error.reason == Reason.INVALID_CONFIGURATION:
            subject, modes = [error.reason, *error.subject], getattr(error, "install_modes", ())
            failure = FailureReason.INVALID_CONFIGURATION
            return Refused(failure, error.reason, error.message, subject, install_modes=modes)
        case OlmError() as error:
            return Blocked(Reason.BUNDLE_LOAD_FAILED, error.message, [error.reason, *error.subject])
        case content if content.faults:
            return Blocked(Reason.BUNDLE_LOAD_FAILED, "; ".join(content.faults), content.faults)
        case content if content.missing_kinds or content.too_old:
            kinds = f"needs kinds that this cluster does not have: {'; '.join(content.missing_kinds)}"
            text = "; ".join(filter(None, [kinds if content.missing_kinds else "", content.too_old]))
            delay = UNREACHABLE_RETRY_DELAY if content.unreachable_groups else WATCHED_RETRY_DELAY
            return Waiting(Reason.WAITING_FOR_KIND, text, delay, content.missing_kinds)
    return None


def namespace_blocker(world: World, content: Content) -> Waiting | None:
    """The wait for Namespaces that have to exist, and that rukpak does not create; None if all of them are there."""
    required = content.required_namespaces if isinstance(content, RenderedBundle) else ()
    keys = [ObjectKey(*NAMESPACE, "", name) for name in sorted(required)]
    absent = [str(key) for key in keys if key.name not in world.namespaces]
    deleting = [describe_deleting(world, key) for key in keys if world.is_deleting(key)]
    if not absent and not deleting:
        return None
    texts = []
    if absent:
        verb, those = ("do", "them") if len(absent) > 1 else ("does", "it")
        texts.append(f"{list_names(absent)} {verb} not exist: create {those}")
    if deleting:
        those, whose = ("them", "their") if len(deleting) > 1 else ("it", "its")
        texts.append(f"create {those} again when {whose} deletion is complete: {list_names(deleting)}")
    since = [world.namespaces[key.name].deletion_timestamp for key in keys if world.is_deleting(key)]
    delay = poll_delay(world.now, since) if since else WATCHED_RETRY_DELAY
    return Waiting(Reason.WAITING_FOR_NAMESPACE, "; ".join(texts), delay, map(str, keys))


def _foreign_objects(world: World) -> str:
    if world.deletion_policy != "Cascade":
        return ""
    uids = [namespace.uid for namespace in world.namespaces.values() if is_only_member(namespace)]
    found = [world.foreign_objects[uid] for uid in uids if uid in world.foreign_objects]
    first, count = [name for entry in found for name in entry.first], sum(entry.count for entry in found)
    names = list_names(first, count=count)
    return f"objects that are not part of the bundle are deleted with their Namespace: {names}" if first else ""


def _deletion_hold(world: World) -> str:
    """The sentence about the hold. Its text comes from anyone who may annotate, so it is reduced to one truncated line of
    printable characters."""
    if FINALIZER not in world.deployment.metadata.finalizers or not world.deletion_hold:
        return ""
    shown = "".join(each if each.isprintable() else " " for each in world.deletion_hold)
    text = " ".join(shown[:MAX_DELETION_HOLD_LENGTH].split())
    return f"deletion is held: {text}"
