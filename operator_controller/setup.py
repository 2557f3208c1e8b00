"""Sets up operator-controller: catalog client, informers, reconciler, controller. Called by __main__."""

from __future__ import annotations

from collections.abc import Callable

from olmkit.api import bundledeployments, bundles, catalogs, operators
from olmkit.api.meta import Kind
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Informer
from olmkit.runtime.manager import Manager
from olmkit.runtime.publish import Publisher
from olmkit.tls.client_tls import ClientTls
from olmkit.tls.service import CATALOG_SERVICE
from operator_controller.catalog_client.cache_cleanup import clean_cache
from operator_controller.catalog_client.client import CatalogClient
from operator_controller.operator.act import FIELD_MANAGER, OperatorActions
from operator_controller.operator.events import EventMapper
from operator_controller.operator.informers import Informers
from operator_controller.operator.metrics import OperatorMetrics
from operator_controller.operator.reconciler import OperatorReconciler

NAME = FIELD_MANAGER
"""Name of the process, of its lease and of its reporting controller."""
MAX_CONCURRENT_RECONCILES = 8


async def build(manager: Manager) -> None:
    """Add everything to the manager. Raises OlmError if the file of --catalogs-ca-file cannot be used."""
    informers = make_informers(manager.informer)
    catalog_client = await _connect(manager)
    manager.on_close(catalog_client.close)
    manager.add_runnable(
        lambda: clean_cache(informers.catalogs, informers.operators, catalog_client), every_replica=False
    )
    reconciler = make_reconciler(manager.client, informers, catalog_client)
    manager.on_started_leading(reconciler.start_leading)
    metrics = OperatorMetrics(lambda: informers.operators.objects.values(), lambda: manager.is_leading)
    metrics.register()
    manager.on_close(metrics.unregister)
    manager.add_controller(make_controller(reconciler))


async def _connect(manager: Manager) -> CatalogClient:
    settings, flags = manager.settings, manager.settings.extra
    config_map = (settings.system_namespace, CATALOG_SERVICE.config_map)
    trust = ClientTls(flags.catalogs_ca_file, manager.client, config_map)
    await trust.load()
    folder = settings.cache_dir / "resolution"
    return await CatalogClient.connect(folder, trust, manager.client if flags.catalogs_token else None)


def make_informers(informer: Callable[[Kind], Informer]) -> Informers:
    """The informers of the four kinds that this controller watches."""
    return Informers(
        operators=informer(operators.KIND),
        catalogs=informer(catalogs.KIND),
        deployments=informer(bundledeployments.KIND),
        bundles=informer(bundles.KIND),
    )


def make_reconciler(client: Client, informers: Informers, catalog_client: CatalogClient) -> OperatorReconciler:
    """The reconciler; what it remembers follows the informers."""
    publisher = Publisher(client, operators.KIND, NAME, informers.operators)
    reconciler = OperatorReconciler(OperatorActions(client, informers), publisher, informers, catalog_client)
    informers.deployments.subscribe(reconciler.rejected_images.record)
    informers.operators.subscribe(reconciler.missing_bundles.forget_deleted)
    return reconciler


def make_controller(reconciler: OperatorReconciler) -> Controller:
    """The controller, and the informers whose changes enqueue Operators."""
    informers = reconciler.informers
    controller = Controller("operator", reconciler.steps(), workers=MAX_CONCURRENT_RECONCILES)
    event_mapper = EventMapper(informers)
    controller.watch(informers.operators, event_mapper.keys_of_operator)
    controller.watch(informers.catalogs, event_mapper.keys_of_catalog)
    controller.watch(informers.deployments, event_mapper.keys_of_deployment)
    controller.watch(informers.bundles, event_mapper.keys_of_bundle)
    return controller
