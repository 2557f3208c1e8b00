"""Removes what is not needed: the content of deleted Catalogs, and what was parsed of packages that no Operator requests.

Run by setup.py while this process leads.
"""

from __future__ import annotations

import asyncio

from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from operator_controller.catalog_client.client import CatalogClient


async def clean_cache(catalogs: Informer, operators: Informer, catalog_client: CatalogClient) -> None:
    """Clean up at the start, and whenever a Catalog or a request for a package is deleted. Runs until cancelled."""
    watched = (catalogs, operators)
    for informer in watched:
        await informer.synced.wait()
    deleted = asyncio.Event()

    def on_change(change: Change) -> None:
        if change.new is None or (change.old is not None and _identity(change.old) != _identity(change.new)):
            deleted.set()

    for informer in watched:
        informer.subscribe(on_change)
    try:
        while True:
            packages = {_package_of(raw) for raw in operators.objects.values()}
            uids = {raw["metadata"]["name"]: raw["metadata"]["uid"] for raw in catalogs.objects.values()}
            await catalog_client.retain_only(uids, packages)
            await deleted.wait()
            deleted.clear()
    finally:
        for informer in watched:
            informer.unsubscribe(on_change)


def _identity(raw: Object) -> tuple[str, str]:
    """What is retained for an object: for this uid, and for the package of an Operator."""
    return raw["metadata"]["uid"], _package_of(raw)


def _package_of(raw: Object) -> str:
    """The package of an Operator; "" for a Catalog."""
    package: str = raw["spec"].get("packageName", "")
    return package
