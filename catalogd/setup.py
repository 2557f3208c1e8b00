"""What catalogd is made of, wired: the shelf is filled and served, then the controller. Called by catalogd.__main__.

Loads everything; what must be quick comes before it.
"""

from __future__ import annotations

import asyncio

from catalogd.catalog import package_diff
from catalogd.catalog.desired_source import CONFIG_MAP, SECRET
from catalogd.catalog.events import keys_of_catalog, keys_of_input, keys_of_package
from catalogd.catalog.metrics import CatalogMetrics
from catalogd.catalog.package_sync import PackageSync
from catalogd.catalog.reconciler import MANAGER, Catalogs
from catalogd.catalog.source_inputs import CONFIG_MAPS, SECRETS, SourceInputs
from catalogd.http.compression import CompressedFiles
from catalogd.http.server import CatalogServer
from catalogd.ingest.load_request import LOAD, LOAD_LIMITS, LoadResult
from catalogd.ingest.load_tasks import LoadTaskFactory
from catalogd.replication import setup as replicas
from catalogd.replication.server import ReplicationRoutes
from catalogd.storage.catalog_store import CatalogStore
from catalogd.storage.startup_verifier import StartupVerifier
from olmkit.api import bundlemetadata, catalogs, packages
from olmkit.errors import OlmError
from olmkit.jobs import Jobs, MemoryBudget, Sandbox
from olmkit.jobs.memory_budget import job_memory_budget
from olmkit.runtime.controller import Controller
from olmkit.runtime.informer import Informer, without_managed_fields
from olmkit.runtime.manager import Manager
from olmkit.runtime.publish import Publisher
from olmkit.sources.access import Access
from olmkit.sources.errors import quoted
from olmkit.sources.oci.reference import is_host
from olmkit.tls import setup
from olmkit.tls.service import CATALOG_SERVICE


async def build(manager: Manager, startup_verifier: StartupVerifier | None = None) -> None:
    """Serve what was served before, then wire the controller; `startup_verifier` has started to verify it."""
    access, memory = _checked_access(manager), job_memory_budget(manager.settings.jobs_memory)
    shelf = CatalogStore(manager.settings.cache_dir, startup_verifier=startup_verifier)
    known = manager.informer(catalogs.KIND, transform=without_managed_fields)
    # What is restored says first what is expected: who asks before it is there is told to come again.
    _, base_url = await asyncio.gather(shelf.restore(), _serve(manager, shelf, known, memory))
    controller = _controller(manager, shelf, known, access, memory, base_url)
    for name in {*shelf.names, *shelf.pending_names}:
        controller.enqueue(name)  # a Catalog that was deleted meanwhile is told by nothing else
    shelf.on_catalog_change(controller.enqueue)
    manager.add_controller(controller)


async def _serve(manager: Manager, shelf: CatalogStore, known: Informer, memory: MemoryBudget) -> str:
    """Have the shelf kept tidy and served, to clients and to other replicas; returns the URL."""
    flags = manager.settings.extra
    manager.add_runnable(shelf.run)
    serving = await setup.secure_serving(
        manager, CATALOG_SERVICE, flags.external_address or _reached_at(flags.catalogs_server_addr, 0)
    )
    server = CatalogServer(
        shelf,
        lambda name: _uid(known, name),
        _encodings(manager, shelf, memory),
        is_leading=lambda: manager.is_leading,
        mount=ReplicationRoutes(shelf, serving.check).add_routes if serving.peers else None,
    )
    manager.on_close(server.close)
    port = await server.start(flags.catalogs_server_addr, serving.context, serving.authorize)
    if serving.peers:
        address = flags.replica_address or _reached_at(flags.catalogs_server_addr, port)
        replicas.setup(manager, shelf, known, address, serving.peers)
    return f"{serving.scheme}://{flags.external_address or _reached_at(flags.catalogs_server_addr, port)}"


def _controller(
    manager: Manager, shelf: CatalogStore, known: Informer, access: Access, memory: MemoryBudget, base_url: str
) -> Controller:
    """What fills the shelf, and says so in the Catalogs' status and the Packages."""
    settings, flags = manager.settings, manager.settings.extra
    sandbox = Sandbox(reads=(*access.config_files(), shelf.content_folder))
    jobs = Jobs[LoadResult](
        lambda name: controller.enqueue(name), limits=LOAD_LIMITS, preload=[LOAD.module], sandbox=sandbox, memory=memory
    )
    jobs.warm_up()
    manager.on_close(jobs.close)
    scope = {"namespace": settings.system_namespace, "metadata_only": True}
    secrets, config_maps = manager.informer(SECRETS, **scope), manager.informer(CONFIG_MAPS, **scope)
    reach = SourceInputs(manager.client, settings.system_namespace, secrets, config_maps, flags.pull_secret)
    offered = manager.informer(packages.KIND, transform=package_diff.transform)
    offered_bundles = (
        manager.informer(bundlemetadata.KIND, transform=package_diff.transform) if flags.bundle_metadata else None
    )
    reconciler = Catalogs(
        client=manager.client,
        catalogs=known,
        packages=PackageSync(manager.client, package_diff.PACKAGES, offered, MANAGER),
        bundles=PackageSync(manager.client, package_diff.BUNDLE_METADATA, offered_bundles, MANAGER)
        if offered_bundles
        else None,
        jobs=jobs,
        shelf=shelf,
        loader=LoadTaskFactory(shelf.content_folder, access, flags.bundle_metadata),
        reach=reach,
        publisher=Publisher(manager.client, catalogs.KIND, MANAGER, known),
        base_url=base_url,
    )
    manager.on_started_leading(reconciler.begin)
    _measured(manager, known, reconciler)
    controller = Controller(MANAGER, reconciler.reconciler())
    controller.watch(known, keys_of_catalog)
    controller.watch(secrets, keys_of_input(SECRET, reach, known))
    controller.watch(config_maps, keys_of_input(CONFIG_MAP, reach, known))
    for each in (offered, offered_bundles):
        if each is not None:
            controller.watch(each, keys_of_package(known))
    return controller


def _measured(manager: Manager, known: Informer, reconciler: Catalogs) -> None:
    """Each Catalog is told of at /metrics, as long as this process leads."""
    told = CatalogMetrics(lambda: known.objects.values(), reconciler.looked, lambda: manager.is_leading)
    told.register()
    manager.on_close(told.unregister)


def _encodings(manager: Manager, shelf: CatalogStore, memory: MemoryBudget) -> CompressedFiles:
    """gzip and zstd of what is on the shelf, made on every replica."""
    encodings = CompressedFiles(manager.settings.cache_dir, shelf, memory)
    manager.on_close(encodings.close)
    manager.add_runnable(encodings.run)
    return encodings


def _checked_access(manager: Manager) -> Access:
    """How sources are reached. What is wrong with the configuration ends the process now, and not each job later."""
    settings, flags = manager.settings, manager.settings.extra
    _check_address("--external-address", flags.external_address)
    _check_address("--replica-address", flags.replica_address)
    access = Access(settings.registries_conf, settings.pull_cas_dir, settings.allow_source_cidr, (manager.client.host,))
    access.check()
    return access


def _check_address(flag: str, address: str | None) -> None:
    """What others would be told. Raises OlmError."""
    if address and not is_host(address):
        raise OlmError(
            "InvalidConfiguration", f"{flag} is written as host or host:port, without a scheme: {quoted(address)}"
        )


def _uid(informer: Informer, name: str) -> str | None:
    """The uid of the Catalog, "" when there is none that is to stay; None as long as the API server has not been asked."""
    if not informer.synced.is_set():
        return None
    found = informer.get(name)
    return "" if found is None or "deletionTimestamp" in found["metadata"] else str(found["metadata"]["uid"])


def _reached_at(address: str, port: int) -> str:
    host = address.rpartition(":")[0]
    return f"{host if host not in ('', '0.0.0.0', '[::]') else 'localhost'}:{port}"
