"""Decides whether the OperatorCondition of the installed bundle holds its upgrade, and which conditions are copied in it.

    another Bundle is to replace the installed one, and nothing of it is applied yet    held while the OperatorCondition says so
    the first installation, a rollback, a return to the installed Bundle, a change of   never held
    options alone, a deletion, an upgrade that has begun

Only the OperatorCondition that the history records for the installed revision counts, and only as an object that the
BundleDeployment has applied: so an operator holds its own upgrades alone. One that does not exist holds nothing. Pure.
"""

from __future__ import annotations

from olmkit.api.bundledeployment_status import Revision, UpgradeHold
from olmkit.api.bundledeployments import Reason
from olmkit.api.operator_condition_names import GROUP_KIND, OVERRIDE_HINT
from olmkit.errors import Waiting
from rukpak.bundledeployment.delays import SYNC_POLL_DELAY, WATCHED_RETRY_DELAY
from rukpak.bundledeployment.plan import CopyConditions
from rukpak.bundledeployment.revisions.target import revisions_of
from rukpak.bundledeployment.world import BriefWait, LabeledObject, World
from rukpak.format.objects import ObjectKey


def upgrade_hold(world: World) -> UpgradeHold | None:
    """The hold of the installed bundle; None if it may be replaced. As reported while its OperatorCondition is being listed."""
    revision = world.installed_revision
    if revision is None or world.active_bundle is None or revision.operator_condition is None:
        return None
    if not _is_listed(world):
        return world.deployment.status.upgrade_hold
    found = _condition_of(world, revision)
    if found is None or found.operator_condition is None or not found.operator_condition.hold:
        return None
    return UpgradeHold(operator_condition=revision.operator_condition, message=found.operator_condition.hold)


def hold_blocker(world: World) -> Waiting | None:
    """The reason why the upgrade to the desired Bundle does not begin; None if nothing holds it."""
    revision = world.installed_revision
    is_beginning = world.is_upgrade and world.target.revision is None and world.target_bundle != world.active_bundle
    if not is_beginning or revision is None or revision.operator_condition is None:
        return None
    if not _is_listed(world):
        return BriefWait(Reason.RETRYING, f"listing {GROUP_KIND[1]}", SYNC_POLL_DELAY)
    hold = upgrade_hold(world)
    if hold is None:
        return None
    reason, text = Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE, f"{hold.sentence}; {OVERRIDE_HINT}"
    return Waiting(reason, text, WATCHED_RETRY_DELAY, [hold.operator_condition])


def copy_conditions(world: World) -> CopyConditions | None:
    """The Plan to copy conditions in the first OperatorCondition of its revisions in which they differ; None if there is none. A
    copy that was refused is not repeated before the object changes."""
    for revision in revisions_of(world.deployment):
        found = _condition_of(world, revision)
        state = found.operator_condition if found is not None else None
        if (
            found is not None
            and state is not None
            and state.copied is not None
            and found.deletion_timestamp is None
            and world.uncopied.get(found.uid) != found.resource_version
        ):
            return CopyConditions(found.key, found.uid, found.resource_version, state.copied)
    return None


def _condition_of(world: World, revision: Revision) -> LabeledObject | None:
    if revision.operator_condition is None:
        return None
    namespace, _, name = revision.operator_condition.partition("/")
    return world.owned.get(ObjectKey(*GROUP_KIND, namespace, name))


def _is_listed(world: World) -> bool:
    """Report whether all OperatorConditions are known. A kind that the cluster does not serve has no objects."""
    return GROUP_KIND not in world.unsynced
