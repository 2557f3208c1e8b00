"""The controller of kind BundleDeployment, wired: what is observed, who decides, who carries it out, and what wakes it.

Built by rukpak/__main__.py. The parts are observe, decide (with removal), apply and withdraw, report; this file only joins them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from olmkit.api import bundledeployments, bundles
from olmkit.api.bundledeployments import BundleDeploymentStatus
from olmkit.api.conditions import StatusReport
from olmkit.api.meta import Object
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Change
from olmkit.runtime.manager import Manager
from olmkit.runtime.publish import Publisher
from olmkit.runtime.reconciler import Decision, Reconciler
from olmkit.store.store import Store
from rukpak.bundledeployment import transforms
from rukpak.bundledeployment.applier import Applier
from rukpak.bundledeployment.apply_errors import MAX_RETRY_DELAY
from rukpak.bundledeployment.conflict_watch import ConflictWatch
from rukpak.bundledeployment.decide import decide
from rukpak.bundledeployment.deleter import RECHECK_DELAY, Deleter
from rukpak.bundledeployment.events import UID_INDEX, EventMapper
from rukpak.bundledeployment.inventory import Inventory
from rukpak.bundledeployment.observe import Informers, Observer, Rejection
from rukpak.bundledeployment.plan import (
    Activate,
    AddFinalizer,
    Announce,
    Apply,
    ApplyBundle,
    DeleteBundles,
    DeleteObjects,
    Done,
    LeaveNamespaces,
    LookInto,
    NothingToDo,
    Plan,
    Prune,
    RemoveFinalizer,
    UpdateInventory,
)
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.bundledeployment.report import report
from rukpak.bundledeployment.rest_mapper import API_SERVICES, CRDS, NAMESPACES, RestMapper
from rukpak.bundledeployment.world import ApplyRejected, BriefWait, World

NAME = "bundledeployment"
MANAGER = "rukpak"
"""Field manager of statuses, and reporting controller of Events."""
WORKERS = 8
MOMENT = timedelta(seconds=2)
"""What is to be looked at again within this time is waited for in the same turn."""
PATIENCE = timedelta(seconds=10)
"""How long a turn may wait in all."""
PASSES = 50
"""In one turn."""
NOW = timedelta(0)


def controller(manager: Manager, store: Store, lost: Callable[[str], None]) -> Controller:
    """The controller, added to the manager. `store` holds what the Bundle controller unpacks; `lost` gives a Bundle a turn of
    that one, because its content is missing or damaged.
    """
    sight = Informers(
        deployments=manager.informer(bundledeployments.KIND),
        bundles=manager.informer(bundles.KIND),
        namespaces=manager.informer(NAMESPACES, metadata_only=True, transform=transforms.namespace),
        crds=manager.informer(CRDS, transform=transforms.crd),
    )
    sight.deployments.add_index(UID_INDEX, lambda obj: (obj["metadata"]["uid"],))
    api_services = manager.informer(API_SERVICES, transform=transforms.api_service)
    kinds = RestMapper(manager.client, sight.crds, api_services)
    wakeups = EventMapper(sight.deployments)

    def wake(name: str) -> None:
        turns.woken(name)
        result.enqueue(name)

    def changed(uid: str) -> None:
        for name in wakeups.names((uid,)):
            wake(name)

    inventory = Inventory(manager, kinds, sight.crds, changed)
    suite_namespaces = (manager.settings.system_namespace, manager.settings.keys_namespace)
    contents = RenderCache(store, kinds, suite_namespaces, lost)
    observer = Observer(manager.client, sight, kinds, contents, inventory, wakeups, ConflictWatch(manager, wake))
    manager.on_started_leading(observer.begin)
    hands = Applier(manager.client, kinds, contents, inventory, sight, wakeups.name)
    publisher = Publisher(manager.client, bundledeployments.KIND, MANAGER, sight.deployments)
    manager.on_started_leading(publisher.reset)
    installer = Installer(observer, hands, Deleter(manager.client, kinds, sight, hands.limit), publisher)
    reconciler: Reconciler[World, Plan, None, Done, StatusReport[BundleDeploymentStatus]] = Reconciler(
        observer.observe,
        lambda world: Decision(decide(world), None),
        installer.act,
        lambda world, _, outcome: installer.report(world, outcome),
        installer.publish,
    )
    turns = Turns(reconciler)
    result = Controller(NAME, turns, workers=WORKERS)
    result.watch(sight.deployments, turns.heard(wakeups.by_deployment))
    result.watch(sight.bundles, turns.heard(wakeups.by_bundle))
    result.watch(sight.namespaces, turns.heard(wakeups.by_namespace))
    result.watch(sight.crds, turns.heard(wakeups.by_crd))
    result.watch(api_services, turns.heard(wakeups.by_api_service))
    manager.add_controller(result)
    return result


class Turns:
    """One turn of a BundleDeployment: passes as long as the next is due at once, so that what was begun is done first.

    Without it many that are installed at once would all be half installed for most of the time. A turn also waits for what
    comes in a moment, such as a CRD that is established, until the event that brings it: the API server establishes CRDs one by
    one, so that turns which gave up would only put more of them in the line before others can go on.
    """

    def __init__(self, make_pass: Callable[[str], Awaitable[timedelta | None]]) -> None:
        self._make_pass = make_pass
        self._news: dict[str, asyncio.Event] = {}

    def heard(self, keys: Callable[[Change], Iterable[str]]) -> Callable[[Change], Iterator[str]]:
        """The same keys; turns that wait hear of them."""

        def hearing(change: Change) -> Iterator[str]:
            for key in keys(change):
                self.woken(key)
                yield key

        return hearing

    def woken(self, key: str) -> None:
        """Something changed that concerns the key."""
        if key in self._news:
            self._news[key].set()

    async def __call__(self, key: str) -> timedelta | None:
        """When to look again, as the last pass said."""
        news = self._news[key] = asyncio.Event()
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE.total_seconds()
        try:
            for _ in range(PASSES):
                news.clear()
                after = await self._make_pass(key)
                if after is None or after > MOMENT:
                    return after
                if after and not await _came(news, until):
                    return after
        finally:
            del self._news[key]
        return NOW


def repeated(last: Rejection | None, world: World, error: ApplyRejected) -> Rejection:
    """The refusal as it is to be remembered: a try of the same doubles the time to the next; a turn before that time does not."""
    digest = getattr(world.content, "content", "")
    what = (world.deployment.metadata.generation, digest, error.message)
    if last is None or last.what != what:
        return Rejection(what, world.now, error.after)
    if world.now < last.at + last.after:
        return last
    return Rejection(what, world.now, max(error.after, min(last.after * 2, MAX_RETRY_DELAY)))


async def _came(news: asyncio.Event, until: float) -> bool:
    """Whether there was news before that moment of the loop's clock."""
    try:
        async with asyncio.timeout_at(until):
            await news.wait()
    except TimeoutError:
        return False
    return True


@dataclass(frozen=True)
class Installer:
    """Carries out one step, and writes the status against the object as it is after it."""

    observer: Observer
    hands: Applier
    withdrawal: Deleter
    publisher: Publisher

    async def act(self, world: World, plan: Plan) -> Done:
        """One step. Raises what its writes raise; what is refused again and again is tried ever less often."""
        memory = self.observer.memories[world.name]
        try:
            done = await self._act(world, plan)
        except ApplyRejected as error:
            memory.refusal = repeated(memory.refusal, world, error)
            is_gone = await self.observer.blockers.watch(world.name, error.conflicting_objects)
            error.after = RECHECK_DELAY if is_gone else memory.refusal.after
            raise
        await self.observer.blockers.forget(world.name)
        return done

    def report(self, world: World, outcome: Done | Exception) -> StatusReport[BundleDeploymentStatus]:
        """The status; how long what is known in a moment has been waited for is remembered."""
        memory = self.observer.memories[world.name]
        memory.settling_since = (memory.settling_since or world.now) if isinstance(outcome, BriefWait) else None
        return report(world, outcome)

    async def _act(self, world: World, plan: Plan) -> Done:
        memory = self.observer.memories[world.name]
        match plan:
            case AddFinalizer():
                memory.latest = await self.hands.add_finalizer(world)
            case UpdateInventory():
                memory.latest = await self.hands.set_inventory(world, plan)
            case ApplyBundle():
                return await self.hands.apply_bundle(world, plan)
            case Apply():
                return await self.hands.apply(world, plan, memory.notes)
            case Activate() | Announce():
                pass
            case NothingToDo():
                self.observer.contents.drop_bodies(world.name)
                return Done(plan, plan.after)
            case _:
                return await self._withdraw(world, plan)
        return Done(plan, NOW)

    async def _withdraw(self, world: World, plan: Plan) -> Done:
        memory = self.observer.memories[world.name]
        match plan:
            case DeleteBundles():
                await self.withdrawal.drop_bundles(plan)
            case Prune():
                await self.withdrawal.prune(world, plan)
                for member in plan.members:
                    memory.notes.pop(member.key, None)  # should it come back, nobody else had deleted it
            case DeleteObjects():
                await self.withdrawal.tear_down(world, plan, memory.refused)
            case LookInto():
                memory.foreign |= await self.withdrawal.look_into(world, plan)
                return Done(plan, NOW)
            case LeaveNamespaces():
                await self.withdrawal.leave_namespaces(world, plan, memory.refused)
            case RemoveFinalizer():
                await self.withdrawal.remove_finalizer(world)
                memory.is_let_go = True
                return Done(plan)
        return Done(plan, RECHECK_DELAY)

    async def publish(self, world: World, told: StatusReport[BundleDeploymentStatus]) -> None:
        """Nothing when the object was let go in this pass: there is none any more, or nobody's business."""
        memory = self.observer.memories[world.name]
        if not memory.is_let_go:
            raw: Object = dict(memory.latest or world.raw)
            await self.publisher(raw, told)
