"""Wires the operator-controller together: catalog client, informers, reconciler, controller. Called by __main__."""

from __future__ import annotations

from olmkit.api import operators
from olmkit.runtime.client import Client
from olmkit.runtime.controller import Controller
from olmkit.runtime.manager import Manager
from olmkit.runtime.publish import Publisher
from operator_controller.catalog_client import flags
from operator_controller.catalog_client.cache_cleanup import clean_cache
from operator_controller.catalog_client.client import CatalogClient
from operator_controller.operator.act import FIELD_MANAGER, OperatorActions
from operator_controller.operator.events import MapFuncs
from operator_controller.operator.informers import Informers, make_informers
from operator_controller.operator.reconciler import OperatorReconciler

NAME = FIELD_MANAGER
"""Name of the process, of its lease and of its reporting controller."""
MAX_CONCURRENT_RECONCILES = 8


async def build(manager: Manager) -> None:
    """Add everything to the manager."""
    informers = make_informers(manager.informer)
    catalog_client = await flags.connect(manager, manager.settings.cache_dir / "resolution")
    manager.on_close(catalog_client.close)
    manager.add_runnable(
        lambda: clean_cache(informers.catalogs, informers.operators, catalog_client), every_replica=False
    )
    reconciler = make_reconciler(manager.client, informers, catalog_client)
    manager.on_started_leading(reconciler.start_leading)
    manager.add_controller(make_controller(reconciler))


def make_reconciler(client: Client, informers: Informers, catalog_client: CatalogClient) -> OperatorReconciler:
    """The reconciler; what it remembers follows the informers."""
    publisher = Publisher(client, operators.KIND, NAME, informers.operators)
    reconciler = OperatorReconciler(OperatorActions(client, informers), publisher, informers, catalog_client)
    informers.bundle_deployments.subscribe(reconciler.rejected_images.learn)
    informers.operators.subscribe(reconciler.missing_bundles.forget_deleted)
    return reconciler


def make_controller(reconciler: OperatorReconciler) -> Controller:
    """The controller, and the informers whose changes enqueue Operators."""
    informers = reconciler.informers
    controller = Controller("operator", reconciler.steps(), workers=MAX_CONCURRENT_RECONCILES)
    map_funcs = MapFuncs(informers)
    controller.watch(informers.operators, map_funcs.for_operator)
    controller.watch(informers.catalogs, map_funcs.for_catalog)
    controller.watch(informers.bundle_deployments, map_funcs.for_bundle_deployment)
    controller.watch(informers.bundles, map_funcs.for_bundle)
    return controller
