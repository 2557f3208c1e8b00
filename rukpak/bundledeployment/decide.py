"""What is to be done next for one BundleDeployment: a list of rules, the first that answers wins.

Called by rukpak.bundledeployment.reconciler with a World; each plan is one step, and the next pass sees what came of it. So a
process that is killed between any two writes leaves a World from which the same rules go on. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import (
    FINALIZER,
    ConditionType,
    Reason,
)
from olmkit.api.conditions import find_condition
from olmkit.errors import Blocked, Waiting
from rukpak.bundledeployment.blockers import (
    CONTENT_RETRY_DELAY,
    UNREACHABLE_RETRY_DELAY,
    WATCHED_RETRY_DELAY,
    blocker_of,
    describe_deleting,
    irreversible,
    poll_delay,
)
from rukpak.bundledeployment.finalize import finalize
from rukpak.bundledeployment.plan import (
    Activate,
    AddFinalizer,
    Announce,
    Apply,
    ApplyBundle,
    DeleteBundles,
    NothingToDo,
    PhaseStep,
    Plan,
    Prune,
    UpdateInventory,
)
from rukpak.bundledeployment.progress import next_deadline
from rukpak.bundledeployment.template import differs, recorded_bundle, wanted_bundle
from rukpak.bundledeployment.world import (
    CRD,
    NAMESPACE,
    BriefWait,
    CrdInfo,
    InstallPhase,
    RenderedBundle,
    RenderedObject,
    World,
    names,
)
from rukpak.format.objects import ObjectKey

SYNC_POLL_DELAY = timedelta(seconds=2)


def decide(world: World) -> Plan:
    """The next step. Raises Blocked, Waiting, Refused or Settling when there is none now and it is not done."""
    if world.deployment.metadata.deleting:
        return finalize(world)
    for rule in RULES:
        plan = rule(world)
        if plan is not None:
            return plan
    return NothingToDo()


# --- the Bundle


def _provisioner(world: World) -> Plan | None:
    chosen = world.deployment.spec.provisioner_class_name
    if chosen == bundles.PLAIN:
        return None
    if chosen == bundles.REGISTRY:
        text = (
            f"spec.provisionerClassName must be {bundles.PLAIN}, which installs bundles of any form: "
            f"{chosen} belongs in spec.template.spec.provisionerClassName"
        )
        raise Blocked(Reason.BLOCKED, text)
    raise Blocked(
        Reason.BLOCKED,
        f'provisioner class "{chosen}" does not exist: set spec.provisionerClassName to {bundles.PLAIN}',
    )


def _finalizer(world: World) -> Plan | None:
    return None if FINALIZER in world.deployment.metadata.finalizers else AddFinalizer()


def _superseded(world: World) -> Plan | None:
    """The template moved on before such a Bundle was installed. What it applied already stays in the inventory."""
    if world.active_bundle == world.desired_bundle:
        return None
    kept = {world.desired_bundle, world.active_bundle}
    stale = tuple(
        bundle for name, bundle in sorted(world.bundles.items()) if name not in kept and not bundle.is_deleting
    )
    return DeleteBundles(stale) if stale else None


def _active_bundle(world: World) -> Plan | None:
    """Somebody deleted the active Bundle while another one is wanted: what is installed cannot be repaired without it."""
    if (
        world.active_bundle in (None, world.desired_bundle)
        or world.active_bundle in world.bundles
        or world.is_active_name_taken
    ):
        return None
    record = world.record(world.active_bundle)
    return ApplyBundle(recorded_bundle(world, record), is_new=True) if record is not None else None


def _bundle(world: World) -> Plan | None:
    if world.bundle_owner == f"{bundledeployments.KIND.kind} {world.name}":
        text = (
            f"the Bundle {world.desired_bundle} is left from an earlier BundleDeployment of this name: "
            "waiting until it is gone"
        )
        raise Waiting(Reason.RETRYING, text, WATCHED_RETRY_DELAY)
    if world.bundle_owner:
        raise Blocked(
            Reason.BLOCKED,
            f"the Bundle {world.desired_bundle} belongs to {world.bundle_owner}: delete it, or change the template",
        )
    body = wanted_bundle(world)
    bundle = world.bundles.get(world.desired_bundle)
    if bundle is None:
        return ApplyBundle(body, is_new=True)
    if not bundle.is_deleting and differs(bundle, body["metadata"]):
        return ApplyBundle(body, is_new=False)
    return None


def _obstacle(world: World) -> Plan | None:
    """The wanted bundle cannot be installed now: what is installed is kept in repair, and it is said why."""
    obstacle = blocker_of(world)
    if obstacle is None:
        return None
    old = world.active_content
    if (
        world.active_bundle not in (None, world.desired_bundle)
        and isinstance(old, RenderedBundle)
        and not (old.faults or old.missing_kinds)
    ):
        plan = _room(world, old) or bring(world, old, rehearse=False)
        if plan is not None:
            return plan
    raise obstacle


# --- its objects


def _make_room(world: World) -> Plan | None:
    return _room(world, _content(world))


def _room(world: World, content: RenderedBundle) -> Plan | None:
    """Before the first object: the inventory says what kinds there may be, their members are known, no Namespace is going."""
    kinds = frozenset(item.key[:2] for item in content.objects()) - {NAMESPACE}
    if not kinds <= world.inventory:
        return UpdateInventory(world.inventory | kinds)
    _synced(world, kinds)
    absent = sorted(content.external_namespaces - world.namespaces.keys())
    if absent and world.active_bundle != content.bundle:
        text = f"writes into what is not there and not in the bundle either: Namespace {names(absent)}; make it first"
        raise Waiting(Reason.RETRYING, text, WATCHED_RETRY_DELAY)
    leaving = [name for name in _namespaces(content) if _is_going(world, name)]
    if leaving:
        text = names(describe_deleting(world, ObjectKey(*NAMESPACE, "", name)) for name in leaving)
        after = poll_delay(world.now, (world.namespaces[name].deletion_timestamp for name in leaving))
        raise Waiting(Reason.RETRYING, f"waiting until it is gone: {text}", after)
    return None


def _synced(world: World, kinds: frozenset[tuple[str, str]]) -> None:
    hidden = names(f"{kind}.{group}" if group else kind for group, kind in world.unreachable_kinds & kinds)
    if hidden:
        raise Waiting(
            Reason.OBJECT_LOOKUP_FAILURE,
            f"cannot be read now, so nothing is changed: {hidden}",
            UNREACHABLE_RETRY_DELAY,
        )
    unknown = sorted(kind for group, kind in world.unsynced if (group, kind) in kinds)
    if unknown:
        raise BriefWait(Reason.OBJECT_LOOKUP_FAILURE, f"reading what there is of {names(unknown)}", SYNC_POLL_DELAY)


def _namespaces(content: RenderedBundle) -> frozenset[str]:
    return frozenset(item.key.name for item in content.objects() if item.key[:2] == NAMESPACE)


def _is_going(world: World, namespace: str) -> bool:
    facts = world.namespaces.get(namespace)
    return facts is not None and facts.deletion_timestamp is not None


def _announce(world: World) -> Plan | None:
    sentence = irreversible(world)
    ready = find_condition(world.deployment.status.conditions, ConditionType.READY)
    return Announce() if sentence and (ready is None or sentence not in ready.message) else None


def _install(world: World) -> Plan | None:
    return bring(world, _content(world), rehearse=world.active_bundle != world.desired_bundle)


def bring(world: World, content: RenderedBundle, *, rehearse: bool) -> Plan | None:
    """Apply what is missing or differs, as many stages as can be without seeing what the one before brings.

    None: every object is there. Raises Waiting when a stage has to be waited for.
    """
    steps: list[PhaseStep] = []
    for number, stage in enumerate(content.phases, 1):
        pending = tuple(item for item in stage.objects if _is_pending(world, content, item))
        if pending:
            steps.append(PhaseStep(number, pending))
        gate = _gate(world, stage, bool(pending))
        if gate is not None and not steps:
            raise gate
        if gate is not None:
            break
    return Apply(content, tuple(steps), rehearse) if steps else None


def _is_pending(world: World, content: RenderedBundle, item: RenderedObject) -> bool:
    """Not as it should be, and to be applied now; a Namespace that is only joined has to be there."""
    if world.is_up_to_date(item) or world.is_deleting(item.key):
        return False
    name = item.key.name
    return not (item.key[:2] == NAMESPACE and name in content.external_namespaces and name not in world.namespaces)


def _gate(world: World, stage: InstallPhase, pending: bool) -> Waiting | None:
    """Why the next stage has to wait."""
    leaving = [describe_deleting(world, item.key) for item in stage.objects if world.is_deleting(item.key)]
    if leaving:
        return Waiting(
            Reason.RETRYING, f"somebody deleted it, waiting until it is gone: {names(leaving)}", WATCHED_RETRY_DELAY
        )
    if not any(item.key[:2] == CRD for item in stage.objects):
        return None
    late = [world.crds.get(item.key.name) or CrdInfo(item.key.name, "") for item in stage.objects]
    late = [crd for crd in late if not crd.is_established]
    if not (late or pending):
        return None
    problems = [f"{crd.name} ({crd.problem})" for crd in late if crd.problem]
    if problems:
        return Waiting(
            Reason.RETRYING, f"waiting for CustomResourceDefinitions: {names(problems)}", CONTENT_RETRY_DELAY
        )
    text = f"waiting for CustomResourceDefinitions: {names(crd.name for crd in late)}"
    return BriefWait(Reason.RETRYING, text, SYNC_POLL_DELAY)


def _activate(world: World) -> Plan | None:
    return Activate() if world.active_bundle != world.desired_bundle else None


# --- what is left of others


def _prune(world: World) -> Plan | None:
    """Nothing is removed before all that the inventory names has been read."""
    if world.unreachable_kinds:
        hidden = names(f"{kind}.{group}" if group else kind for group, kind in world.unreachable_kinds)
        text = f"cannot be read now, so nothing is removed: {hidden}"
        raise Waiting(Reason.OBJECT_LOOKUP_FAILURE, text, UNREACHABLE_RETRY_DELAY)
    _synced(world, world.inventory)
    content = _content(world)
    wanted = {item.key for item in content.objects()}
    left = [member for key, member in sorted(world.owned.items()) if key not in wanted]
    if left:
        asked = tuple(member for member in left if member.deletion_timestamp is None)
        return Prune(asked) if asked else None
    stay = _namespaces(content)
    namespaces = tuple(
        facts
        for name, facts in sorted(world.namespaces.items())
        if world.uid in facts.members and name not in stay and facts.deletion_timestamp is None
    )
    return Prune((), namespaces) if namespaces else None


def _shrink(world: World) -> Plan | None:
    """Kinds that cannot be read now stay: there may be objects of them."""
    kinds = {item.key[:2] for item in _content(world).objects()} | {key[:2] for key in world.owned}
    kept = world.inventory & (kinds | set(world.unreachable_kinds))
    return UpdateInventory(frozenset(kept)) if kept != world.inventory else None


def _drop_old(world: World) -> Plan | None:
    old = tuple(
        bundle
        for name, bundle in sorted(world.bundles.items())
        if name != world.desired_bundle and not bundle.is_deleting
    )
    return DeleteBundles(old) if old else None


def _lingering(world: World) -> Plan | None:
    """Objects that were removed and do not go are said, after all else is done."""
    wanted = {item.key for item in _content(world).objects()}
    left = [
        describe_deleting(world, key)
        for key, member in sorted(world.owned.items())
        if key not in wanted and member.deletion_timestamp
    ]
    if left:
        raise Waiting(
            Reason.REMOVING, f"not in the bundle any more, waiting until it is gone: {names(left)}", WATCHED_RETRY_DELAY
        )
    return None


def _observe_again(world: World) -> Plan | None:
    """When what others change over and over has rested, and when progress exceeds its deadline."""
    times = [
        world.last_applied[item.key].backs_off_until() - world.now
        for item in _content(world).objects()
        if world.is_contested(item)
    ]
    deadline = next_deadline(world)
    times += [deadline] if deadline is not None else []
    return NothingToDo(min(times)) if times else None


def _content(world: World) -> RenderedBundle:
    """The wanted bundle; the rules above this one have seen to it."""
    assert isinstance(world.content, RenderedBundle)
    return world.content


RULES: tuple[Callable[[World], Plan | None], ...] = (
    _provisioner,
    _finalizer,
    _superseded,
    _active_bundle,
    _bundle,
    _obstacle,
    _make_room,
    _announce,
    _install,
    _activate,
    _prune,
    _shrink,
    _drop_old,
    _lingering,
    _observe_again,
)
