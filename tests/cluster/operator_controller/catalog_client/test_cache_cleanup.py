"""Cached content is removed when no Operator requests it: an informer on the real API server, catalogd on loopback."""

import asyncio
import uuid
from pathlib import Path

from devcluster.cluster import Cluster
from olmkit.api import operators
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from operator_controller.catalog_client.cache_cleanup import clean_cache
from operator_controller.setup import make_informers
from tests.cluster.olmkit.conftest import until
from tests.integration.operator_controller.catalog_client.test_client import cached_files, catalog, client, serving


async def test_content_of_packages_that_no_operator_requests_is_removed(tmp_path: Path, definitions: Cluster) -> None:
    package = f"p-{uuid.uuid4().hex[:8]}"
    operator = {"apiVersion": operators.KIND.api_version, "kind": "Operator", "metadata": {"name": package}}
    async with (
        serving() as server,
        await Client.connect(str(definitions.kubeconfig)) as api,
        client(tmp_path) as catalog_client,
    ):
        known = make_informers(lambda kind: Informer(api, kind))
        known.catalogs.record_write(
            {**catalog(server.address), "metadata": {"name": "c", "uid": "u", "resourceVersion": "1"}}
        )
        known.catalogs.synced.set()
        await catalog_client.get_offer(catalog(server.address), "cached-before")
        await api.create(operators.KIND, {**operator, "spec": {"packageName": package}})
        tasks = [
            asyncio.create_task(each)
            for each in (known.operators.run(), clean_cache(known.catalogs, known.operators, catalog_client))
        ]
        try:
            await until(lambda: cached_files(tmp_path / "c") == [], "content from before the start is removed")
            await catalog_client.get_offer(catalog(server.address), package)
            assert cached_files(tmp_path / "c") == [f"{package}.json"]
            await api.delete(operators.KIND, package)
            await until(lambda: cached_files(tmp_path / "c") == [], "the content is removed with its Operator")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
