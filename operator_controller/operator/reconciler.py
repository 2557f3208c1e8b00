"""Kind Operator: what is observed, what is done, and what wakes it.

Built by __main__. The only place of this controller that talks to the API server; what it decides is in decide.py and report.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from olmkit.api import bundledeployments, bundles, catalogs, operators
from olmkit.api.bundledeployments import BUNDLE_NAME_ANNOTATION, OWNER_NAME_LABEL, PACKAGE_ANNOTATION
from olmkit.api.catalogs import Catalog
from olmkit.api.conditions import StatusReport
from olmkit.api.meta import Kind, Object
from olmkit.api.operators import Operator, OperatorStatus
from olmkit.errors import NotFound
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Change, Informer
from olmkit.runtime.manager import Manager
from olmkit.runtime.publish import Publisher
from olmkit.runtime.reconciler import Decision, Reconciler
from operator_controller.catalog_client import flags
from operator_controller.catalog_client.client import CatalogClient, served_digest
from operator_controller.operator.decide import (
    AddFinalizer,
    ApplyBundleDeployment,
    DeleteBundleDeployment,
    Done,
    NoAction,
    Plan,
    RemoveFinalizer,
    decide,
)
from operator_controller.operator.evaluate import snapshot_to_resolve
from operator_controller.operator.rejected_images import RejectedImages
from operator_controller.operator.report import report
from operator_controller.operator.world import (
    ObservedBundleDeployment,
    PackageClaim,
    World,
    is_owned,
    read_recorded,
    read_running,
)
from operator_controller.resolve.explained_resolution import resolve_and_explain

NAME = "operator-controller"
"""Field manager, lease and reporting controller."""
WORKERS = 8
MAX_CONCURRENT_RESOLUTIONS = 2
"""Threads that resolve at once: each takes turns with the event loop, which must not wait for many."""
PACKAGE_INDEX = "package"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cluster:
    """What this controller knows of the cluster."""

    operators: Informer
    catalogs: Informer
    deployments: Informer
    bundles: Informer


class Actions:
    """observe, act and publish for one cluster."""

    def __init__(self, client: Client, cluster: Cluster, catalog_client: CatalogClient) -> None:
        self._client = client
        self._cluster = cluster
        self._catalog_client = catalog_client
        self._publish = Publisher(client, operators.KIND, NAME, cluster.operators)
        self._refusals = RejectedImages()
        cluster.deployments.subscribe(self._refusals.learn)
        self._unseen: dict[str, tuple[str, datetime]] = {}
        """By Operator: an active Bundle that is not there, and since when."""
        self._resolving = asyncio.Semaphore(MAX_CONCURRENT_RESOLUTIONS)

    def begin(self) -> None:
        """This process leads from now on: what it remembers of before may be older than what another one did since."""
        self._publish.reset()
        self._unseen.clear()

    async def observe(self, key: str) -> World | None:
        """The World of the Operator `key`; None when it is gone."""
        raw = self._cluster.operators.get(key)
        if raw is None:
            self._unseen.pop(key, None)
            return None
        operator = Operator.load(raw)
        found = self._cluster.deployments.get(key)
        deployment = ObservedBundleDeployment.load(found) if found is not None else None
        fresh = not self._cluster.deployments.stale
        base = World(
            now=datetime.now(UTC), raw=raw, operator=operator, bundle_deployment=deployment, is_watch_open=fresh
        )
        if operator.metadata.deleting:
            return self._with_running(base)
        package = operator.spec.package_name
        answers = [
            await self._catalog_client.get_offer(catalog, package)
            for _, catalog in sorted(self._cluster.catalogs.objects.items())
        ]
        world = replace(
            base,
            offers=tuple(answer.offer for answer in answers),
            claims=claims(self._cluster, package),
            rejected_images=self._refusals.snapshot(),
            needs_recheck=any(answer.needs_recheck for answer in answers),
        )
        return await self._with_resolution(self._with_running(world))

    def _with_running(self, world: World) -> World:
        """The World with what is installed, read from the active Bundle; from what is recorded when that is missing."""
        name, deployment = world.operator.metadata.name, world.owned_bundle_deployment
        active = deployment.model.status.active_bundle if deployment else None
        raw = self._cluster.bundles.get(active) if active else None
        if deployment is None or active is None or raw is not None:
            self._unseen.pop(name, None)
        if deployment is None or not active:
            return world
        if raw is not None:
            running, installed = read_running(raw)
            return replace(world, running=running, installed_status=installed)
        bundle, since = self._unseen.get(name, ("", world.now))
        if bundle != active:
            since = world.now
        self._unseen[name] = active, since
        recorded = read_recorded(world.operator, deployment)
        return replace(
            world,
            running=recorded[0] if recorded else None,
            installed_status=recorded[1] if recorded else None,
            missing_bundle=active,
            missing_since=since,
        )

    async def _with_resolution(self, world: World) -> World:
        """The World with the answer to its question: worked out once per pass, in a thread, for packages may be large."""
        asked = snapshot_to_resolve(world)
        if asked is None:
            return world
        async with self._resolving:
            return replace(world, resolution=await asyncio.to_thread(resolve_and_explain, asked))

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry the plan out: at most one write."""
        name = world.operator.metadata.name
        match plan:
            case AddFinalizer(finalizers) | RemoveFinalizer(finalizers):
                await self._set_finalizers(world, finalizers)
                return Done(plan)
            case ApplyBundleDeployment(deployment, after):
                applied = await self._client.apply(bundledeployments.KIND, dict(deployment), NAME)
                self._cluster.deployments.record_write(applied)
                _log_applied(world, applied)
                return Done(plan, after)
            case DeleteBundleDeployment(deployment_name, uid):
                await self._delete(deployment_name, uid)
                return Done(plan)
            case NoAction(after):
                return Done(plan, after)
        raise AssertionError(f"no such plan for {name}: {plan}")

    async def _set_finalizers(self, world: World, finalizers: tuple[str, ...]) -> None:
        metadata = world.operator.metadata
        lock = {"resourceVersion": metadata.resource_version, "finalizers": list(finalizers)}
        try:
            patched = await self._client.patch(operators.KIND, metadata.name, {"metadata": lock})
        except NotFound:
            return
        if finalizers or not metadata.deleting:  # without the last finalizer it is gone by now
            self._cluster.operators.record_write(patched)

    async def _delete(self, name: str, uid: str) -> None:
        try:
            await self._client.delete(bundledeployments.KIND, name, uid=uid)
        except NotFound:
            return
        log.info("deleted BundleDeployment %s (the Operator is being deleted)", name)

    async def publish(self, world: World, said: StatusReport[OperatorStatus] | None) -> None:
        """Write what is said, if anything. Raises NotFound when the Operator is gone."""
        if said is not None:
            await self._publish(world.raw, said)


def _log_applied(world: World, applied: Object) -> None:
    """What an apply did to the BundleDeployment; nothing when the API server found nothing to change."""
    known = world.bundle_deployment
    if known is not None and known.model.metadata.resource_version == applied["metadata"]["resourceVersion"]:
        return
    asked = ObservedBundleDeployment.load(applied)
    name, bundle = asked.model.metadata.name, asked.annotations.get(BUNDLE_NAME_ANNOTATION, "")
    if known is None and world.operator.status.installed is not None:
        log.info("recreated BundleDeployment %s (bundle %s): somebody deleted it", name, bundle)
        return
    log.info("%s BundleDeployment %s (bundle %s)", "changed" if known else "created", name, bundle)


# --- who else wants the package


def claims(cluster: Cluster, package: str) -> tuple[PackageClaim, ...]:
    """All Operators that ask for the package or have it, sorted by name."""
    asking = {raw["metadata"]["name"]: raw for raw in cluster.operators.by_index(PACKAGE_INDEX, package)}
    for deployment in cluster.deployments.by_index(PACKAGE_INDEX, package):
        name = deployment["metadata"]["name"]
        operator = cluster.operators.get(name)
        if operator is not None and _owned(deployment, operator):
            asking[name] = operator
    found = (_claim(cluster, raw, package) for _, raw in sorted(asking.items()))
    return tuple(claim for claim in found if claim is not None)


def _claim(cluster: Cluster, raw: Object, package: str) -> PackageClaim | None:
    """None for an Operator that asks for the package while it has another one installed: that has to be settled first."""
    name = raw["metadata"]["name"]
    deployment = cluster.deployments.get(name)
    if deployment is not None and not _owned(deployment, raw):
        deployment = None
    is_installed = deployment is not None and bool((deployment.get("status") or {}).get("activeBundle"))
    has_it = deployment is not None and package in packages_of(deployment)
    if is_installed and not has_it:
        return None
    return PackageClaim(
        is_new=not (is_installed and has_it),
        is_idle=not has_it,
        created=raw["metadata"].get("creationTimestamp", ""),
        name=name,
        is_deleting="deletionTimestamp" in raw["metadata"],
    )


def _owned(deployment: Object, operator: Object) -> bool:
    return is_owned(ObservedBundleDeployment.load(deployment), operator["metadata"]["uid"])


def packages_of(deployment: Object) -> list[str]:
    """The package that a BundleDeployment says it is of, as index keys."""
    metadata = deployment["spec"]["template"].get("metadata") or {}
    package = (metadata.get("annotations") or {}).get(PACKAGE_ANNOTATION)
    return [package] if package else []


# --- what wakes an Operator


def bears_on_resolution(catalog: Object | None) -> tuple[object, ...] | None:
    """The part of a Catalog that matters here; everything else may change without waking anybody."""
    if catalog is None:
        return None
    model = Catalog.load(catalog)
    served = served_digest(model)
    is_gone = model.metadata.deleting or model.is_unavailable
    return model.metadata.uid, served, model.status.content_url if served else "", model.spec.priority, is_gone


class Wakes:
    """Changes become keys of Operators."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def operator(self, change: Change) -> Iterable[str]:
        """Itself; and when a claim may have changed, all others for its packages."""
        new, old = change.new, change.old
        names = {obj["metadata"]["name"] for obj in (new, old) if obj is not None}
        if _claims_of(new) != _claims_of(old):
            for obj in (new, old):
                if obj is not None:
                    names |= self._askers(obj["spec"]["packageName"])
        return names

    def catalog(self, change: Change) -> Iterable[str]:
        """Every Operator, but only if what is served, or its weight, changed."""
        if bears_on_resolution(change.old) == bears_on_resolution(change.new):
            return ()
        return [name for _, name in self._cluster.operators.objects]

    def deployment(self, change: Change) -> Iterable[str]:
        """The Operator of its name; and when it came, went or began to run, all others for its package."""
        new, old = change.new, change.old
        names = {obj["metadata"]["name"] for obj in (new, old) if obj is not None}
        if _hold_of(new) != _hold_of(old):
            for obj in (new, old):
                for package in packages_of(obj) if obj is not None else ():
                    names |= self._askers(package)
        return names

    def bundle(self, change: Change) -> Iterable[str]:
        """The Operator whose BundleDeployment made it."""
        obj = change.new or change.old
        owner = (obj["metadata"].get("labels") or {}).get(OWNER_NAME_LABEL) if obj is not None else None
        return [owner] if owner else []

    def _askers(self, package: str) -> set[str]:
        return {raw["metadata"]["name"] for raw in self._cluster.operators.by_index(PACKAGE_INDEX, package)}


def _claims_of(operator: Object | None) -> tuple[object, ...] | None:
    if operator is None:
        return None
    metadata = operator["metadata"]
    return metadata["uid"], operator["spec"]["packageName"], "deletionTimestamp" in metadata


def _hold_of(deployment: Object | None) -> tuple[object, ...] | None:
    if deployment is None:
        return None
    status = deployment.get("status") or {}
    return deployment["metadata"]["uid"], tuple(packages_of(deployment)), bool(status.get("activeBundle"))


# --- wiring


async def build(manager: Manager) -> None:
    """One controller for Operators on this manager."""
    cluster = make_cluster(manager.informer)
    folder: Path = manager.settings.cache_dir / "resolution"
    catalog_client = await flags.connect(manager, folder)
    manager.on_close(catalog_client.close)
    manager.add_runnable(lambda: keep_tidy(cluster, catalog_client), every_replica=False)
    actions = Actions(manager.client, cluster, catalog_client)
    manager.on_started_leading(actions.begin)
    manager.add_controller(make_controller(actions, cluster))


async def keep_tidy(cluster: Cluster, catalog_client: CatalogClient) -> None:
    """Drop the content of Catalogs that are gone and of packages that no Operator asks for, at the start and whenever one goes;
    until cancelled."""
    watched = (cluster.catalogs, cluster.operators)
    for informer in watched:
        await informer.synced.wait()
    gone = asyncio.Event()

    def heard(change: Change) -> None:
        if change.new is None or (change.old is not None and _package_of(change.old) != _package_of(change.new)):
            gone.set()

    for informer in watched:
        informer.subscribe(heard)
    try:
        while True:
            packages = {_package_of(raw) for raw in cluster.operators.objects.values()}
            await catalog_client.retain_only({name for _, name in cluster.catalogs.objects}, packages)
            await gone.wait()
            gone.clear()
    finally:
        for informer in watched:
            informer.unsubscribe(heard)


def _package_of(raw: Object) -> str:
    """What an Operator asks for; "" of a Catalog."""
    package: str = raw["spec"].get("packageName", "")
    return package


def make_cluster(informer: Callable[[Kind], Informer]) -> Cluster:
    """The four informers, with the indexes that claims() needs."""
    cluster = Cluster(
        operators=informer(operators.KIND),
        catalogs=informer(catalogs.KIND),
        deployments=informer(bundledeployments.KIND),
        bundles=informer(bundles.KIND),
    )
    cluster.operators.add_index(PACKAGE_INDEX, lambda raw: [raw["spec"]["packageName"]])
    cluster.deployments.add_index(PACKAGE_INDEX, packages_of)
    return cluster


def make_controller(actions: Actions, cluster: Cluster) -> Controller:
    """Reconciler, queue and wakes."""
    reconciler: Reconciler[World, Plan, None, Done, StatusReport[OperatorStatus] | None] = Reconciler(
        observe=actions.observe,
        decide=lambda world: Decision(decide(world), None),
        act=actions.act,
        report=lambda world, _, outcome: report(world, outcome),
        publish=actions.publish,
    )

    async def reconcile(key: str) -> timedelta | None:
        return await reconciler(key)

    controller = Controller("operator", reconcile, workers=WORKERS)
    wakes = Wakes(cluster)
    controller.watch(cluster.operators, wakes.operator)
    controller.watch(cluster.catalogs, wakes.catalog)
    controller.watch(cluster.deployments, wakes.deployment)
    controller.watch(cluster.bundles, wakes.bundle)
    return controller
