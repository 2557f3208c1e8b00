"""What is to be done next for a BundleDeployment that is being deleted.

    webhooks that nobody answers for: they stand against every deletion they match
    custom resources of its CRDs, until they are gone (their operator still runs)
    webhooks and APIServices, workloads, access, configuration
    CRDs
    Namespaces: left, and removed where rukpak made them and nobody else uses them
    the finalizer

Called by rukpak.install.decide. Looks at the inventory only: content, Bundles and catalogs may be gone long ago. Finalizers of
others are never removed; what is stuck is named, and the abandon annotation leaves it behind. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from olmkit.api.bundledeployments import CREATED_LABEL, FINALIZER, Reason
from olmkit.errors import Waiting
from rukpak.install.phases import ACCESS, ADMISSION, CONFIGURATION, CRDS, CUSTOM_RESOURCES, WORKLOADS, phase_of
from rukpak.install.plans import Keep, LeaveNamespaces, Plan, RemoveFinalizer, TearDown
from rukpak.install.world import ABANDON_ANNOTATION, Instance, Member, NamespaceFacts, Settling, World, names
from rukpak.manifest import ObjectKey

STUCK = timedelta(minutes=10)
LOOK_AGAIN = timedelta(minutes=1)
UNANSWERED = timedelta(seconds=5)
HIDDEN = timedelta(seconds=20)
POLL = timedelta(seconds=2)
"""Custom resources that go are not watched."""

_ORDER = (CUSTOM_RESOURCES, ADMISSION, WORKLOADS, ACCESS, CONFIGURATION, CRDS)
_WAVES = (
    ("custom resources", range(1)),
    ("objects", range(1, _ORDER.index(CRDS))),
    ("CustomResourceDefinitions", range(_ORDER.index(CRDS), len(_ORDER))),
)
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
    return _namespaces(world) or RemoveFinalizer()


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
    ages = {entry.key: world.now - entry.gone_since for entry in entries if entry.gone_since is not None}
    stuck = [entry for entry in entries if ages.get(entry.key, timedelta()) >= STUCK]
    text = f"removing {name}"
    if stuck:
        named = names(_with_finalizers(entry) for entry in stuck)
        text += f": not gone for more than 10 minutes: {named}; {way_out(world)}"
    is_polled = any(isinstance(entry, Instance) for entry in entries)
    until_stuck = [STUCK - age for age in ages.values() if age < STUCK]
    after = min([LOOK_AGAIN, *until_stuck, *([_polled(ages)] if is_polled else [])])
    return Waiting(Reason.REMOVING, text, after)


def _polled(ages: Mapping[ObjectKey, timedelta]) -> timedelta:
    """Ever less often: a tenth of the time it has taken already."""
    return max(POLL, min(ages.values(), default=POLL) / 10)


def _with_finalizers(entry: Member | Instance) -> str:
    finalizers = ", ".join(entry.finalizers)
    return f"{entry.key} (finalizers: {finalizers})" if finalizers else str(entry.key)


def way_out(world: World) -> str:
    """What a person can do about what does not go."""
    return f"kubectl annotate bundledeployment {world.name} {ABANDON_ANNOTATION}=true leaves it behind"


def _namespaces(world: World) -> Plan | None:
    """A Namespace goes with its last member if rukpak made it, with what is left in it; else only the membership ends."""
    ours = [facts for _, facts in sorted(world.namespaces.items()) if world.uid in facts.members]
    here = [facts for facts in ours if facts.gone_since is None and not _is_left(world, facts.uid)]
    remove_too = tuple(facts for facts in here if _is_ours_alone(world, facts))
    leave = tuple(facts for facts in here if facts not in remove_too)
    if leave or remove_too:
        return LeaveNamespaces(leave, remove_too)
    going = [facts for facts in ours if facts.gone_since is not None and _is_ours_alone(world, facts)]
    if going and not world.abandoned:
        raise _wait_for_namespaces(world, going)
    return None


def _is_left(world: World, uid: str) -> bool:
    """The API server refuses to delete it, and it may stay."""
    return world.abandoned and uid in world.undeletable


def _is_ours_alone(world: World, facts: NamespaceFacts) -> bool:
    return facts.members == {world.uid} and CREATED_LABEL in facts.labels


def _wait_for_namespaces(world: World, going: list[NamespaceFacts]) -> Waiting:
    text = f"removing Namespace {names(facts.name for facts in going)}"
    ages = [world.now - facts.gone_since for facts in going if facts.gone_since is not None]
    if max(ages) >= STUCK:
        text += f": not gone for more than 10 minutes; {way_out(world)}"
    return Waiting(Reason.REMOVING, text, LOOK_AGAIN)
