"""Decides the next step for one BundleDeployment by a list of rules: the first rule that returns a Plan wins.

Each Plan is one step, and the next pass observes its result. So a process that is killed between any two writes leaves a
World from which the same rules continue. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olmkit.api.bundledeployment_status import BundleRecord
from olmkit.api.bundledeployments import FINALIZER, Reason
from olmkit.api.failures import FailureReason
from olmkit.api.provisioner_classes import HELM, PLAIN, REGISTRY
from olmkit.errors import OlmError, Waiting
from olmkit.gocompat.text import list_names
from olmkit.runtime.reconciler import Decision
from rukpak.admission.bundles import WEBHOOK
from rukpak.bundledeployment.account_rules import await_account, check_permissions, require_account
from rukpak.bundledeployment.announcements import is_announced
from rukpak.bundledeployment.apply.certificate_rotation import rotate, until_rotation
from rukpak.bundledeployment.apply.created_namespaces import is_recorded
from rukpak.bundledeployment.apply.install import apply_objects, prepare, require_synced
from rukpak.bundledeployment.apply.notes import is_outdated
from rukpak.bundledeployment.crd_upgrade.crd_gate import next_check
from rukpak.bundledeployment.delays import (
    CONTENT_RETRY_DELAY,
    UNREACHABLE_RETRY_DELAY,
    WATCHED_RETRY_DELAY,
    WEBHOOK_RETRY_DELAY,
    describe_deleting,
)
from rukpak.bundledeployment.deletion.finalize import finalize
from rukpak.bundledeployment.deletion.prune import obsolete_objects, prune
from rukpak.bundledeployment.deletion.removal_rights import check_prune
from rukpak.bundledeployment.drift import backs_off_until, is_contested
from rukpak.bundledeployment.evaluate import evaluate, namespace_blocker
from rukpak.bundledeployment.evaluation import Evaluation
from rukpak.bundledeployment.health.progress import next_deadline
from rukpak.bundledeployment.plan import (
    Activate,
    Announce,
    Apply,
    ApplyBundle,
    BeginRevision,
    DeleteBundles,
    ForgetNotes,
    Keep,
    Plan,
    RecordNamespaces,
    RecordTemplates,
    Release,
    RenderChart,
    UpdateInventory,
)
from rukpak.bundledeployment.ready_message import is_under_way
from rukpak.bundledeployment.rendered_bundle import RenderedBundle
from rukpak.bundledeployment.revisions.bundle_bodies import desired_bundle_body, differs, recorded_bundle_body
from rukpak.bundledeployment.revisions.history import begins
from rukpak.bundledeployment.revisions.rollback import rollback_plan
from rukpak.bundledeployment.upgrade_hold import copy_conditions
from rukpak.bundledeployment.world import BriefWait, DeletedWorld, Refused, World

Rule = Callable[[World, Evaluation], Plan | None]
"""Returns a Plan; None leaves the decision to the next rule. Raises an OlmError if no later step can be taken."""


def decide(world: World | DeletedWorld) -> Decision[Plan | Release, Evaluation]:
    """The next step, or the error (Blocked, Waiting, BriefWait) that prevents it."""
    if isinstance(world, DeletedWorld):
        return Decision(Release(), Evaluation())
    evaluation = world.evaluation or evaluate(world)
    try:
        return Decision(_plan(world, evaluation), evaluation)
    except OlmError as error:
        return Decision(error, evaluation)


def _plan(world: World, evaluation: Evaluation) -> Plan:
    if world.deployment.metadata.deleting:
        return finalize(world, evaluation)
    plans = (rule(world, evaluation) for rule in RULES)
    return next((plan for plan in plans if plan is not None), Keep())


# --- the Bundle


def _provisioner(world: World, _: Evaluation) -> Plan | None:
    chosen = world.deployment.spec.provisioner_class_name
    format_class = world.deployment.spec.template.spec.provisioner_class_name
    if chosen == PLAIN or chosen == HELM == format_class:
        return None
    if chosen == HELM:
        text = (
            f"spec.provisionerClassName {HELM} installs Helm charts, and spec.template.spec.provisionerClassName is "
            f"{format_class}: set both to {HELM}, or spec.provisionerClassName to {PLAIN}"
        )
        raise Refused(FailureReason.INVALID_CONFIGURATION, Reason.BLOCKED, text, [chosen, format_class])
    if chosen == REGISTRY:
        text = (
            f"spec.provisionerClassName must be {PLAIN}, which installs bundles of any format: "
            f"{chosen} belongs in spec.template.spec.provisionerClassName"
        )
        raise Refused(FailureReason.INVALID_CONFIGURATION, Reason.BLOCKED, text, [chosen])
    raise Refused(
        FailureReason.INVALID_CONFIGURATION,
        Reason.BLOCKED,
        f'provisioner class "{chosen}" does not exist: set spec.provisionerClassName to {PLAIN}',
        [chosen],
    )


def _require_readable_config(world: World, _: Evaluation) -> Plan | None:
    """Raise Blocked if spec.config was not read: nothing is installed without it."""
    config = world.deployment.spec.config
    if config is not None and config.problem:
        raise Refused(FailureReason.INVALID_CONFIGURATION, Reason.BLOCKED, f"spec.{config.problem}", ["config"])
    return None


def _require_account(world: World, _: Evaluation) -> Plan | None:
    """Raise Blocked if nothing may be done with the account that spec names, or names not."""
    require_account(world)
    return None


def _lost_finalizer(world: World, _: Evaluation) -> Plan | None:
    """Add a lost finalizer together with the inventory. `kubectl replace` with a manifest from git removes it."""
    may_have_objects = bool(world.inventory or world.active_bundle)
    is_lost = may_have_objects and FINALIZER not in world.deployment.metadata.finalizers
    return UpdateInventory(world.inventory) if is_lost else None


def _copy_conditions(world: World, _: Evaluation) -> Plan | None:
    """Copy the conditions of operators before anything is decided from them."""
    return copy_conditions(world)


def _delete_superseded_bundles(world: World, _: Evaluation) -> Plan | None:
    """Delete Bundles that were not installed before the template changed. Objects that they applied stay in the inventory."""
    if world.active_bundle == world.target_bundle:
        return None
    kept = {world.target_bundle, world.active_bundle, world.fallback.bundle if world.fallback else None}
    stale = tuple(
        bundle for name, bundle in sorted(world.bundles.items()) if name not in kept and not bundle.is_deleting
    )
    return DeleteBundles(stale) if stale else None


def _delete_changed_bundles(world: World, _: Evaluation) -> Plan | None:
    """Delete Bundles whose spec was changed, because a Bundle's name stands for its spec. They are created again as they were."""
    changed = tuple(bundle for bundle in world.changed_bundles if not bundle.is_deleting)
    return DeleteBundles(changed) if changed else None


def _restore_active_bundle(world: World, _: Evaluation) -> Plan | None:
    """Create the active Bundle again if it was deleted while another one is desired: the installed objects cannot be repaired
    without it."""
    return None if world.is_active_name_taken else _restore(world, world.record(world.active_bundle))


def _restore_fallback_bundle(world: World, _: Evaluation) -> Plan | None:
    """Create the Bundle that a rollback needs again if it was deleted."""
    return _restore(world, world.fallback)


def _restore(world: World, record: BundleRecord | None) -> Plan | None:
    if record is None or record.bundle == world.target_bundle or record.bundle in world.bundles:
        return None
    return _create_bundle(world, recorded_bundle_body(world, record))


def _roll_back(world: World, evaluation: Evaluation) -> Plan | None:
    return rollback_plan(world, evaluation.rollback_obstacle)


def _apply_bundle(world: World, _: Evaluation) -> Plan | None:
    if world.left_bundle is not None:
        if not world.left_bundle.is_deleting:
            return DeleteBundles((world.left_bundle,))
        text = (
            f"the Bundle {world.target_bundle} is left from an earlier BundleDeployment of this name: "
            "waiting until it is deleted"
        )
        raise Waiting(Reason.RETRYING, text, WATCHED_RETRY_DELAY, [world.target_bundle])
    if world.bundle_owner:
        raise Refused(
            FailureReason.OBJECT_EXISTS,
            Reason.BLOCKED,
            f"the Bundle {world.target_bundle} belongs to {world.bundle_owner}: delete it, or change the template",
            [world.target_bundle, world.bundle_owner],
        )
    bundle, revision = world.bundles.get(world.target_bundle), world.target.revision
    if world.target.is_rolled_back and revision is not None:
        return _create_bundle(world, recorded_bundle_body(world, revision)) if bundle is None else None
    body = desired_bundle_body(world)
    if bundle is None:
        return _create_bundle(world, body)
    if not bundle.is_deleting and differs(bundle, body["metadata"]):
        return ApplyBundle(body, is_new=False)
    return None


def _check_existing_objects(world: World, _: Evaluation) -> Plan | None:
    """Check custom resources: rukpak reads them in all namespaces, so that an account needs all of its permissions first."""
    check = next_check(world)
    if check is None or world.account is None:
        return check
    await_account(world)
    return check_permissions(world, _content(world)) or check


def _render_charts(world: World, _: Evaluation) -> Plan | None:
    """Render the first chart that has not been rendered with the values and for the cluster as they are now. The last rendering
    stays in force until its end."""
    return next((RenderChart(chart.inputs) for chart in world.charts if chart.is_due), None)


def _create_bundle(world: World, body: Mapping[str, Any]) -> ApplyBundle:
    """Create the Bundle. Raises Waiting until the webhook answers, which guards the spec of the Bundle from its creation on."""
    if world.admission_problem:
        text = f"waiting for the webhook {WEBHOOK}, which guards Bundles: {world.admission_problem}"
        raise Waiting(Reason.WAITING_FOR_WEBHOOK, text, WEBHOOK_RETRY_DELAY)
    return ApplyBundle(body, is_new=True)


def _await_account(world: World, _: Evaluation) -> Plan | None:
    """Raise Waiting until the account exists as which everything is applied."""
    await_account(world)
    return None


def _blocker(world: World, evaluation: Evaluation) -> Plan | None:
    """Keep the active Bundle as it was applied if the desired Bundle cannot be installed, and report the reason.

    Each new process unpacks the content of the installed Bundle again, which is reported only if it takes long.
    """
    if evaluation.blocker is None:
        return None
    active = world.active_content
    is_placed = namespace_blocker(world, active) is None
    if world.is_upgrade and isinstance(active, RenderedBundle) and active.is_installable and is_placed:
        plan = prepare(world, active) or _apply(world, active, dry_run_first=False) or rotate(world, active)
        if plan is not None:
            return plan
    if evaluation.blocker.reason == Reason.UNPACK_PENDING and world.is_target_active:
        raise BriefWait(Reason.UNPACK_PENDING, evaluation.blocker.message, CONTENT_RETRY_DELAY)
    raise evaluation.blocker


# --- its objects


def _prepare(world: World, _: Evaluation) -> Plan | None:
    return prepare(world, _content(world))


def _check_permissions(world: World, _: Evaluation) -> Plan | None:
    return check_permissions(world, _content(world))


def _announce(world: World, evaluation: Evaluation) -> Plan | None:
    """Announce the irreversible changes of the upgrade when the revision begins, and again if they change later."""
    return None if begins(world) or is_announced(world, evaluation) else Announce()


def _install(world: World, _: Evaluation) -> Plan | None:
    return _apply(world, _content(world), dry_run_first=is_under_way(world, world.active_bundle))


def _apply(world: World, content: RenderedBundle, *, dry_run_first: bool) -> Plan | None:
    plan = apply_objects(world, content, dry_run_first=dry_run_first)
    if plan is not None and content is world.content and begins(world):
        return BeginRevision()
    if plan is not None and is_outdated(world, content):
        return ForgetNotes()
    if isinstance(plan, Apply) and world.unrecorded_templates:
        return RecordTemplates()
    return RecordNamespaces() if isinstance(plan, Apply) and not is_recorded(world, plan) else plan


def _activate(world: World, _: Evaluation) -> Plan | None:
    return None if world.is_target_active else Activate()


def _rotate(world: World, _: Evaluation) -> Plan | None:
    return rotate(world, _content(world))


# --- objects and Bundles that are no longer needed


def _await_success(world: World, evaluation: Evaluation) -> Plan | None:
    """Keep the objects and Bundles that a rollback needs until the target has succeeded."""
    return (_requeue(world, evaluation) or Keep()) if world.fallback is not None else None


def _require_readable(world: World, _: Evaluation) -> Plan | None:
    """Raise Waiting until every kind of the inventory has been listed. Nothing is removed before that."""
    if world.unreachable_kinds:
        kinds = [f"{kind}.{group}" if group else kind for group, kind in world.unreachable_kinds]
        text = f"cannot be read now, so nothing is removed: {list_names(kinds)}"
        raise Waiting(Reason.OBJECT_LOOKUP_FAILURE, text, UNREACHABLE_RETRY_DELAY, kinds)
    require_synced(world, world.inventory)
    return None


def _prune(world: World, _: Evaluation) -> Plan | None:
    return check_prune(world, prune(world, _content(world)))


def _shrink_inventory(world: World, _: Evaluation) -> Plan | None:
    """Remove kinds without objects from the inventory. Kinds that cannot be read now stay, because objects of them may exist."""
    kinds = {key[:2] for key in (*_content(world).keys, *world.owned)}
    kept = world.inventory & (kinds | set(world.unreachable_kinds))
    return UpdateInventory(frozenset(kept)) if kept != world.inventory else None


def _delete_old_bundles(world: World, _: Evaluation) -> Plan | None:
    old = tuple(
        bundle
        for name, bundle in sorted(world.bundles.items())
        if name != world.target_bundle and not bundle.is_deleting
    )
    return DeleteBundles(old) if old else None


def _wait_for_removal(world: World, _: Evaluation) -> Plan | None:
    """Report the objects that are being deleted, after all other steps."""
    deleting = [
        describe_deleting(world, entry.key)
        for entry in obsolete_objects(world, _content(world))
        if entry.deletion_timestamp
    ]
    if deleting:
        text = f"no longer in the bundle, waiting until it is gone: {list_names(deleting)}"
        raise Waiting(Reason.REMOVING, text, WATCHED_RETRY_DELAY)
    return None


def _requeue(world: World, _: Evaluation) -> Plan | None:
    """Schedule the next pass for the time when a contested object is reverted again, or when progress exceeds its deadline."""
    times = [
        backs_off_until(world.last_applied[item.key]) - world.now
        for item in _content(world).objects()
        if is_contested(world, item)
    ]
    deadline = next_deadline(world)
    times += [*until_rotation(world, _content(world)), *([deadline] if deadline is not None else [])]
    return Keep(min(times)) if times else None


def _content(world: World) -> RenderedBundle:
    """The desired bundle; `_blocker` has checked it."""
    assert isinstance(world.content, RenderedBundle)
    return world.content


RULES: tuple[Rule, ...] = (
    _provisioner,
    _require_readable_config,
    _require_account,
    _lost_finalizer,
    _copy_conditions,
    _delete_superseded_bundles,
    _delete_changed_bundles,
    _restore_active_bundle,
    _restore_fallback_bundle,
    _roll_back,
    _apply_bundle,
    _render_charts,
    _check_existing_objects,
    _await_account,
    _blocker,
    _check_permissions,
    _prepare,
    _announce,
    _install,
    _activate,
    _rotate,
    _await_success,
    _require_readable,
    _prune,
    _shrink_inventory,
    _delete_old_bundles,
    _wait_for_removal,
    _requeue,
)
