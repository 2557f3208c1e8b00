"""The client and a catalogd of an earlier version, which refuses the parameter `all`, or replicas of both versions.

The real server of catalogd, behind a proxy that answers as the earlier version does: 400 for a parameter that it does not know.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from catalogd.storage.catalog_store import CatalogStore
from operator_controller.catalog_cache.client import CONTENT_RETRY_DELAY_SECONDS
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.integration.catalogd.catalog_server import BLOBS, DIGEST, UIDS, Site, put, serving
from tests.integration.operator_controller.catalog_cache.test_client import catalog, client
from tests.servers.closing import close

OTHER = "sha256:" + "2" * 64
KEPT = ("Content-Type", "Content-Encoding", "Olm-Catalog-Digest", "Olm-Catalog-Packages")


class EarlierVersion:
    """A proxy of catalogd that refuses the parameter `all` as long as `refuses_all`. `queries` are those that it received."""

    def __init__(self, site: Site, session: aiohttp.ClientSession) -> None:
        self._site, self._session = site, session
        self.refuses_all = True
        self.queries: list[str] = []
        self.address = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.queries.append(request.query_string)
        if self.refuses_all and "all" in request.query:
            return web.json_response({"error": 'unknown query parameter "all"'}, status=400)
        url = f"{self._site.base}{request.path_qs}"
        async with self._session.get(url, headers={"Accept-Encoding": "identity"}) as found:
            headers = {name: found.headers[name] for name in KEPT if name in found.headers}
            return web.Response(status=found.status, body=await found.read(), headers=headers)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    catalog_store = CatalogStore(tmp_path / "catalogd")
    await put(catalog_store, "c", DIGEST, BLOBS)
    async with serving(catalog_store) as site:
        yield site


@pytest.fixture
async def earlier(site: Site) -> AsyncIterator[EarlierVersion]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        earlier = EarlierVersion(site, session)
        application = web.Application()
        application.router.add_get("/{path:.*}", earlier.answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        earlier.address = f"http://{host}:{port}"
        try:
            yield earlier
        finally:
            await close(runner)


async def select(site: Site, *names: str) -> None:
    served = site.catalog_store.get("c")
    assert served is not None
    await site.catalog_store.put("c", replace(served.record, packages=names))


async def test_an_earlier_version_is_asked_again_without_the_parameter(earlier: EarlierVersion, tmp_path: Path) -> None:
    async with client(tmp_path / "content") as catalog_client:
        result = await catalog_client.content(catalog(earlier.address, DIGEST, uid=UIDS["c"]))
        assert (result.state, result.message, result.needs_recheck) == (CatalogState.SERVING, "", False)
        assert result.content is not None
        assert [*result.content.index.packages] == ["p", "q"]
        assert ["all" in query for query in earlier.queries] == [True, False]


async def test_it_is_asked_for_the_content_that_it_serves_if_it_has_not_what_the_status_names(
    earlier: EarlierVersion, tmp_path: Path
) -> None:
    async with client(tmp_path / "content") as catalog_client:
        result = await catalog_client.content(catalog(earlier.address, OTHER, uid=UIDS["c"]))
        assert result.content is not None
        assert (result.content.digest, result.needs_recheck) == (DIGEST, True)
        assert earlier.queries[-1] == ""


async def test_documents_that_a_list_limits_are_never_taken_for_all(
    earlier: EarlierVersion, site: Site, tmp_path: Path
) -> None:
    """A replica of the earlier version refuses the first request, one of this version receives the second."""
    await select(site, "q")
    now = [0.0]
    async with client(tmp_path / "content", clock=lambda: now[0]) as catalog_client:
        raw = catalog(earlier.address, DIGEST, uid=UIDS["c"])
        result = await catalog_client.content(raw)
        assert (result.state, result.content, result.needs_recheck) == (CatalogState.UNREACHABLE, None, True)
        assert result.message == (
            "catalogd's answer cannot be read: it has only the packages that spec.packages names; catalogd has replicas of"
            " different versions"
        )
        earlier.refuses_all = False
        now[0] += CONTENT_RETRY_DELAY_SECONDS
        result = await catalog_client.content(raw)
        assert result.content is not None
        assert [*result.content.index.packages] == ["p", "q"]
