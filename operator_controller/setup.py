"""Sets up operator-controller: catalog client, informers, Resolver, reconcilers, controllers, debug server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from olmkit.api import (
    bundledeployments,
    bundles,
    catalogs,
    clustercatalogs,
    clusterextensions,
    customresourcedefinitions,
    operators,
)
from olmkit.api.meta import Kind
from olmkit.api.ownership import OPERATOR_CONTROLLER
from olmkit.jobs.fork_client import ForkServerClient
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.worker import Worker
from olmkit.runtime.client import Client
from olmkit.runtime.condition_metrics import ConditionMetrics
from olmkit.runtime.controller import Controller
from olmkit.runtime.foreign_leaders import ForeignLeaders, upstream_review
from olmkit.runtime.held_progress import MAX_V1_DELAY, is_v1_progress
from olmkit.runtime.informer import Change, Informer, without_managed_fields
from olmkit.runtime.manager import Manager
from olmkit.runtime.optional_controller import MakeInformer, OptionalController
from olmkit.runtime.status_publisher import ProgressRules, Publisher
from olmkit.tls.client_tls import ClientTls
from olmkit.tls.service import CATALOG_SERVICE
from operator_controller.catalog_cache.client import CatalogClient, clean_cache
from operator_controller.clusterextension.act import ExtensionActions
from operator_controller.clusterextension.events import Informers as ExtensionInformers
from operator_controller.clusterextension.reconciler import ExtensionReconciler
from operator_controller.crd_checks.checker import CrdChecker
from operator_controller.debug.server import serve_resolutions
from operator_controller.operator.act import OperatorActions
from operator_controller.operator.events import EventMapper, Informers, packages_of_operator, taken_names
from operator_controller.operator.metrics import OperatorMetrics
from operator_controller.operator.orphaned_holds import OrphanedHolds
from operator_controller.operator.reconciler import OperatorReconciler
from operator_controller.resolution.resolution_loop import MapFunc, Resolver
from operator_controller.resolution.snapshot_inputs import ClusterFactsReader
from operator_controller.resolution.solve_request import SOLVE, SOLVE_LIMITS
from operator_controller.resolution.solver_process import SolverProcess

NAME = OPERATOR_CONTROLLER
"""Name of the process, of its lease and of its reporting controller."""
MAX_CONCURRENT_RECONCILES = 8
PROGRESS_FIELDS = frozenset(
    {"wantedVersion", "resolvedBundleResource", "health", "wanted", "deprecations", "dependencies", "resolution"}
)
"""Fields of the status that say what is being installed."""


async def build(manager: Manager) -> None:
    """Add everything to the manager. Raises OlmError if the file of --catalogs-ca-file or the address of
    --debug-bind-address cannot be used."""
    informers = make_informers(manager.informer)
    catalog_client = await _connect(manager)
    manager.on_close(catalog_client.close)
    manager.add_runnable(lambda: clean_cache(informers.catalogs, catalog_client), every_replica=False)
    definitions = manager.informer(customresourcedefinitions.KIND, transform=customresourcedefinitions.trim)
    worker = make_worker(catalog_client)
    manager.on_close(worker.close)
    facts = ClusterFactsReader(manager.client, definitions)
    resolver = Resolver(SolverProcess(worker, catalog_client.directory), catalog_client, informers.catalogs, facts)
    checker = CrdChecker(
        catalog_client.another_session(),
        manager.client,
        informers.catalogs,
        definitions,
        lambda name: controller.enqueue(name),
    )
    manager.on_close(checker.close)
    reconciler = make_reconciler(
        manager.client, informers, resolver, lambda name, delay: controller.enqueue_after(name, delay), checker
    )
    controller = make_controller(reconciler)
    manager.on_started_leading(worker.warm_up)
    manager.on_started_leading(reconciler.start_leading)
    metrics = OperatorMetrics(lambda: informers.operators.objects.values(), lambda: manager.is_leading)
    metrics.register()
    manager.on_close(metrics.unregister)
    conditions = ConditionMetrics(
        operators.KIND, lambda: informers.operators.objects.values(), lambda: manager.is_leading
    )
    conditions.register()
    manager.on_close(conditions.unregister)
    manager.add_controller(controller)
    manager.add_controller(make_orphan_controller(reconciler))
    manager.add_runnable(make_extension_controller(manager, informers).run, every_replica=False)
    manager.add_runnable(resolver.run, every_replica=False)
    for informer in (informers.catalogs, definitions):
        manager.add_ready_check(f"informer {informer.kind.plural}", informer.synced.is_set)
    await serve_resolutions(manager, resolver)


async def _connect(manager: Manager) -> CatalogClient:
    settings, flags = manager.settings, manager.settings.extra
    config_map = (settings.system_namespace, CATALOG_SERVICE.config_map)
    trust = ClientTls(flags.catalogs_ca_file, manager.client, config_map)
    await trust.load()
    directory = settings.cache_dir / "resolution"
    return await CatalogClient.connect(directory, trust, manager.client if flags.catalogs_token else None)


def make_informers(informer: Callable[[Kind], Informer]) -> Informers:
    """The informers of the four kinds that this controller watches."""
    return Informers(
        operators=informer(operators.KIND),
        catalogs=informer(catalogs.KIND),
        deployments=informer(bundledeployments.KIND),
        bundles=informer(bundles.KIND),
    )


def make_worker(catalog_client: CatalogClient) -> Worker:
    """The process that solves, which may read the contents of catalogs and nothing else."""
    sandbox = Sandbox(reads=(catalog_client.directory,), network=False)
    return Worker(ForkServerClient([SOLVE.module], sandbox), limits=SOLVE_LIMITS)


def make_reconciler(
    client: Client,
    informers: Informers,
    resolver: Resolver,
    enqueue_after: Callable[[str, timedelta], None],
    checker: CrdChecker | None = None,
) -> OperatorReconciler:
    """The reconciler; what it remembers follows the informers. `enqueue_after` is that of its controller. Without `checker` the
    definitions of bundles that wait are not checked."""
    rules = ProgressRules(enqueue_after, PROGRESS_FIELDS)
    publisher = Publisher(client, operators.KIND, NAME, informers.operators, rules)
    reconciler = OperatorReconciler(
        OperatorActions(client, informers), publisher, informers, resolver, crd_checker=checker
    )
    if checker is not None:
        informers.operators.subscribe(checker.forget_deleted)
    informers.deployments.subscribe(reconciler.rejected_images.record)
    informers.operators.subscribe(reconciler.missing_bundles.forget_deleted)
    informers.operators.subscribe(reconciler.orphaning.record)
    return reconciler


def make_controller(reconciler: OperatorReconciler) -> Controller:
    """The controller, the informers whose changes enqueue Operators, and the Resolver, which also does."""
    informers, resolver = reconciler.informers, reconciler.resolver
    controller = Controller("operator", reconciler.steps(), workers=MAX_CONCURRENT_RECONCILES)
    event_mapper = EventMapper(informers)
    resolver.connect(
        reconciler.read_request,
        lambda: taken_names(informers.operators.objects.values(), informers.deployments.objects.values()),
        controller.enqueue,
    )
    for informer, operators_of in (
        (informers.operators, event_mapper.keys_of_operator),
        (informers.deployments, event_mapper.keys_of_deployment),
        (informers.bundles, event_mapper.keys_of_bundle),
    ):
        controller.watch(informer, _with_neighbours(operators_of, informers, resolver))
        resolver.watch(informer, operators_of)
    controller.watch(informers.catalogs, event_mapper.keys_of_catalog)
    return controller


def make_orphan_controller(reconciler: OperatorReconciler) -> Controller:
    """The controller of BundleDeployments whose deletion is held and whose Operator does not exist any more."""
    informers = reconciler.informers
    holds = OrphanedHolds(reconciler.actions, informers, reconciler.read_request)
    controller = Controller("orphaned-hold", holds.reconcile, workers=1)
    for informer in (informers.deployments, informers.operators, informers.bundles):
        controller.watch(informer, holds.keys_of)
    return controller


def make_extension_controller(manager: Manager, shared: Informers) -> OptionalController:
    """The controller of ClusterExtensions, which runs while this process may list them; and its metrics."""
    kind = clusterextensions.KIND

    def make(informer: MakeInformer) -> Controller:
        leaders = ForeignLeaders(informer, upstream_review(manager.client, manager.settings.system_namespace))
        extensions = informer(kind, absent_is_empty=True, transform=without_managed_fields)
        cluster_catalogs = informer(clustercatalogs.KIND, absent_is_empty=True, transform=without_managed_fields)
        informers = ExtensionInformers(extensions, shared.operators, shared.catalogs, cluster_catalogs)
        rules = ProgressRules(
            lambda name, delay: controller.enqueue_after(name, delay),
            is_progress=is_v1_progress,
            max_delay=MAX_V1_DELAY,
        )
        publisher = Publisher(manager.client, kind, NAME, extensions, rules, chooses_events=False)
        reconciler = ExtensionReconciler(ExtensionActions(manager.client, informers), publisher, informers, leaders)
        extensions.subscribe(reconciler.orphaning.record)
        extensions.subscribe(reconciler.reported.forget_deleted)
        manager.on_started_leading(reconciler.start_leading)
        controller = Controller("clusterextension", reconciler.steps(), workers=MAX_CONCURRENT_RECONCILES)
        controller.watch(extensions, informers.keys_of_extension)
        controller.watch(shared.operators, informers.keys_of_operator)
        controller.watch(shared.catalogs, informers.keys_of_catalog)
        controller.watch(cluster_catalogs, informers.keys_of_catalog)
        for leases in leaders.informers:  # no pass begins before they are known
            controller.watch(leases, lambda change: ())
        leaders.subscribe(lambda: informers.enqueue_all(controller.enqueue))
        conditions = ConditionMetrics(kind, extensions.objects.values, lambda: extensions.is_running)
        conditions.register()
        manager.on_close(conditions.unregister)
        return controller

    return OptionalController(manager, kind, make)


def _with_neighbours(operators_of: MapFunc, informers: Informers, resolver: Resolver) -> MapFunc:
    """The Operators that a change concerns, and those whose answers name the packages of these Operators."""

    def keys_of(change: Change) -> Iterable[str]:
        names = {*operators_of(change)}
        packages = {package for name in names for package in packages_of_operator(informers, name)}
        return names.union(*(resolver.related_operators(package) for package in packages))

    return keys_of
