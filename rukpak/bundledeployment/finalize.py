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
from rukpak.bundledeployment.blockers import going, poll_delay, with_finalizers
from rukpak.bundledeployment.plan import Announce, Keep, LeaveNamespaces, LookInto, Plan, RemoveFinalizer, TearDown
from rukpak.bundledeployment.world import (
    ABANDON_ANNOTATION,
    NAMESPACE,
    Instance,
    Member,
    NamespaceFacts,
    Settling,
    World,
    names,
)
from rukpak.format.objects import ObjectKey
from rukpak.render.phases import ACCESS, ADMISSION, CONFIGURATION, CRDS, CUSTOM_RESOURCES, WORKLOADS, phase_of

STUCK = timedelta(minutes=10)
LOOK_AGAIN = timedelta(minutes=1)
UNANSWERED = timedelta(seconds=5)
HIDDEN = timedelta(seconds=20)
POLL = timedelta(seconds=2)

_ORDER = (CUSTOM_RESOURCES, ADMISSION, WORKLOADS, ACCESS, CONFIGURATION, CRDS)
_WAVES = (
    ("custom resources", range(1)),
    ("objects", range(1, _ORDER.index(CRDS))),
    ("CustomResourceDefinitions", range(_ORDER.index(CRDS), len(_ORDER))),
)
FOREIGN = "objects that the bundle did not bring are deleted with their Namespace"
AT_ONCE = 500
"""Objects that are deleted in one pass."""


def rank(entry: Member | Instance) -> int:
    """The place in the order above, from 0 for custom resources to 5 for CRDs."""
    return 0 if isinstance(entry, Instance) else _ORDER.index(phase_of(entry.key))


def remove(world: World) -> Plan:
    """The next step. Raises Waiting while something is going, Settling while it is not known what there is."""
    if FINALIZER not in world.deployment.metadata.finalizers:
        return Keep()
    _all_seen(world)
    instances = {instance.key: instance for instance in world.instances or ()}
    left: list[Member | Instance] = [*instances.values()]
    left += [member for key, member in world.owned.items() if key not in instances]
    plan = _wave(world, "webhooks", [entry for entry in left if entry.key in world.silent])
    if plan is not None:
        return plan
    for name, ranks in _WAVES:
        plan = _wave(world, name, [entry for entry in left if rank(entry) in ranks])
        if plan is not None:
            return plan
    return _namespaces(world) or _let_go(world)


def _all_seen(world: World) -> None:
    reading = world.unsynced - world.hidden
    if reading:
        kinds = names(kind for _, kind in reading)
        raise Settling(Reason.OBJECT_LOOKUP_FAILURE, f"reading what there is of {kinds}", POLL)
    if world.abandoned or not (world.hidden or world.instances is None):
        return
    groups = names({group for group, _ in world.hidden}) or "the CRDs' groups"
    raise Waiting(
        Reason.OBJECT_LOOKUP_FAILURE,
        f"the API server does not answer for {groups}: what there is of it cannot be removed; {way_out(world)}",
        HIDDEN if world.hidden else UNANSWERED,
    )


def _let_go(world: World) -> Plan:
    """Only when what is seen is all that there is: what is left behind now, nobody removes any more."""
    if world.stale and not world.abandoned:
        kinds = names(kind for _, kind in world.stale)
        raise Settling(
            Reason.OBJECT_LOOKUP_FAILURE, f"waiting for the API server to tell what is left of {kinds}", POLL
        )
    return RemoveFinalizer()


def _wave(world: World, name: str, entries: list[Member | Instance]) -> Plan | None:
    """Delete what was not asked to go yet, in order; then wait until all is gone. None: nothing is left of it."""
    if not entries:
        return None
    asked = [entry for entry in entries if entry.gone_since is None and not _is_left(world, entry.uid)]
    if asked:
        ranks = sorted({rank(entry) for entry in asked})
        asked = sorted(asked, key=lambda entry: (rank(entry), entry.key))[:AT_ONCE]
        groups = [tuple(entry for entry in asked if rank(entry) == place) for place in ranks]
        return TearDown(name, tuple(group for group in groups if group))
    if world.abandoned:
        return None
    raise _wait_for(world, name, entries)


def _wait_for(world: World, name: str, entries: list[Member | Instance]) -> Waiting:
    """What is going and has finalizers is named at once, anything else when it takes long."""
    ages = {entry.key: world.now - entry.gone_since for entry in entries if entry.gone_since is not None}
    stuck = [entry for entry in entries if ages.get(entry.key, timedelta()) >= STUCK]
    held = [entry for entry in entries if entry.finalizers and entry.key in ages and entry not in stuck]
    text = "; ".join(filter(None, [_named("waiting for", held), _named("not gone for more than 10 minutes:", stuck)]))
    text = f"removing {name}: {text}" if text else f"removing {name}"
    is_polled = any(isinstance(entry, Instance) for entry in entries)
    until_stuck = [STUCK - age for age in ages.values() if age < STUCK]
    polled = [poll_delay(world.now, (entry.gone_since for entry in entries))] if is_polled else []
    way = f"; {way_out(world)}" if stuck else ""
    return Waiting(Reason.REMOVING, text + way, min([LOOK_AGAIN, *until_stuck, *polled]))


def _named(words: str, entries: list[Member | Instance]) -> str:
    listed = names(with_finalizers(entry.key, entry.finalizers) for entry in entries)
    return f"{words} {listed}" if entries else ""


def way_out(world: World) -> str:
    """What a person can do about what does not go."""
    return f"kubectl annotate bundledeployment {world.name} {ABANDON_ANNOTATION}=true leaves it behind"


def _namespaces(world: World) -> Plan | None:
    """A Namespace goes with its last member if rukpak made it, with what is left in it; else only the membership ends."""
    ours = [facts for _, facts in sorted(world.namespaces.items()) if world.uid in facts.members]
    here = [facts for facts in ours if facts.gone_since is None and not _is_left(world, facts.uid)]
    remove_too = tuple(facts for facts in here if _is_ours_alone(world, facts))
    leave = tuple(facts for facts in here if facts not in remove_too)
    unseen = tuple(facts for facts in remove_too if facts.uid not in world.foreign)
    if unseen:
        return LookInto(unseen)
    if _is_unsaid(world):
        return Announce()
    if leave or remove_too:
        return LeaveNamespaces(leave, remove_too)
    leaving = [facts for facts in ours if facts.gone_since is not None and _is_ours_alone(world, facts)]
    if leaving and not world.abandoned:
        raise _wait_for_namespaces(world, leaving)
    return None


def foreign_objects(world: World) -> str:
    """What goes with the Namespaces and is not of the bundle, in a sentence; empty when nothing is known to."""
    going = [facts.uid for facts in world.namespaces.values() if _is_ours_alone(world, facts)]
    found = [text for uid in going for text in world.foreign.get(uid, ())]
    return f"{FOREIGN}: {names(found)}" if found else ""


def _is_unsaid(world: World) -> bool:
    """Judged by how the sentence begins: its end may be cut where it is said."""
    ready = find_condition(world.deployment.status.conditions, ConditionType.READY)
    return bool(foreign_objects(world)) and (ready is None or FOREIGN not in ready.message)


def _is_left(world: World, uid: str) -> bool:
    """The API server refuses to delete it, and it may stay."""
    return world.abandoned and uid in world.undeletable


def _is_ours_alone(world: World, facts: NamespaceFacts) -> bool:
    return facts.members == {world.uid} and CREATED_LABEL in facts.labels


def _wait_for_namespaces(world: World, leaving: list[NamespaceFacts]) -> Waiting:
    text = f"removing {names(going(world, ObjectKey(*NAMESPACE, '', facts.name)) for facts in leaving)}"
    ages = [world.now - facts.gone_since for facts in leaving if facts.gone_since is not None]
    if max(ages) >= STUCK:
        text += f": not gone for more than 10 minutes; {way_out(world)}"
    delay = poll_delay(world.now, (facts.gone_since for facts in leaving))
    return Waiting(Reason.REMOVING, text, min(LOOK_AGAIN, delay))
