"""Content is removed with its Catalog: an informer on the real API server, catalogd on loopback."""

import asyncio
import uuid
from pathlib import Path

from devcluster.cluster import Cluster
from olmkit.api import catalogs
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from operator_controller.catalog_cache.client import clean_cache
from operator_controller.setup import make_informers
from tests.cluster.olmkit.conftest import until
from tests.integration.operator_controller.catalog_cache.test_client import (
    FIRST,
    SECOND,
    cached_contents,
    catalog,
    client,
    serving,
)


async def test_content_is_removed_with_its_catalog(tmp_path: Path, definitions: Cluster) -> None:
    name = f"c-{uuid.uuid4().hex[:8]}"
    source = {"type": "image", "image": {"ref": "r/c:v1"}}
    manifest = {"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "metadata": {"name": name}}
    async with (
        serving() as server,
        await Client.connect(str(definitions.kubeconfig)) as api,
        client(tmp_path) as catalog_client,
    ):
        known = make_informers(lambda kind: Informer(api, kind))
        server.digest = SECOND
        await catalog_client.content(catalog(server.address, SECOND, name="deleted-before"))
        server.digest = FIRST
        created = await api.create(catalogs.KIND, {**manifest, "spec": {"source": source}})
        uid = created["metadata"]["uid"]
        await catalog_client.content(catalog(server.address, name=name, uid=uid))
        assert cached_contents(tmp_path) == [FIRST, SECOND]
        tasks = [
            asyncio.create_task(each) for each in (known.catalogs.run(), clean_cache(known.catalogs, catalog_client))
        ]
        try:
            await until(lambda: cached_contents(tmp_path) == [FIRST], "content from before the start is removed")
            await api.delete(catalogs.KIND, name)
            await until(lambda: cached_contents(tmp_path) == [], "the content is removed with its Catalog")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
