"""Selects the objects of a bundle that are applied next, and decides what the next phase waits for.

Pure.
"""

from __future__ import annotations

from datetime import timedelta

from olmkit.api.bundledeployments import FINALIZER, Reason
from olmkit.api.customresourcedefinitions import CustomResourceDefinition
from olmkit.api.failures import FailureReason
from olmkit.errors import Waiting
from olmkit.gocompat.text import list_names
from rukpak.bundledeployment.apply.certificate_rotation import issue
from rukpak.bundledeployment.delays import (
    CONTENT_RETRY_DELAY,
    SYNC_POLL_DELAY,
    UNREACHABLE_RETRY_DELAY,
    WATCHED_RETRY_DELAY,
    describe_deleting,
    poll_delay,
)
from rukpak.bundledeployment.drift import is_up_to_date
from rukpak.bundledeployment.plan import Apply, PhaseStep, Plan, UpdateInventory
from rukpak.bundledeployment.ready_message import is_under_way
from rukpak.bundledeployment.rendered_bundle import InstallPhase, RenderedBundle, RenderedObject
from rukpak.bundledeployment.world import CRD, NAMESPACE, BriefWait, FailedStep, World
from rukpak.format.objects import ObjectKey
from rukpak.render.endpoints import Endpoint
from rukpak.render.phases import ADMISSION, CUSTOM_RESOURCES, NAMESPACES, phase_of

ENDPOINT_RETRY_DELAY = timedelta(seconds=5)
"""The delay until an endpoint that cannot be called is asked again; a change of its Deployment usually comes first."""


def prepare(world: World, content: RenderedBundle) -> Plan | None:
    """Extend the inventory before the first object is applied; None when it names all kinds of the bundle, and the finalizer is
    there.

    Raises Waiting or BriefWait until their objects are known and no Namespace of the bundle is being deleted.
    """
    kinds = frozenset(key[:2] for key in content.keys) - {NAMESPACE}
    if not kinds <= world.inventory or FINALIZER not in world.deployment.metadata.finalizers:
        return UpdateInventory(world.inventory | kinds)
    require_synced(world, kinds)
    absent = sorted(content.external_namespaces - world.namespaces.keys())
    is_installed = world.active_bundle == content.bundle
    if absent and (not is_installed or (content.bundle == world.target_bundle and is_under_way(world, content.bundle))):
        text = f"has objects in Namespaces that neither exist nor are in the bundle: {list_names(absent)}; create them first"
        raise FailedStep(FailureReason.NAMESPACE_MISSING, Reason.RETRYING, text, WATCHED_RETRY_DELAY, absent)
    wanted = {item.key.name for item in content.objects() if item.key[:2] == NAMESPACE}
    deleting = [key for key in (ObjectKey(*NAMESPACE, "", name) for name in sorted(wanted)) if world.is_deleting(key)]
    if deleting:
        text = list_names(describe_deleting(world, key) for key in deleting)
        after = poll_delay(world.now, (world.namespaces[key.name].deletion_timestamp for key in deleting))
        raise Waiting(Reason.RETRYING, f"waiting until it is gone: {text}", after, map(str, deleting))
    return None


def require_synced(world: World, kinds: frozenset[tuple[str, str]]) -> None:
    """Raises Waiting or BriefWait while the objects of one of the kinds are not known."""
    unreachable = [f"{kind}.{group}" if group else kind for group, kind in world.unreachable_kinds & kinds]
    if unreachable:
        text = f"cannot be read now, so nothing is changed: {list_names(unreachable)}"
        raise Waiting(Reason.OBJECT_LOOKUP_FAILURE, text, UNREACHABLE_RETRY_DELAY, unreachable)
    unknown = sorted(kind for group, kind in world.unsynced if (group, kind) in kinds)
    if unknown:
        raise BriefWait(Reason.OBJECT_LOOKUP_FAILURE, f"listing {list_names(unknown)}", SYNC_POLL_DELAY)


def apply_objects(world: World, content: RenderedBundle, *, dry_run_first: bool) -> Plan | None:
    """Apply objects that are missing or differ, in as many phases as do not depend on the result of the one before.

    None: every object is up to date. Raises Waiting when a phase has to be waited for.
    """
    steps: list[PhaseStep] = []
    for number, phase in enumerate(content.phases, 1):
        certificates = issue(world, content) if phase.name != NAMESPACES else None
        if certificates is not None:
            return Apply(content, tuple(steps), dry_run_first) if steps else certificates
        pending = tuple(item for item in phase.objects if _is_pending(world, content, item))
        callable_now = tuple(item for item in pending if not _problem(world, content, item))
        if callable_now:
            steps.append(PhaseStep(number, callable_now, all(_is_new(world, content, item) for item in callable_now)))
        gate = _gate(world, phase, is_pending=bool(pending)) or _endpoint_gate(world, content, pending)
        if gate is not None and not steps:
            raise gate
        if gate is not None:
            break
    return Apply(content, tuple(steps), dry_run_first) if steps else None


def has_pending(world: World) -> bool:
    """Report whether an object of the desired bundle is not as it was applied: something is to be repaired."""
    content = world.content
    return isinstance(content, RenderedBundle) and needs_write(world, content)


def needs_write(world: World, content: RenderedBundle) -> bool:
    """Report whether an object of the bundle is not as it was applied."""
    return any(_is_pending(world, content, item) for item in content.objects())


def awaited_endpoints(world: World, content: RenderedBundle) -> tuple[Endpoint, ...]:
    """The endpoints whose clients are applied next, if they can be called: everything before is up to date."""
    if not content.called_endpoints:
        return ()
    for phase in content.phases:
        pending = {item.key for item in phase.objects if _is_pending(world, content, item)}
        if phase.name == ADMISSION:
            return tuple(endpoint for endpoint in content.called_endpoints if endpoint.clients & pending)
        if pending:
            return ()
    return ()


def _problem(world: World, content: RenderedBundle, item: RenderedObject) -> str:
    """Explain why the endpoint of a webhook or an API service cannot be called; empty for other objects."""
    if phase_of(item.key) != ADMISSION and not item.is_deferred:
        return ""
    endpoints = [endpoint for endpoint in content.called_endpoints if item.key in endpoint.clients]
    problems = [world.endpoint_problems.get(endpoint.deployment, "not asked yet") for endpoint in endpoints]
    if item.is_deferred:
        problems += [_old_pods(world, endpoint) for endpoint in endpoints]
    return next(filter(None, problems), "")


def _old_pods(world: World, endpoint: Endpoint) -> str:
    """That pods of the version before may still be asked to convert, or are all that is there; empty: they are gone."""
    workload = world.owned.get(endpoint.deployment_key)
    is_complete = workload is not None and workload.health is not None and workload.health.status == "True"
    return "" if is_complete else f"the pods of Deployment {endpoint.deployment} are being replaced"


def _endpoint_gate(world: World, content: RenderedBundle, pending: tuple[RenderedObject, ...]) -> Waiting | None:
    """A webhook or an API service is applied when its endpoint can be called: before that it would only reject requests."""
    late = {item.key: problem for item in pending if (problem := _problem(world, content, item))}
    if not late:
        return None
    text = f"{list_names(map(str, sorted(late)))}: {list_names(set(late.values()), '; ')}"
    return Waiting(Reason.RETRYING, text, ENDPOINT_RETRY_DELAY, map(str, late))


def _is_pending(world: World, content: RenderedBundle, item: RenderedObject) -> bool:
    """Report whether the object differs and can be applied now; a Namespace that is not in the bundle has to exist."""
    if is_up_to_date(world, item) or world.is_deleting(item.key):
        return False
    name = item.key.name
    return not (item.key[:2] == NAMESPACE and name in content.external_namespaces and name not in world.namespaces)


def _is_new(world: World, content: RenderedBundle, item: RenderedObject) -> bool:
    """Report whether it is of a kind of Kubernetes, and does not exist as far as the informers show; docs/decisions/0048.

    They show all CRDs and Namespaces, and of other kinds what BundleDeployments have. What others have in a Namespace that they
    created is not known.
    """
    key = item.key
    if key[:2] == NAMESPACE:
        return key.name not in world.namespaces
    if key[:2] == CRD:
        return key.name not in world.crds
    if key in world.labeled or key in world.taken or phase_of(key) == CUSTOM_RESOURCES:
        return False
    namespace = world.namespaces.get(key.namespace)
    is_of_others = not namespace.is_created if namespace else key.namespace not in content.namespace_names
    return not key.namespace or not is_of_others


def _gate(world: World, phase: InstallPhase, *, is_pending: bool) -> Waiting | None:
    """Explain why the next phase has to wait; None if it does not."""
    deleting = [item.key for item in phase.objects if world.is_deleting(item.key)]
    if deleting:
        shown = list_names(describe_deleting(world, key) for key in deleting)
        text = f"it was deleted, waiting until it is gone: {shown}"
        return Waiting(Reason.RETRYING, text, WATCHED_RETRY_DELAY, map(str, deleting))
    names = [item.key.name for item in phase.objects if item.key[:2] == CRD and not item.is_deferred]
    if not names:
        return None
    crds = (world.crds.get(name) or CustomResourceDefinition(name) for name in names)
    late = [crd for crd in crds if not crd.is_established]
    if not (late or is_pending):
        return None
    problems = [f"{crd.name} ({crd.problem})" for crd in late if crd.problem]
    if problems:
        text = f"waiting for CustomResourceDefinitions: {list_names(problems)}"
        names = [crd.name for crd in late if crd.problem]
        return FailedStep(FailureReason.APPLY_FAILED, Reason.RETRYING, text, CONTENT_RETRY_DELAY, names)
    text = f"waiting for CustomResourceDefinitions: {list_names(crd.name for crd in late)}"
    return BriefWait(Reason.RETRYING, text, SYNC_POLL_DELAY, [crd.name for crd in late])
