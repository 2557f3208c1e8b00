"""Builds the controllers of Bundles and BundleDeployments, which share one store."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from aiohttp import web

from olmkit.api import bundledeployments, bundles
from olmkit.api.meta import Kind
from olmkit.jobs.memory_budget import MemoryBudget, job_memory_budget
from olmkit.jobs.sandbox import Sandbox
from olmkit.jobs.scheduler import Jobs
from olmkit.runtime.condition_metrics import ConditionMetrics
from olmkit.runtime.controller import ConsecutivePasses, Controller
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager, Settings
from olmkit.runtime.source_inputs import CONFIG_MAPS, SourceInputs
from olmkit.runtime.status_publisher import ProgressRules, Publisher
from olmkit.sources.access import Access
from olmkit.sources.spec_source import CONFIG_MAP, SECRET
from olmkit.store.store import Store
from olmkit.tls.delegated_auth import DelegatedAuth
from olmkit.tls.peers import Peers
from olmkit.tls.service import local_address, netloc
from rukpak.admission.probe import AdmissionProbe
from rukpak.admission.setup import admission_probe, is_serving, serve_admission
from rukpak.bundle import events as bundle_events
from rukpak.bundle.act import BundleActions
from rukpak.bundle.content_routes import ContentRoutes, content_url
from rukpak.bundle.garbage_collector import GarbageCollector
from rukpak.bundle.leader_forwarding import ADDRESS_ANNOTATION, LeaderForwarding
from rukpak.bundle.reconciler import BundleReconciler
from rukpak.bundle.unpack_request import UNPACK
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.bundle.uploads.collector import UploadCollector
from rukpak.bundle.uploads.reader import UploadReader
from rukpak.bundle.uploads.routes import UploadRoutes
from rukpak.bundle.uploads.writer import UploadWriter
from rukpak.bundledeployment.account_rules import AccountPolicy
from rukpak.bundledeployment.act import BundleDeploymentActions
from rukpak.bundledeployment.apply.applier import Applier
from rukpak.bundledeployment.apply.certificate_secrets import CertificateSecrets
from rukpak.bundledeployment.apply.permission_check import PermissionChecker
from rukpak.bundledeployment.charts.chart_renderer import ChartRenderer
from rukpak.bundledeployment.cluster import transforms
from rukpak.bundledeployment.cluster.account_watch import AccountWatch
from rukpak.bundledeployment.cluster.conflict_watch import ConflictWatch
from rukpak.bundledeployment.cluster.conversion_watch import ConversionWatch
from rukpak.bundledeployment.cluster.endpoint_probe import EndpointProbe
from rukpak.bundledeployment.cluster.informers import Informers
from rukpak.bundledeployment.cluster.inventory import Inventory
from rukpak.bundledeployment.cluster.pod_watch import PodWatch
from rukpak.bundledeployment.cluster.refusal_watch import RefusalWatch
from rukpak.bundledeployment.cluster.rest_mapper import API_SERVICES, CRDS, NAMESPACES, RestMapper
from rukpak.bundledeployment.cluster.usage import UsageReader
from rukpak.bundledeployment.crd_upgrade.crd_changes import CrdChangeReader
from rukpak.bundledeployment.crd_upgrade.existing_objects import ExistingObjectsChecker
from rukpak.bundledeployment.deletion.deleter import Deleter
from rukpak.bundledeployment.events import UID_INDEX, EventMapper
from rukpak.bundledeployment.identity import Identities
from rukpak.bundledeployment.observe import Observer
from rukpak.bundledeployment.reconciler import BundleDeploymentReconciler
from rukpak.bundledeployment.render_cache import RenderCache
from rukpak.charts.template_request import LIMITS, TEMPLATE, TemplateResult

BUNDLE_CONTROLLER = "bundle"
BUNDLE_DEPLOYMENT_CONTROLLER = "bundledeployment"
FIELD_MANAGER = "rukpak"
"""Field manager of statuses, and reporting controller of Events."""
MAX_CONCURRENT_RECONCILES = 8
"""BundleDeployments that are installed at the same time."""
MAX_CONCURRENT_RENDERINGS = 2
"""Charts that are rendered at the same time."""
MAX_CONCURRENT_REQUESTS = 16
"""Requests about installed objects, for all BundleDeployments together."""


log = logging.getLogger(__name__)


async def build(manager: Manager) -> None:
    """Add both controllers to the manager. Raises an OlmError when the configuration is invalid."""
    settings = manager.settings
    # Invalid configuration ends the process now, and not each job later.
    access = Access(settings.registries_conf, settings.pull_cas_dir, settings.allow_source_cidr)
    access.check()
    store = Store(store_directory(settings))
    sandbox = Sandbox(reads=(*access.config_files(), store_directory(settings)))
    memory = job_memory_budget(settings.jobs_memory)
    jobs = Jobs[UnpackResult](
        lambda name: bundles_controller.enqueue(name), preload=[UNPACK.module], sandbox=sandbox, memory=memory
    )
    manager.on_close(jobs.close)
    bundles_controller = bundle_controller(manager, jobs, store)
    bundle_deployment_controller(manager, store, memory, bundles_controller.enqueue, admission_probe(manager))
    await serve_admission(manager, partial(_add_routes, manager, store, bundles_controller.enqueue))


def _add_routes(
    manager: Manager,
    store: Store,
    on_missing_content: Callable[[str], None],
    application: web.Application,
    peers: Peers,
) -> None:
    """Add the routes for the files of Bundles and for uploads to the server of the webhooks."""
    settings, auth, informer = manager.settings, DelegatedAuth(manager.client), manager.informer(bundles.KIND)
    own_address = settings.replica_address or local_address(settings.webhook_bind_address)
    manager.lease_annotations[ADDRESS_ANNOTATION] = netloc(own_address)
    forwarding = LeaderForwarding(peers, lambda: manager.leader_annotations.get(ADDRESS_ANNOTATION, ""))
    manager.on_close(forwarding.close)
    ContentRoutes(
        store, informer, auth.check, lambda: manager.is_leading, forwarding.forward, on_missing_content
    ).add_routes(application)
    config_maps = manager.informer(CONFIG_MAPS, namespace=settings.system_namespace, metadata_only=True)
    writer = UploadWriter(manager.client, settings.system_namespace)
    UploadRoutes(manager.client, informer, config_maps, writer, auth.check_access).add_routes(application)


def store_directory(settings: Settings) -> Path:
    """The directory of the Store of bundles, for this process and for its jobs."""
    return settings.cache_dir / "bundles"


def bundle_controller(manager: Manager, jobs: Jobs[UnpackResult], store: Store) -> Controller:
    """The controller of Bundles, added to the manager. `store` is at `store_directory`; `jobs` has to enqueue the key of a job
    here when it ends.
    """
    settings, client = manager.settings, manager.client
    informer, deployments = manager.informer(bundles.KIND), manager.informer(bundledeployments.KIND)
    collector = GarbageCollector(informer, deployments, jobs, store)
    access = Access(settings.registries_conf, settings.pull_cas_dir, settings.allow_source_cidr)
    inputs = SourceInputs.of(manager, "Bundles")
    uploads = UploadReader(client, settings.system_namespace)
    actions = BundleActions(jobs, store, store_directory(settings), access, inputs, collector, uploads)
    rules = ProgressRules(lambda name, delay: controller.enqueue_after(name, delay), frozenset({"phase"}))
    publisher = Publisher(client, bundles.KIND, FIELD_MANAGER, informer, rules)
    url = partial(content_url, settings.system_namespace) if is_serving(manager) else lambda _: ""
    reconciler = BundleReconciler(actions, publisher, informer, deployments, url)
    controller = Controller(BUNDLE_CONTROLLER, reconciler.steps())
    event_mapper = bundle_events.EventMapper(informer, inputs.secrets.common)
    controller.watch(informer, event_mapper.keys_of_bundle)
    controller.watch(deployments, event_mapper.keys_of_deployment)
    controller.watch(inputs.informers[SECRET], event_mapper.keys_of_secret)
    controller.watch(inputs.informers[CONFIG_MAP], event_mapper.keys_of_config_map)
    manager.on_started_leading(reconciler.start_leading)
    manager.add_controller(controller)
    manager.add_runnable(collector.run, every_replica=False)
    loose_parts = UploadCollector(client, inputs.informers[CONFIG_MAP], settings.system_namespace)
    manager.add_runnable(loose_parts.run, every_replica=False)
    _export_conditions(manager, bundles.KIND, informer)
    return controller


def bundle_deployment_controller(
    manager: Manager,
    store: Store,
    memory: MemoryBudget,
    on_missing_content: Callable[[str], None],
    admission: AdmissionProbe | None = None,
) -> Controller:
    """The controller of BundleDeployments, added to the manager. `store` holds the bundles that were unpacked; `memory` is the
    budget of jobs; `on_missing_content` is called with the Bundle whose content is missing or damaged; no Bundle is created
    before `admission` has found that its webhook answers.
    """
    informers = Informers(
        deployments=manager.informer(bundledeployments.KIND),
        bundles=manager.informer(bundles.KIND),
        namespaces=manager.informer(NAMESPACES, metadata_only=True, transform=transforms.namespace),
        crds=manager.informer(CRDS, transform=transforms.crd),
    )
    informers.deployments.add_index(UID_INDEX, lambda obj: (obj["metadata"]["uid"],))
    api_services = manager.informer(API_SERVICES, transform=transforms.api_service)
    event_mapper = EventMapper(informers.deployments, informers.crds, informers.namespaces)
    rest_mapper = RestMapper(manager.client, informers.crds, api_services, event_mapper.remover_of)
    suite_namespaces = (manager.settings.system_namespace, manager.settings.keys_namespace)
    charts = _chart_renderer(
        manager, rest_mapper, store, memory, lambda name: controller.enqueue(name), on_missing_content
    )
    reconciler = _reconciler(
        manager,
        informers,
        rest_mapper,
        event_mapper,
        RenderCache(store, rest_mapper, suite_namespaces, charts.content),
        charts,
        memory,
        admission,
        lambda name: controller.enqueue(name),
        lambda name, delay: controller.enqueue_after(name, delay),
        on_missing_content,
    )
    controller = Controller(
        BUNDLE_DEPLOYMENT_CONTROLLER,
        reconciler.steps(),
        workers=MAX_CONCURRENT_RECONCILES,
        consecutive=ConsecutivePasses(),
        cost=reconciler.cost,
    )
    controller.watch(api_services, event_mapper.keys_of_api_service)
    _watch(controller, informers, event_mapper, charts.sources)
    manager.on_started_leading(reconciler.start_leading)
    manager.add_controller(controller)
    _export_conditions(manager, bundledeployments.KIND, informers.deployments)
    return controller


def _watch(controller: Controller, informers: Informers, event_mapper: EventMapper, sources: SourceInputs) -> None:
    controller.watch(informers.deployments, event_mapper.keys_of_deployment)
    controller.watch(informers.bundles, event_mapper.keys_of_bundle)
    controller.watch(informers.namespaces, event_mapper.keys_of_namespace)
    controller.watch(informers.crds, event_mapper.keys_of_crd)
    for kind, informer in sources.informers.items():
        controller.watch(informer, partial(event_mapper.keys_of_values, kind))


def _chart_renderer(
    manager: Manager,
    rest_mapper: RestMapper,
    store: Store,
    memory: MemoryBudget,
    enqueue: Callable[[str], None],
    on_missing_content: Callable[[str], None],
) -> ChartRenderer:
    """The renderer of charts. Its jobs have no network, and may start helm alone."""
    settings = manager.settings
    program = settings.helm if settings.helm is not None and os.access(settings.helm, os.X_OK) else None
    if settings.helm is not None and program is None:
        log.warning("Helm charts cannot be rendered: %s is no program", settings.helm)
    sandbox = Sandbox((store_directory(settings),), network=False, executes=(program,) if program is not None else ())
    jobs = Jobs[TemplateResult](
        lambda place: enqueue(charts.record(place)),
        max_concurrent=MAX_CONCURRENT_RENDERINGS,
        limits=LIMITS,
        preload=[TEMPLATE.module],
        sandbox=sandbox,
        memory=memory,
    )
    manager.on_close(jobs.close)
    sources = SourceInputs.of(manager, "Bundles")
    charts = ChartRenderer(jobs, manager.client, store, sources, rest_mapper, program, enqueue, on_missing_content)
    return charts


def _export_conditions(manager: Manager, kind: Kind, informer: Informer) -> None:
    metrics = ConditionMetrics(kind, lambda: informer.objects.values(), lambda: manager.is_leading)
    metrics.register()
    manager.on_close(metrics.unregister)


def _by_uid(event_mapper: EventMapper, enqueue: Callable[[str], None]) -> Callable[[str], None]:
    """Enqueues the BundleDeployment of a uid."""

    def enqueue_uid(uid: str) -> None:
        for name in event_mapper.names_of((uid,)):
            enqueue(name)

    return enqueue_uid


def _reconciler(  # noqa: PLR0913 what the controller and the reconciler share
    manager: Manager,
    informers: Informers,
    rest_mapper: RestMapper,
    event_mapper: EventMapper,
    render_cache: RenderCache,
    charts: ChartRenderer,
    memory: MemoryBudget,
    admission: AdmissionProbe | None,
    enqueue: Callable[[str], None],
    enqueue_after: Callable[[str, timedelta], None],
    on_missing_content: Callable[[str], None],
) -> BundleDeploymentReconciler:
    client, limit = manager.client, asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
    identities = Identities(client)

    inventory = Inventory(manager, rest_mapper, informers.crds, _by_uid(event_mapper, enqueue))
    fields = frozenset({
        "announced", "failed", "history", "installNamespace", "leftOut", "leftOutTruncated", "permittedBy", "refusedPods",
    })  # fmt: skip
    rules = ProgressRules(enqueue_after, fields)
    publisher = Publisher(client, bundledeployments.KIND, FIELD_MANAGER, informers.deployments, rules)
    usage = UsageReader(client, rest_mapper, informers.crds, limit)
    checker = ExistingObjectsChecker(client, render_cache, memory, enqueue)
    manager.on_close(checker.close)
    actions = BundleDeploymentActions(
        Applier(
            identities, rest_mapper, render_cache, inventory, informers, event_mapper.name_of, checker.confirm, limit
        ),
        CertificateSecrets(identities, inventory, event_mapper.name_of, limit),
        Deleter(identities, rest_mapper, informers, limit, usage),
        usage,
        inventory,
        event_mapper,
        ConflictWatch(manager, enqueue),
        RefusalWatch(manager, enqueue_after),
        ConversionWatch(manager, enqueue),
        render_cache,
        PodWatch(manager, client, enqueue),
        checker,
        charts,
        AccountWatch(manager, enqueue),
        PermissionChecker(identities, limit),
    )
    observer = _observer(actions, manager, informers, rest_mapper, limit, admission)
    return BundleDeploymentReconciler(
        observer, actions, rest_mapper, render_cache, event_mapper, publisher, enqueue_after, on_missing_content
    )


def _observer(
    actions: BundleDeploymentActions,
    manager: Manager,
    informers: Informers,
    rest_mapper: RestMapper,
    limit: asyncio.Semaphore,
    admission: AdmissionProbe | None,
) -> Observer:
    """Reads from the caches and watches that the actions keep."""
    settings, client = manager.settings, manager.client
    suite_namespaces = (settings.system_namespace, settings.keys_namespace)
    return Observer(
        client,
        informers,
        rest_mapper,
        actions.render_cache,
        actions.inventory,
        actions.event_mapper,
        actions.usage,
        CrdChangeReader(client, actions.render_cache, limit),
        EndpointProbe(client),
        actions.certificates,
        actions.conversions,
        actions.pods,
        actions.existing_objects,
        actions.memories,
        actions.charts,
        actions.accounts,
        AccountPolicy(settings.require_service_account, suite_namespaces),
        admission,
    )
