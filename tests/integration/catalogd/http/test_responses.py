"""Responses other than blobs (summaries, icons), pinned digests, content negotiation, truncated files and tokens. Real HTTP."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import REGISTRY

from catalogd.storage.catalog_store import CatalogStore
from olmkit.fbc.icon_types import MAX_ICON_BYTES
from olmkit.store.store import Store
from tests.integration.catalogd.catalog_server import BLOBS, DIGEST, MODIFIED, TAG, UNSERVED, WHOLE, Site, put, serving

OTHER = "sha256:" + "2" * 64
PICTURE = b"\x89PNG\r\n\x1a\n and so on"
ICON = "/catalogs/c/api/v1/packages/{}/icon"


def package(name: str, media_type: str, picture: bytes = PICTURE) -> dict[str, Any]:
    """A package's blob with an icon."""
    icon = {"base64data": base64.b64encode(picture).decode(), "mediatype": media_type}
    return {"schema": "olm.package", "name": name, "defaultChannel": "stable", "icon": icon}


PICTURES = [
    *BLOBS[:3],
    package("drawn", "image/png"),
    package("vector", "image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
    package("capitals", "IMAGE/PNG; q=1"),
    package("page", "text/html", b"<script>alert(1)</script>"),
    package("lie", "image/png", b"<script>alert(1)</script>"),
    package("large", "image/png", PICTURE + b"x" * MAX_ICON_BYTES),
    package("split", "image/png\r\nX-Evil: 1"),
    package("a b/c", "image/gif"),
]


@pytest.fixture
async def catalog_store(tmp_path: Path) -> CatalogStore:
    """`c` has packages with icons."""
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST, PICTURES)
    return catalog_store


@pytest.fixture
async def site(catalog_store: CatalogStore) -> AsyncIterator[Site]:
    """Serves it."""
    async with serving(catalog_store) as site:
        yield site


async def test_summaries_of_all_packages(site: Site) -> None:
    status, body, headers = await site.ask("/catalogs/c/api/v1/packages")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert (headers["Olm-Catalog-Digest"], headers["ETag"]) == (DIGEST, TAG)
    assert headers["Last-Modified"] == MODIFIED
    summaries = {each["name"]: each for each in json.loads(body)["packages"]}
    assert list(summaries) == sorted(summaries)
    assert summaries["p"]["channels"] == [{"name": "stable", "head": {"name": "p.v1", "version": "1.0.0"}}]


async def test_the_icon_that_a_summary_names_is_there(site: Site) -> None:
    summaries = json.loads((await site.ask("/catalogs/c/api/v1/packages"))[1])["packages"]
    links = {each["name"]: each["icon"] for each in summaries if "icon" in each}
    assert {"drawn", "vector", "a b/c"} <= links.keys()
    for link in links.values():
        assert (await site.ask(f"/catalogs/c/api/v1/{link}"))[0] == 200


@pytest.mark.parametrize(
    ("name", "media_type", "is_attached"),
    [
        pytest.param("drawn", "image/png", False, id="a picture"),
        pytest.param("vector", "image/svg+xml", False, id="a drawing that may hold a script"),
        pytest.param("capitals", "image/png", False, id="a type in capitals, with a parameter"),
        pytest.param("lie", "application/octet-stream", True, id="a page that is said to be a picture"),
        pytest.param("page", "application/octet-stream", True, id="a page is no picture"),
        pytest.param("split", "image/png", False, id="a type that would be a header more"),
        pytest.param("a%20b%2Fc", "image/png", False, id="a name that has to be escaped, and another type"),
    ],
)
async def test_icons_are_sent_with_headers_that_prevent_scripts(
    site: Site, name: str, media_type: str, is_attached: bool
) -> None:
    status, _, headers = await site.ask(ICON.format(name))
    assert (status, headers["Content-Type"]) == (200, media_type)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].endswith("; sandbox")
    assert ("Content-Disposition" in headers) is is_attached
    assert "X-Evil" not in headers


async def test_an_icon_has_the_bytes_of_the_catalog(site: Site) -> None:
    assert (await site.ask(ICON.format("drawn")))[1] == PICTURE
    status, part, headers = await site.ask(ICON.format("drawn"), Range="bytes=1-3")
    assert (status, part, headers["Content-Range"]) == (206, b"PNG", f"bytes 1-3/{len(PICTURE)}")


@pytest.mark.parametrize("name", ["p", "large", "nobody", "..%2f..%2fall.jsonl", "%00", "x" * 300])
async def test_no_icon(site: Site, name: str) -> None:
    status, body, headers = await site.ask(ICON.format(name))
    assert (status, json.loads(body)) == (404, {"error": "the catalog has no such package, or it has no icon"})
    assert headers["Olm-Catalog-Digest"] == DIGEST


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        pytest.param("all.json", "application/json", 200, id="the very type"),
        pytest.param("all.json", "application/json;q=0.9, */*;q=0.1", 200, id="the type among others"),
        pytest.param("all.json", "text/html", 406, id="a page"),
        pytest.param("api/v1/all", "application/jsonl", 200, id="lines"),
        pytest.param("api/v1/all", "application/json", 406, id="one value instead of lines"),
        pytest.param("api/v1/packages", "text/*", 406, id="a text"),
        pytest.param("api/v1/packages/drawn/icon", "image/png,image/*;q=0.8", 200, id="a picture"),
        pytest.param("api/v1/packages/drawn/icon", "image/webp", 406, id="a picture of another kind"),
        pytest.param("api/v1/resolution?package=p", "*/*;q=0", 406, id="nothing"),
    ],
)
async def test_what_a_client_accepts(site: Site, path: str, accept: str, status: int) -> None:
    got, body, headers = await site.ask(f"/catalogs/c/{path}", Accept=accept)
    assert got == status
    if status == 406:
        assert headers["Content-Type"] == "application/json"
        assert json.loads(body)["error"].startswith("Accept excludes the media type of this response: ")


async def test_replaced_content_is_available_by_its_digest(site: Site) -> None:
    await put(site.catalog_store, "c", OTHER, BLOBS[:3])
    new = await site.ask("/catalogs/c/api/v1/all")
    assert (new[0], new[2]["Olm-Catalog-Digest"]) == (200, OTHER)
    for digest, blobs in ((DIGEST, len(PICTURES)), (OTHER, 3)):
        for path in ("all.json?", "api/v1/all?", "api/v1/metas?schema=&"):
            status, body, headers = await site.ask(f"/catalogs/c/{path}digest={digest}")
            assert (status, headers["Olm-Catalog-Digest"], len(body.splitlines())) == (200, digest, blobs)
            assert headers["ETag"] == TAG.replace(DIGEST, digest)
    old = await site.ask(f"/catalogs/c/api/v1/packages/drawn/icon?digest={DIGEST}")
    assert (old[0], old[1]) == (200, PICTURE)
    assert (await site.ask(f"/catalogs/c/api/v1/resolution?package=p&digest={DIGEST}"))[0] == 200
    assert (await site.ask("/catalogs/c/api/v1/packages/drawn/icon"))[0] == 404


async def test_a_follower_without_the_digest_answers_503(catalog_store: CatalogStore) -> None:
    async with serving(catalog_store, is_leading=lambda: False) as site:
        status, body, headers = await site.ask(f"/catalogs/c/all.json?digest={OTHER}")
        assert (status, headers["Retry-After"]) == (503, "2")
        assert json.loads(body) == {"error": "this replica does not have this content of the catalog (yet)"}
        assert (await site.ask(f"/catalogs/c/all.json?digest={DIGEST}"))[0] == 200


async def test_a_catalog_without_content_does_not_affect_the_others(site: Site) -> None:
    assert (await site.ask("/catalogs/fresh/api/v1/packages"))[0] == 503
    assert (await site.ask("/catalogs/c/api/v1/packages"))[0] == 200
    assert (await site.ask("/openapi.json"))[0] == 200


async def test_truncated_content_ends_the_download_and_is_not_served_again(tmp_path: Path) -> None:
    """No client takes a truncated response for a complete one; the next one gets 503 with Retry-After."""
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST)
    directory = Store(catalog_store.content_directory).path(DIGEST)
    assert directory is not None
    os.truncate(directory / "all.jsonl", len(WHOLE) // 2)
    async with serving(catalog_store) as site:
        with pytest.raises(aiohttp.ClientPayloadError):
            await site.ask("/catalogs/c/all.json")
        status, _, headers = await site.ask("/catalogs/c/all.json")
        assert (status, headers["Retry-After"]) == (503, "2")


async def test_a_small_response_from_truncated_content_is_503(tmp_path: Path) -> None:
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST)
    directory = Store(catalog_store.content_directory).path(DIGEST)
    assert directory is not None
    os.truncate(directory / "resolution.jsonl", 10)
    async with serving(catalog_store) as site:
        status, body, _ = await site.ask("/catalogs/c/api/v1/resolution?package=p")
    assert (status, json.loads(body)) == (503, {"error": UNSERVED})


async def test_clients_without_access_are_refused_on_every_path(catalog_store: CatalogStore) -> None:
    @web.middleware
    async def authorize(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Authorization") != "Bearer good":
            raise web.HTTPUnauthorized(reason="who are you?", headers={"WWW-Authenticate": "Bearer"})
        return await handler(request)

    async with serving(catalog_store, authorize=authorize) as site:
        for path in ("/catalogs/c/all.json", "/catalogs/x/all.json", "/openapi.json", "/nothing"):
            status, body, headers = await site.ask(path)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert json.loads(body) == {"error": "who are you?"}
        assert (await site.ask("/catalogs/c/all.json", Authorization="Bearer good"))[0] == 200
        assert (await site.ask("/catalogs/x/all.json", Authorization="Bearer good"))[0] == 404


async def test_more_routes_can_be_mounted(catalog_store: CatalogStore) -> None:
    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    async def broken(_: web.Request) -> web.Response:
        raise ValueError("secret")

    def mount(application: web.Application) -> None:
        application.router.add_get("/hello", hello)
        application.router.add_get("/broken", broken)

    async with serving(catalog_store, mount=mount) as site:
        assert (await site.ask("/hello"))[1] == b"hello"
        status, body, _ = await site.ask("/broken")
    assert (status, json.loads(body)) == (500, {"error": "internal error, see the log of catalogd"})


async def test_bytes_and_requests_in_progress_are_counted(site: Site) -> None:
    def sent() -> float:
        return REGISTRY.get_sample_value("catalogd_http_response_bytes_total", {"encoding": "identity"}) or 0

    before = sent()
    _, body, _ = await site.ask("/catalogs/c/all.json")
    assert sent() - before == len(body)
    assert REGISTRY.get_sample_value("catalogd_http_requests_in_flight") == 0
    for path in ("all.json", "api/v1/packages"):
        await site.ask(f"/catalogs/c/{path}", "HEAD")
    assert sent() - before == len(body)
