"""The flags that say how catalogs are read, and the client they make. Called by __main__ and by reconciler.build."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from olmkit.runtime.manager import Manager
from olmkit.tls.client_tls import ClientTls
from olmkit.tls.service import CATALOG_SERVICE
from operator_controller.catalog_client.client import CatalogClient


def add_flags(parser: ArgumentParser) -> None:
    """How catalogs are read."""
    parser.add_argument(
        "--catalogs-ca-file",
        type=Path,
        help="PEM file of the CAs to trust for catalogs, followed when it changes; without it those of the ConfigMap "
        f"{CATALOG_SERVICE.config_map}, beside the system's",
    )
    parser.add_argument(
        "--catalogs-token",
        action="store_true",
        help="send the token of this account to catalogs (over HTTPS only), for a catalogd with --authenticate-requests",
    )


async def connect(manager: Manager, folder: Path) -> CatalogClient:
    """A client that keeps what it reads in `folder`. Raises OlmError when the file with CAs cannot be used."""
    flags = manager.settings.extra
    trust = ClientTls(
        flags.catalogs_ca_file, manager.client, (manager.settings.system_namespace, CATALOG_SERVICE.config_map)
    )
    await trust.load()
    return await CatalogClient.connect(folder, trust, manager.client if flags.catalogs_token else None)
