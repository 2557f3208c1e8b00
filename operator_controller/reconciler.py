"""Kind Operator: what is observed, what is done, and what wakes it.

Built by __main__. The only place of this controller that talks to the API server; what it decides is in decide.py and report.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from olmkit.api import bundledeployments, bundles, catalogs, operators
from olmkit.api.bundledeployments import OWNER_NAME_LABEL, PACKAGE_ANNOTATION
from olmkit.api.catalogs import Availability, Catalog
from olmkit.api.meta import Kind, Object
from olmkit.api.operators import Operator, OperatorStatus
from olmkit.client import Client
from olmkit.conditions import Report
from olmkit.controller import Controller
from olmkit.errors import NotFound
from olmkit.informer import Change, Informer
from olmkit.manager import Manager
from olmkit.publish import Publisher
from olmkit.reconciler import Reconciler
from operator_controller import catalog_access
from operator_controller.catalog_client import CatalogClient, served_digest
from operator_controller.decide import Delete, Done, Hold, Install, Keep, Plan, Release, decide
from operator_controller.report import report
from operator_controller.world import Claim, Deployment, World, is_owned, read_running

NAME = "operator-controller"
"""Field manager, lease and reporting controller."""
WORKERS = 8
PACKAGE_INDEX = "package"


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

    async def observe(self, key: str) -> World | None:
        """The World of the Operator `key`; None when it is gone."""
        raw = self._cluster.operators.get(key)
        if raw is None:
            return None
        operator = Operator.load(raw)
        found = self._cluster.deployments.get(key)
        deployment = Deployment.load(found) if found is not None else None
        base = World(now=datetime.now(UTC), raw=raw, operator=operator, deployment=deployment)
        if operator.metadata.deleting:
            return _with_running(base, self._cluster)
        package = operator.spec.package_name
        answers = [
            await self._catalog_client.offer(catalog, package)
            for _, catalog in sorted(self._cluster.catalogs.objects.items())
            if not is_disabled(catalog)
        ]
        world = replace(
            base,
            offers=tuple(answer.offer for answer in answers),
            claims=claims(self._cluster, package),
            is_lagging=any(answer.is_lagging for answer in answers),
        )
        return _with_running(world, self._cluster)

    async def act(self, world: World, plan: Plan) -> Done:
        """Carry the plan out: at most one write."""
        name = world.operator.metadata.name
        match plan:
            case Hold(finalizers) | Release(finalizers):
                await self._set_finalizers(world, finalizers)
                return Done(plan)
            case Install(deployment, after):
                applied = await self._client.apply(bundledeployments.KIND, dict(deployment), NAME)
                self._cluster.deployments.saw(applied)
                return Done(plan, after)
            case Delete(deployment_name, uid):
                await self._delete(deployment_name, uid)
                return Done(plan)
            case Keep(after):
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
            self._cluster.operators.saw(patched)

    async def _delete(self, name: str, uid: str) -> None:
        try:
            await self._client.delete(bundledeployments.KIND, name, uid=uid)
        except NotFound:
            return

    async def publish(self, world: World, said: Report[OperatorStatus] | None) -> None:
        """Write what is said, if anything."""
        if said is None:
            return
        try:
            await self._publish(dict(world.raw), said.status.dump(), said.transitions)
        except NotFound:
            if not world.operator.metadata.deleting:
                raise


def _with_running(world: World, cluster: Cluster) -> World:
    """The World with what is installed, read from the active Bundle."""
    active = world.owned.model.status.active_bundle if world.owned else None
    if not active:
        return world
    raw = cluster.bundles.get(active)
    if raw is None:
        return replace(world, unseen_bundle=active)
    running, installed = read_running(raw)
    return replace(world, running=running, installed=installed)


# --- who else wants the package


def claims(cluster: Cluster, package: str) -> tuple[Claim, ...]:
    """All Operators that ask for the package or have it, sorted by name."""
    asking = {raw["metadata"]["name"]: raw for raw in cluster.operators.by_index(PACKAGE_INDEX, package)}
    for deployment in cluster.deployments.by_index(PACKAGE_INDEX, package):
        name = deployment["metadata"]["name"]
        operator = cluster.operators.get(name)
        if operator is not None and _owned(deployment, operator):
            asking[name] = operator
    found = (_claim(cluster, raw, package) for _, raw in sorted(asking.items()))
    return tuple(claim for claim in found if claim is not None)


def _claim(cluster: Cluster, raw: Object, package: str) -> Claim | None:
    """None for an Operator that asks for the package while it has another one installed: that has to be settled first."""
    name = raw["metadata"]["name"]
    deployment = cluster.deployments.get(name)
    if deployment is not None and not _owned(deployment, raw):
        deployment = None
    is_installed = deployment is not None and bool((deployment.get("status") or {}).get("activeBundle"))
    has_it = deployment is not None and package in packages_of(deployment)
    if is_installed and not has_it:
        return None
    return Claim(
        is_new=not (is_installed and has_it),
        is_idle=not has_it,
        created=raw["metadata"].get("creationTimestamp", ""),
        name=name,
        is_leaving="deletionTimestamp" in raw["metadata"],
    )


def _owned(deployment: Object, operator: Object) -> bool:
    return is_owned(Deployment.load(deployment), operator["metadata"]["uid"])


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
    is_gone = model.metadata.deleting or is_disabled(catalog)
    return model.metadata.uid, served, model.status.content_url if served else "", model.spec.priority, is_gone


def is_disabled(catalog: Object) -> bool:
    """A person said that nothing is to be installed from it."""
    return bool(catalog["spec"].get("availability") == Availability.UNAVAILABLE)


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
    cluster = make_cluster(manager)
    folder: Path = manager.settings.cache_dir / "resolution"
    catalog_client = await catalog_access.connect(manager, folder)
    manager.on_close(catalog_client.close)
    manager.serve(lambda: keep_tidy(cluster.catalogs, catalog_client), every_replica=False)
    manager.add_controller(make_controller(manager.client, cluster, catalog_client))


async def keep_tidy(known: Informer, catalog_client: CatalogClient) -> None:
    """Drop the content of Catalogs that are gone, at the start and whenever one goes; until cancelled."""
    await known.synced.wait()
    gone = asyncio.Event()

    def heard(change: Change) -> None:
        if change.new is None:
            gone.set()

    known.subscribe(heard)
    try:
        while True:
            await catalog_client.keep_only({name for _, name in known.objects})
            await gone.wait()
            gone.clear()
    finally:
        known.unsubscribe(heard)


def make_cluster(manager: Manager) -> Cluster:
    """The four informers, with the indexes that claims() needs."""

    def informer(kind: Kind) -> Informer:
        return manager.informer(kind)

    cluster = Cluster(
        operators=informer(operators.KIND),
        catalogs=informer(catalogs.KIND),
        deployments=informer(bundledeployments.KIND),
        bundles=informer(bundles.KIND),
    )
    cluster.operators.add_index(PACKAGE_INDEX, lambda raw: [raw["spec"]["packageName"]])
    cluster.deployments.add_index(PACKAGE_INDEX, packages_of)
    return cluster


def make_controller(client: Client, cluster: Cluster, catalog_client: CatalogClient) -> Controller:
    """Reconciler, queue and wakes."""
    actions = Actions(client, cluster, catalog_client)
    reconciler = Reconciler(
        observe=actions.observe, decide=decide, act=actions.act, report=report, publish=actions.publish
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
