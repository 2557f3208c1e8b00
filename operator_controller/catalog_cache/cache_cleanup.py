"""Removes the content of deleted Catalogs. It runs while this process leads."""

from __future__ import annotations

import asyncio

from olmkit.api.meta import Object
from olmkit.runtime.informer import Change, Informer
from operator_controller.catalog_cache.client import CatalogClient


async def clean_cache(catalogs: Informer, catalog_client: CatalogClient) -> None:
    """Clean up at the start, and whenever a Catalog is deleted or replaced by another one. Runs until cancelled."""
    deleted = asyncio.Event()

    def on_change(change: Change) -> None:
        if change.new is None or (change.old is not None and _uid(change.old) != _uid(change.new)):
            deleted.set()

    catalogs.subscribe(on_change)
    try:
        while True:
            await catalogs.fresh.wait()
            await catalog_client.retain_only({raw["metadata"]["name"]: _uid(raw) for raw in catalogs.objects.values()})
            await deleted.wait()
            deleted.clear()
    finally:
        catalogs.unsubscribe(on_change)


def _uid(raw: Object) -> str:
    uid: str = raw["metadata"]["uid"]
    return uid
