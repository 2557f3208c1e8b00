"""What is to be done next for a BundleDeployment that is being deleted.

    webhooks that nobody answers for: they stand against every deletion they match
    custom resources of its CRDs, until they are gone (their operator still runs)
    webhooks and APIServices, workloads, access, configuration
    CRDs
    Namespaces: left, and removed where rukpak made them and nobody else uses them; what else is in those is said before
    the finalizer

Called by rukpak.bundledeployment.decide. Looks at the inventory only: content, Bundles and catalogs may be gone long ago.
Finalizers of others are never removed; what is stuck is named, and the abandon annotation leaves it behind. Pure.
"""

from __future__ import annotations

from datetime import timedelta

from olmkit.api.bundledeployments import CREATED_LABEL, FINALIZER, ConditionType, Reason
from olmkit.api.conditions import find_condition
from olmkit.errors import Waiting
from rukpak.bundledeployment.blockers import describe_deleting, poll_delay, with_finalizers
from rukpak.bundledeployment.plan import (
    Announce,
    DeleteObjects,
    LeaveNamespaces,
    LookInto,
    NothingToDo,
    Plan,
    RemoveFinalizer,
)
from rukpak.bundledeployment.world import (
    ABANDON_ANNOTATION,
    NAMESPACE,
    BriefWait,
    CustomResource,
    LabeledObject,
    NamespaceInfo,
    World,
    names,
)
from rukpak.format.objects import ObjectKey
from rukpak.render.phases import ACCESS, ADMISSION, CONFIGURATION, CRDS, CUSTOM_RESOURCES, WORKLOADS, phase_of

STUCK_AFTER = timedelta(minutes=10)
MAX_RECHECK_DELAY = timedelta(minutes=1)
UNLISTED_RETRY_DELAY = timedelta(seconds=5)
HIDDEN = timedelta(seconds=20)
SYNC_POLL_DELAY = timedelta(seconds=2)

_ORDER = (CUSTOM_RESOURCES, ADMISSION, WORKLOADS, ACCESS, CONFIGURATION, CRDS)
_WAVES = (
    ("custom resources", range(1)),
    ("objects", range(1, _ORDER.index(CRDS))),
    ("CustomResourceDefinitions", range(_ORDER.index(CRDS), len(_ORDER))),
)
FOREIGN_OBJECTS_WARNING = "objects that the bundle did not bring are deleted with their Namespace"
DELETE_BATCH = 500
"""Objects that are deleted in one pass."""


def deletion_rank(entry: LabeledObject | CustomResource) -> int:
    """The place in the order above, from 0 for custom resources to 5 for CRDs."""
    return 0 if isinstance(entry, CustomResource) else _ORDER.index(phase_of(entry.key))


def finalize(world: World) -> Plan:
    """The next step. Raises Waiting while something is going, Settling while it is not known what there is."""
    if FINALIZER not in world.deployment.metadata.finalizers:
        return NothingToDo()
    _all_seen(world)
    instances = {instance.key: instance for instance in world.custom_resources or ()}
    left: list[LabeledObject | CustomResource] = [*instances.values()]
    left += [member for key, member in world.owned.items() if key not in instances]
    plan = _wave(world, "webhooks", [entry for entry in left if entry.key in world.webhooks_without_endpoints])
    if plan is not None:
        return plan
    for name, ranks in _WAVES:
        plan = _wave(world, name, [entry for entry in left if deletion_rank(entry) in ranks])
        if plan is not None:
            return plan
    return _namespaces(world) or _let_go(world)


def _all_seen(world: World) -> None:
    reading = world.unsynced - world.unreachable_kinds
    if reading:
        kinds = names(kind for _, kind in reading)
        raise BriefWait(Reason.OBJECT_LOOKUP_FAILURE, f"reading what there is of {kinds}", SYNC_POLL_DELAY)
    if world.abandoned or not (world.unreachable_kinds or world.custom_resources is None):
        return
    groups = names({group for group, _ in world.unreachable_kinds}) or "the CRDs' groups"
    raise Waiting(
        Reason.OBJECT_LOOKUP_FAILURE,
        f"the API server does not answer for {groups}: what there is of it cannot be removed; {abandon_hint(world)}",
        HIDDEN if world.unreachable_kinds else UNLISTED_RETRY_DELAY,
    )


def _let_go(world: World) -> Plan:
    """Only when what is seen is all that there is: what is left behind now, nobody removes any more."""
    if world.stale and not world.abandoned:
        kinds = names(kind for _, kind in world.stale)
        raise BriefWait(
            Reason.OBJECT_LOOKUP_FAILURE, f"waiting for the API server to tell what is left of {kinds}", SYNC_POLL_DELAY
        )
    return RemoveFinalizer()


def _wave(world: World, name: str, entries: list[LabeledObject | CustomResource]) -> Plan | None:
    """Delete what was not asked to go yet, in order; then wait until all is gone. None: nothing is left of it."""
    if not entries:
        return None
    asked = [entry for entry in entries if entry.deletion_timestamp is None and not _is_left(world, entry.uid)]
    if asked:
        ranks = sorted({deletion_rank(entry) for entry in asked})
        asked = sorted(asked, key=lambda entry: (deletion_rank(entry), entry.key))[:DELETE_BATCH]
        groups = [tuple(entry for entry in asked if deletion_rank(entry) == place) for place in ranks]
        return DeleteObjects(name, tuple(group for group in groups if group))
    if world.abandoned:
        return None
    raise _wait_for(world, name, entries)


def _wait_for(world: World, name: str, entries: list[LabeledObject | CustomResource]) -> Waiting:
    """What is going and has finalizers is named at once, anything else when it takes long."""
    ages = {
        entry.key: world.now - entry.deletion_timestamp for entry in entries if entry.deletion_timestamp is not None
    }
    stuck = [entry for entry in entries if ages.get(entry.key, timedelta()) >= STUCK_AFTER]
    held = [entry for entry in entries if entry.finalizers and entry.key in ages and entry not in stuck]
    text = "; ".join(filter(None, [_named("waiting for", held), _named("not gone for more than 10 minutes:", stuck)]))
    text = f"removing {name}: {text}" if text else f"removing {name}"
    is_polled = any(isinstance(entry, CustomResource) for entry in entries)
    until_stuck = [STUCK_AFTER - age for age in ages.values() if age < STUCK_AFTER]
    polled = [poll_delay(world.now, (entry.deletion_timestamp for entry in entries))] if is_polled else []
    way = f"; {abandon_hint(world)}" if stuck else ""
    return Waiting(Reason.REMOVING, text + way, min([MAX_RECHECK_DELAY, *until_stuck, *polled]))


def _named(words: str, entries: list[LabeledObject | CustomResource]) -> str:
    listed = names(with_finalizers(entry.key, entry.finalizers) for entry in entries)
    return f"{words} {listed}" if entries else ""


def abandon_hint(world: World) -> str:
    """What a person can do about what does not go."""
    return f"kubectl annotate bundledeployment {world.name} {ABANDON_ANNOTATION}=true leaves it behind"


def _namespaces(world: World) -> Plan | None:
    """A Namespace goes with its last member if rukpak made it, with what is left in it; else only the membership ends."""
    ours = [facts for _, facts in sorted(world.namespaces.items()) if world.uid in facts.members]
    here = [facts for facts in ours if facts.deletion_timestamp is None and not _is_left(world, facts.uid)]
    remove_too = tuple(facts for facts in here if _is_ours_alone(world, facts))
    leave = tuple(facts for facts in here if facts not in remove_too)
    unseen = tuple(facts for facts in remove_too if facts.uid not in world.foreign_objects)
    if unseen:
        return LookInto(unseen)
    if _is_unsaid(world):
        return Announce()
    if leave or remove_too:
        return LeaveNamespaces(leave, remove_too)
    leaving = [facts for facts in ours if facts.deletion_timestamp is not None and _is_ours_alone(world, facts)]
    if leaving and not world.abandoned:
        raise _wait_for_namespaces(world, leaving)
    return None


def describe_foreign_objects(world: World) -> str:
    """What goes with the Namespaces and is not of the bundle, in a sentence; empty when nothing is known to."""
    describe_deleting = [facts.uid for facts in world.namespaces.values() if _is_ours_alone(world, facts)]
    found = [text for uid in describe_deleting for text in world.foreign_objects.get(uid, ())]
    return f"{FOREIGN_OBJECTS_WARNING}: {names(found)}" if found else ""


def _is_unsaid(world: World) -> bool:
    """Judged by how the sentence begins: its end may be cut where it is said."""
    ready = find_condition(world.deployment.status.conditions, ConditionType.READY)
    return bool(describe_foreign_objects(world)) and (ready is None or FOREIGN_OBJECTS_WARNING not in ready.message)


def _is_left(world: World, uid: str) -> bool:
    """The API server refuses to delete it, and it may stay."""
    return world.abandoned and uid in world.undeletable


def _is_ours_alone(world: World, facts: NamespaceInfo) -> bool:
    return facts.members == {world.uid} and CREATED_LABEL in facts.labels


def _wait_for_namespaces(world: World, leaving: list[NamespaceInfo]) -> Waiting:
    text = f"removing {names(describe_deleting(world, ObjectKey(*NAMESPACE, '', facts.name)) for facts in leaving)}"
    ages = [world.now - facts.deletion_timestamp for facts in leaving if facts.deletion_timestamp is not None]
    if max(ages) >= STUCK_AFTER:
        text += f": not gone for more than 10 minutes; {abandon_hint(world)}"
    delay = poll_delay(world.now, (facts.deletion_timestamp for facts in leaving))
    return Waiting(Reason.REMOVING, text, min(MAX_RECHECK_DELAY, delay))
