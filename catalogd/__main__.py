"""The process catalogd: Catalogs become content served over HTTP, and Package objects. `catalogd` or `python -m catalogd`.

Wires what the other modules hold; the flags are those of olmkit.manager and the two below.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from catalogd import listing
from catalogd.keeping.shelf import Shelf
from catalogd.listed import Listed
from catalogd.reaching import CONFIG_MAPS, SECRETS, Reach
from catalogd.reading.loader import JOB, Loader
from catalogd.reconciler import MANAGER, Catalogs, keys_of_catalog, keys_of_listed, keys_of_needed
from catalogd.replication import joining as replicas
from catalogd.replication.protocol import Replication
from catalogd.serving.encoding import Encodings
from catalogd.serving.server import Server
from catalogd.wishes import CONFIG_MAP, SECRET
from olmkit.api import bundlemetadata, catalogs, packages
from olmkit.controller import Controller
from olmkit.errors import OlmError
from olmkit.informer import Informer, without_managed_fields
from olmkit.jobs import Jobs
from olmkit.manager import Manager, run
from olmkit.publish import Publisher
from olmkit.serving import setup
from olmkit.serving.names import CATALOGS
from olmkit.sources.access import Access
from olmkit.sources.errors import quoted
from olmkit.sources.reference import is_host


def add_flags(parser: ArgumentParser) -> None:
    """Where catalogs are served."""
    parser.add_argument("--catalogs-server-addr", default=":8083", help="host:port that catalogs are served on")
    parser.add_argument(
        "--external-address",
        help="host[:port] that others reach it at, for contentURL; the serving address when absent",
    )
    setup.add_flags(parser)
    replicas.add_flags(parser)
    parser.add_argument(
        "--pull-secret",
        default="",
        help="Secret in the system namespace with credentials for all Catalogs, after those of their own",
    )
    parser.add_argument(
        "--bundle-metadata",
        action="store_true",
        help="also keep a BundleMetadata object for each bundle of each catalog",
    )


async def build(manager: Manager) -> None:
    """Serve what was served before, then wire the controller."""
    settings, flags = manager.settings, manager.settings.extra
    access = _checked_access(manager)
    shelf = Shelf(settings.cache_dir)
    await shelf.restore()
    known = manager.informer(catalogs.KIND, project=without_managed_fields)
    server = Server(
        shelf,
        lambda name: _is_known(known, name),
        _encodings(manager, shelf),
        is_leading=lambda: manager.is_leading,
        mount=Replication(shelf).add_routes,
    )
    manager.on_close(server.close)
    serving = await setup.prepare(
        manager, CATALOGS, flags.external_address or _reached_at(flags.catalogs_server_addr, 0)
    )
    port = await server.start(flags.catalogs_server_addr, serving.context, serving.authorize)
    replicas.join(
        manager, shelf, known, flags.replica_address or _reached_at(flags.catalogs_server_addr, port), serving.peers
    )
    jobs = Jobs(lambda name: controller.enqueue(name), preload=[JOB])
    jobs.warm_up()
    manager.on_close(jobs.close)
    scope = {"namespace": settings.system_namespace, "metadata_only": True}
    secrets, config_maps = manager.informer(SECRETS, **scope), manager.informer(CONFIG_MAPS, **scope)
    reach = Reach(manager.client, settings.system_namespace, secrets, config_maps, flags.pull_secret)
    offered = manager.informer(packages.KIND, project=listing.project)
    offered_bundles = manager.informer(bundlemetadata.KIND, project=listing.project) if flags.bundle_metadata else None
    reconciler = Catalogs(
        client=manager.client,
        catalogs=known,
        packages=Listed(manager.client, listing.PACKAGES, offered, MANAGER),
        bundles=Listed(manager.client, listing.BUNDLES, offered_bundles, MANAGER) if offered_bundles else None,
        jobs=jobs,
        shelf=shelf,
        loader=Loader(shelf.folder, access, flags.bundle_metadata),
        reach=reach,
        publisher=Publisher(manager.client, catalogs.KIND, MANAGER, known),
        base_url=f"{serving.scheme}://{flags.external_address or _reached_at(flags.catalogs_server_addr, port)}",
    )
    controller = Controller(MANAGER, reconciler.reconciler())
    controller.watch(known, keys_of_catalog)
    controller.watch(secrets, keys_of_needed(SECRET, reach, known))
    controller.watch(config_maps, keys_of_needed(CONFIG_MAP, reach, known))
    for each in (offered, offered_bundles):
        if each is not None:
            controller.watch(each, keys_of_listed)
    for name in shelf.names:
        controller.enqueue(name)  # a Catalog that was deleted meanwhile is told by nothing else
    shelf.on_lost(controller.enqueue)
    manager.add_controller(controller)


def _encodings(manager: Manager, shelf: Shelf) -> Encodings:
    """gzip and zstd of what is on the shelf, made on every replica."""
    encodings = Encodings(manager.settings.cache_dir, shelf)
    manager.on_close(encodings.close)
    manager.serve(encodings.run)
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


def _is_known(informer: Informer, name: str) -> bool | None:
    """Whether there is such a Catalog that is to stay; None as long as the API server has not been asked."""
    if not informer.synced.is_set():
        return None
    found = informer.get(name)
    return found is not None and "deletionTimestamp" not in found["metadata"]


def _reached_at(address: str, port: int) -> str:
    host = address.rpartition(":")[0]
    return f"{host if host not in ('', '0.0.0.0', '[::]') else 'localhost'}:{port}"


def main() -> int:
    """The entry point; returns the exit status."""
    return run(MANAGER, build, add_flags)


if __name__ == "__main__":
    sys.exit(main())
