"""The process catalogd: Catalogs become content served over HTTP, and Package objects. `catalogd` or `python -m catalogd`.

Wires what the other modules hold; the flags are those of olmkit.manager and the two below.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from catalogd import listing
from catalogd.loading import Loader
from catalogd.reconciler import BY_CATALOG, MANAGER, Catalogs, catalog_of, keys_of_catalog, keys_of_package
from catalogd.server import Server
from catalogd.shelf import Shelf
from olmkit.api import catalogs, packages
from olmkit.controller import Controller
from olmkit.informer import Informer
from olmkit.jobs import Jobs
from olmkit.manager import Manager, run
from olmkit.publish import Publisher
from olmkit.sources.addresses import SourceAddresses
from olmkit.sources.registries import Registries


def add_flags(parser: ArgumentParser) -> None:
    """Where catalogs are served."""
    parser.add_argument("--catalogs-server-addr", default=":8083", help="host:port that catalogs are served on")
    parser.add_argument(
        "--external-address",
        help="host[:port] that others reach it at, for contentURL; the serving address when absent",
    )


async def build(manager: Manager) -> None:
    """Serve what was served before, then wire the controller."""
    settings, flags = manager.settings, manager.settings.extra
    # What is wrong with the configuration shall end the process now, and not each job later.
    Registries.load(settings.registries_conf, SourceAddresses.load(settings.allow_source_cidr))
    shelf = Shelf(settings.cache_dir)
    await shelf.restore()
    known = manager.informer(catalogs.KIND)
    server = Server(shelf, lambda name: _is_known(known, name))
    manager.on_close(server.close)
    port = await server.start(flags.catalogs_server_addr)
    loader = Loader(shelf.folder, settings.registries_conf, settings.allow_source_cidr, denied=(manager.client.host,))
    offered = manager.informer(packages.KIND, project=listing.project)
    offered.add_index(BY_CATALOG, catalog_of)
    jobs = Jobs(lambda name: controller.enqueue(name), preload=["catalogd.loading"])
    jobs.warm_up()
    manager.on_close(jobs.close)
    reconciler = Catalogs(
        client=manager.client,
        catalogs=known,
        packages=offered,
        jobs=jobs,
        shelf=shelf,
        loader=loader,
        publisher=Publisher(manager.client, catalogs.KIND, MANAGER, known),
        external_address=flags.external_address or _reached_at(flags.catalogs_server_addr, port),
    )
    controller = Controller(MANAGER, reconciler.reconciler())
    controller.watch(known, keys_of_catalog)
    controller.watch(offered, keys_of_package)
    for name in shelf.names:
        controller.enqueue(name)  # a Catalog that was deleted meanwhile is told by nothing else
    manager.add_controller(controller)


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
