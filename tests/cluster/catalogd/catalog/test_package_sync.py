"""Package objects are written and deleted against the real API server while the informer lags behind."""

from __future__ import annotations

from typing import Any

import pytest

from catalogd.catalog import package_diff
from catalogd.catalog.package_sync import PackageSync
from catalogd.ingest.package_objects import ObjectFingerprint
from olmkit.api import catalogs, packages
from olmkit.api.catalogs import Catalog
from olmkit.api.meta import controller_reference
from olmkit.runtime.informer import Informer
from tests.cluster.catalogd.conftest import World

NOTHING: tuple[ObjectFingerprint, ...] = ()


async def test_an_object_that_waits_for_a_finalizer_is_deleted_once_although_the_informer_lags(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "catalogd")
    await world.catalog("registry.example/c:v1")
    catalog = Catalog.load(await world.client.get(catalogs.KIND, world.name))
    name = f"{world.name}-p"
    metadata = {
        "name": name,
        "finalizers": ["example.com/held"],
        "ownerReferences": [controller_reference(catalogs.KIND, world.name, catalog.metadata.uid)],
    }
    spec = {"catalog": {"name": world.name}, "packageName": "p", "defaultChannel": "stable", "channels": []}
    body = {"apiVersion": packages.KIND.api_version, "kind": "Package", "metadata": metadata, "spec": spec}
    created = await world.client.create(packages.KIND, body)
    informer = Informer(world.client, packages.KIND, transform=package_diff.transform)  # it never watches
    sync = PackageSync(world.client, informer, "catalogd")
    informer.record_write(created)
    try:
        first = sync.difference(catalog, NOTHING)
        assert first.deletes == ((name, created["metadata"]["uid"]),)
        await sync.sync(catalog, first, no_content)
        assert not sync.difference(catalog, NOTHING), "it has been deleted"
        assert written(caplog) == ["Package objects: 1 deleted"]
    finally:
        await world.client.patch(packages.KIND, name, {"metadata": {"finalizers": None}})


def no_content(subject: str) -> dict[str, Any]:
    """Nothing is served that an object could be written from."""
    raise KeyError(subject)


def written(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log about Package objects."""
    return [record.getMessage() for record in caplog.records if record.name == "catalogd.catalog.package_sync"]
