"""Sets up catalogd: the store and its HTTP server, replication, and the controller of Catalogs.

Imports everything; what must start quickly comes before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from catalogd.bundle_summaries.leader_summaries import SUMMARIES_PATH, LeaderSummaries
from catalogd.bundle_summaries.summaries import MAX_CONCURRENT_JOBS, BundleSummaries
from catalogd.bundle_summaries.summary_access import CatalogTasks
from catalogd.bundle_summaries.summary_store import SummaryStore
from catalogd.bundle_summaries.summary_task import BUNDLE_SUMMARIES_NEVER, JOB_LIMITS, SUMMARIZE, SummaryResult
from catalogd.catalog import package_diff
from catalogd.catalog.act import FIELD_MANAGER, CatalogActions
from catalogd.catalog.events import EventMapper
from catalogd.catalog.metrics import CatalogMetrics
from catalogd.catalog.package_sync import PackageSync
from catalogd.catalog.reconciler import CatalogReconciler
from catalogd.clustercatalog.act import ClusterCatalogActions
from catalogd.clustercatalog.events import keys_of_object
from catalogd.clustercatalog.reconciler import ClusterCatalogReconciler
from catalogd.http.bundle_summary_route import SummaryRoute
from catalogd.http.compression import CompressedFiles
from catalogd.http.package_manifests import CatalogFacts, PackageManifestRoutes
from catalogd.http.published_ca import ApiServiceTarget, PublishedCa, SecretTarget
from catalogd.http.server import CatalogServer
from catalogd.ingest.load_task import LOAD, LOAD_LIMITS, LoadResult, LoadTaskFactory
from catalogd.replication.client import PeerRequestOptions
from catalogd.replication.follower import Follower, Leader
from catalogd.replication.server import ADDRESS_ANNOTATION, ReplicationRoutes
from catalogd.storage.catalog_store import CatalogStore
from catalogd.storage.startup_verifier import StartupVerifier
from olmkit.api import catalogs, clustercatalogs, packages
from olmkit.api.catalogs import Availability
from olmkit.api.meta import Kind
from olmkit.errors import OlmError
from olmkit.jobs.memory_budget import MemoryBudget, job_memory_budget
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.runtime.condition_metrics import ConditionMetrics
from olmkit.runtime.controller import Controller
from olmkit.runtime.foreign_leaders import ForeignLeaders, upstream_review
from olmkit.runtime.informer import Informer, without_managed_fields
from olmkit.runtime.manager import Manager
from olmkit.runtime.optional_controller import MakeInformer, OptionalController
from olmkit.runtime.source_inputs import SourceInputs
from olmkit.runtime.status_publisher import ProgressRules, Publisher
from olmkit.sources.access import Access
from olmkit.sources.errors import quoted
from olmkit.sources.oci.reference import is_host
from olmkit.sources.spec_source import CONFIG_MAP, SECRET
from olmkit.tls import setup
from olmkit.tls.service import CATALOG_SERVICE, V1_NAMESPACE, local_address, netloc


@dataclass(frozen=True)
class _Parts:
    """The objects that the parts of the process share."""

    manager: Manager
    store: CatalogStore
    catalogs: Informer
    access: Access
    memory: MemoryBudget
    inputs: SourceInputs


async def build(manager: Manager, startup_verifier: StartupVerifier | None = None) -> None:
    """Serve the content on disk, which `startup_verifier` is verifying, then add the controller. Raises OlmError."""
    access, memory = _checked_access(manager), job_memory_budget(manager.settings.jobs_memory)
    store = CatalogStore(manager.settings.cache_dir, startup_verifier=startup_verifier)
    catalog_informer = manager.informer(catalogs.KIND, transform=without_managed_fields)
    parts = _Parts(manager, store, catalog_informer, access, memory, SourceInputs.of(manager, "Catalogs"))
    summaries = await _summaries(parts)
    # restore() first reads the names of its catalogs: a request for one that is not verified yet gets 503, not 404.
    _, base_url = await asyncio.gather(store.restore(), _serve(parts, summaries))
    controller = _controller(parts, base_url)
    for name in {*store.names, *store.pending_names}:
        controller.enqueue(name)  # no event reports a Catalog that was deleted while this process was down
    store.on_catalog_change(controller.enqueue)
    manager.add_controller(controller)
    _add_cluster_catalogs(parts, base_url)


def _add_cluster_catalogs(parts: _Parts, base_url: str) -> None:
    """Add the controller of ClusterCatalogs, which runs while the permissions for that kind are there."""
    address = parts.manager.settings.extra.v1_address
    base = f"{base_url.partition('://')[0]}://{address}" if address else base_url
    optional = OptionalController(
        parts.manager, clustercatalogs.KIND, lambda informer: _cluster_catalog_controller(parts, base, informer)
    )
    parts.manager.add_runnable(optional.run, every_replica=False)


def _cluster_catalog_controller(parts: _Parts, base_url: str, informer: MakeInformer) -> Controller:
    """The controller that turns ClusterCatalogs into Catalogs."""
    client, kind = parts.manager.client, clustercatalogs.KIND
    cluster_catalogs = informer(kind, absent_is_empty=True, transform=without_managed_fields)
    leaders = ForeignLeaders(informer, upstream_review(client, parts.manager.settings.system_namespace))
    actions = ClusterCatalogActions(client, cluster_catalogs, parts.catalogs)
    publisher = Publisher(client, kind, FIELD_MANAGER, cluster_catalogs, chooses_events=False)
    reconciler = ClusterCatalogReconciler(actions, publisher, parts.store, leaders, base_url)
    cluster_catalogs.subscribe(reconciler.orphaning.record)
    controller = Controller("clustercatalog", reconciler.steps())
    controller.watch(cluster_catalogs, keys_of_object)
    controller.watch(parts.catalogs, keys_of_object)
    for leases in leaders.informers:  # no pass begins before it is known who leads
        controller.watch(leases, lambda change: ())

    def enqueue_all() -> None:
        for _, name in cluster_catalogs.objects:
            controller.enqueue(name)

    leaders.subscribe(enqueue_all)
    parts.store.on_catalog_change(controller.enqueue)
    _export_conditions(parts.manager, kind, cluster_catalogs, lambda: cluster_catalogs.is_running)
    return controller


async def _serve(parts: _Parts, summaries: BundleSummaries | None) -> str:
    """Serve the store to clients and to other replicas, and keep it tidy; returns the URL."""
    manager, store, flags = parts.manager, parts.store, parts.manager.settings.extra
    manager.add_runnable(store.run)
    serving = await setup.secure_serving(
        manager, CATALOG_SERVICE, flags.external_address or local_address(flags.catalogs_server_addr, 0)
    )

    def uid(name: str) -> str | None:
        return _uid(parts.catalogs, name)

    def mount(application: web.Application) -> None:
        facts = partial(_facts, parts.catalogs)
        PackageManifestRoutes(store, uid, facts, manager.settings.system_namespace).add_routes(application)
        if serving.peers:
            _mount_replication(server, ReplicationRoutes(store, serving.check), application)

    server = CatalogServer(
        store,
        uid,
        _compressed_files(manager, store, parts.memory),
        is_leading=lambda: manager.is_leading,
        mount=mount,
        summaries=SummaryRoute(summaries, _leader_summaries(manager, serving.peers)),
    )
    manager.on_close(server.close)
    port = await server.start(flags.catalogs_server_addr, serving.context, serving.authorize)
    namespace = manager.settings.system_namespace
    secrets = map(SecretTarget, sorted({namespace, V1_NAMESPACE}))
    published = PublishedCa(manager.client, serving.ca_bundle, (ApiServiceTarget(namespace), *secrets))
    manager.add_runnable(published.run, every_replica=False)
    if serving.peers:
        address = flags.replica_address or local_address(flags.catalogs_server_addr, port)
        _replicate(manager, store, parts.catalogs, address, serving.peers)
    return f"{serving.scheme}://{flags.external_address or local_address(flags.catalogs_server_addr, port)}"


def _mount_replication(server: CatalogServer, routes: ReplicationRoutes, application: web.Application) -> None:
    """Add the routes for other replicas."""
    routes.add_routes(application)
    summary = routes.authorized(server.bundle_summary_for_replica)
    application.router.add_get(f"{SUMMARIES_PATH}/{{catalog}}/{{bundle}}", summary)


def _controller(parts: _Parts, base_url: str) -> Controller:
    """The controller that fills the store and reports it in the Catalogs' status and the Packages."""
    manager, catalog_informer, inputs = parts.manager, parts.catalogs, parts.inputs

    def job_ended(name: str) -> None:
        reconciler.log_failure(name)
        controller.enqueue(name)

    package_sync = _package_sync(manager)
    actions = CatalogActions(
        client=manager.client,
        catalogs=catalog_informer,
        packages=package_sync,
        jobs=_load_jobs(manager, parts.access, parts.store, parts.memory, job_ended),
        store=parts.store,
        load_tasks=LoadTaskFactory(parts.store.content_directory, parts.access),
        inputs=inputs,
        job_ended=job_ended,
    )
    rules = ProgressRules(lambda name, delay: controller.enqueue_after(name, delay), frozenset({"phase"}))
    publisher = Publisher(manager.client, catalogs.KIND, FIELD_MANAGER, catalog_informer, rules)
    reconciler = CatalogReconciler(actions, publisher, base_url)
    manager.on_started_leading(reconciler.start_leading)
    _export_metrics(manager, catalog_informer, reconciler)
    controller = Controller(FIELD_MANAGER, reconciler.steps())
    event_mapper = EventMapper(catalog_informer, inputs.secrets.common)
    controller.watch(catalog_informer, event_mapper.keys_of_catalog)
    controller.watch(inputs.informers[SECRET], event_mapper.keys_of_secret)
    controller.watch(inputs.informers[CONFIG_MAP], event_mapper.keys_of_config_map)
    controller.watch(package_sync.informer, event_mapper.keys_of_package)
    return controller


def _package_sync(manager: Manager) -> PackageSync:
    informer = manager.informer(packages.KIND, transform=package_diff.transform)
    return PackageSync(manager.client, informer, FIELD_MANAGER)


def _export_metrics(manager: Manager, catalog_informer: Informer, reconciler: CatalogReconciler) -> None:
    """Export the metrics of each Catalog as long as this process leads."""
    metrics = CatalogMetrics(
        lambda: catalog_informer.objects.values(), reconciler.last_checked, lambda: manager.is_leading
    )
    metrics.register()
    manager.on_close(metrics.unregister)
    _export_conditions(manager, catalogs.KIND, catalog_informer, lambda: manager.is_leading)


def _export_conditions(manager: Manager, kind: Kind, informer: Informer, is_leading: Callable[[], bool]) -> None:
    conditions = ConditionMetrics(kind, lambda: informer.objects.values(), is_leading)
    conditions.register()
    manager.on_close(conditions.unregister)


def _load_jobs(
    manager: Manager, access: Access, store: CatalogStore, memory: MemoryBudget, ended: Callable[[str], None]
) -> Jobs[LoadResult]:
    """The jobs that load sources, with their fork server started."""
    sandbox = Sandbox(reads=(*access.config_files(), store.content_directory))
    jobs = Jobs[LoadResult](ended, limits=LOAD_LIMITS, preload=[LOAD.module], sandbox=sandbox, memory=memory)
    jobs.warm_up()
    manager.on_close(jobs.close)
    return jobs


def _compressed_files(manager: Manager, store: CatalogStore, memory: MemoryBudget) -> CompressedFiles:
    """The gzip and zstd files of the content in the store, which every replica makes."""
    compressed_files = CompressedFiles(manager.settings.cache_dir, store, memory)
    manager.on_close(compressed_files.close)
    manager.add_runnable(compressed_files.run)
    return compressed_files


async def _summaries(parts: _Parts) -> BundleSummaries | None:
    """The summaries of bundles, which only the replica that leads makes; None if they are turned off. Raises OlmError."""
    manager, access = parts.manager, parts.access
    if manager.settings.extra.bundle_summaries == BUNDLE_SUMMARIES_NEVER:
        return None
    store = SummaryStore(manager.settings.cache_dir / "bundle-summaries")
    await store.restore()
    sandbox = Sandbox(reads=(*access.config_files(), parts.store.content_directory, store.directory))

    def jobs(ended: Callable[[str], None]) -> Jobs[SummaryResult]:
        return Jobs(
            ended,
            max_concurrent=MAX_CONCURRENT_JOBS,
            limits=JOB_LIMITS,
            preload=[SUMMARIZE.module],
            sandbox=sandbox,
            memory=parts.memory,
        )

    summaries = BundleSummaries(store, CatalogTasks(parts.catalogs.get, parts.inputs, access), jobs)
    manager.on_close(summaries.close)
    return summaries


def _leader_summaries(manager: Manager, peers: PeerRequestOptions | None) -> LeaderSummaries | None:
    """The way to the summaries of the replica that leads; None without replicas."""
    if peers is None:
        return None
    leader = LeaderSummaries(lambda: manager.leader_annotations.get(ADDRESS_ANNOTATION, ""), peers)
    manager.on_close(leader.close)
    return leader


def _checked_access(manager: Manager) -> Access:
    """Return the Access to sources. Raises OlmError for an invalid configuration, which would fail each job."""
    settings, flags = manager.settings, manager.settings.extra
    _check_address("--external-address", flags.external_address)
    _check_address("--v1-address", flags.v1_address)
    _check_address("--replica-address", flags.replica_address)
    access = Access(settings.registries_conf, settings.pull_cas_dir, settings.allow_source_cidr, (manager.client.host,))
    access.check()
    return access


def _check_address(flag: str, address: str | None) -> None:
    """Raises OlmError for an address that others could not connect to."""
    if address and not is_host(address):
        raise OlmError(
            "InvalidConfiguration", f"{flag} is written as host or host:port, without a scheme: {quoted(address)}"
        )


def _uid(informer: Informer, name: str) -> str | None:
    """The uid of the Catalog; "" if it does not exist or is being deleted; None until the informer has synced."""
    if not informer.synced.is_set():
        return None
    found = informer.get(name)
    return "" if found is None or "deletionTimestamp" in found["metadata"] else str(found["metadata"]["uid"])


def _facts(informer: Informer, name: str) -> CatalogFacts:
    """The facts about a Catalog for PackageManifests; those of one without any while it is not known."""
    found = informer.get(name)
    spec = found.get("spec") if found is not None else None
    if not isinstance(spec, dict):
        return CatalogFacts()
    return CatalogFacts(spec.get("priority") or 0, spec.get("displayName") or "", spec.get("publisher") or "")


def _replicate(
    manager: Manager, catalog_store: CatalogStore, catalogs: Informer, address: str, peers: PeerRequestOptions
) -> None:
    """Fill the store from the leader while another replica leads. `catalogs` is the informer of Catalogs."""

    def leader() -> Leader | None:
        if manager.is_leading:
            return None
        return Leader(manager.leader_annotations.get(ADDRESS_ANNOTATION, ""), manager.lease_term)

    manager.lease_annotations[ADDRESS_ANNOTATION] = netloc(address)
    manager.add_runnable(Follower(catalog_store, leader, lambda: _served_catalogs(catalogs), peers).run)


def _served_catalogs(catalogs: Informer) -> Mapping[str, str] | None:
    """The uids of the Catalogs that should be served, by name; None until the informer has synced."""
    if not catalogs.synced.is_set():
        return None
    return {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in catalogs.objects.values() if _is_desired(obj)}


def _is_desired(obj: dict[str, object]) -> bool:
    metadata, spec = obj.get("metadata"), obj.get("spec")
    is_deleting = isinstance(metadata, dict) and "deletionTimestamp" in metadata
    return not is_deleting and isinstance(spec, dict) and spec.get("availability") != Availability.UNAVAILABLE
