"""Catalogs over real HTTP on loopback: endpoints, filters, conditions, errors. No cluster."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client import REGISTRY

from catalogd.server import CHUNK, Server
from catalogd.shelf import Shelf
from catalogd.world import Record
from catalogd.writing import Writer
from olmkit.errors import OlmError
from olmkit.fbc.blobs import blob
from olmkit.fbc.documents import Document
from olmkit.store import Store

DIGEST = "sha256:" + "1" * 64
UNPACKED = "2026-01-02T03:04:05Z"
MODIFIED = "Fri, 02 Jan 2026 03:04:05 GMT"
VERSION = {"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}
BLOBS: list[dict[str, Any]] = [
    {"schema": "olm.package", "name": "p", "defaultChannel": "stable"},
    {"schema": "olm.channel", "package": "p", "name": "stable", "entries": [{"name": "p.v1"}]},
    {"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "i", "properties": [VERSION]},
    {"schema": "olm.package", "name": "q", "description": "x" * (2 * CHUNK + 17)},
    {"schema": "my.own", "text": "é"},
]
LINES = [blob(Document(each, b"", 1)).line for each in BLOBS]
WHOLE = b"".join(LINES)


class Site:
    """A server with one catalog `c` on its shelf, one that is known and not read yet, and a client."""

    def __init__(self, server: Server, shelf: Shelf, session: aiohttp.ClientSession, port: int) -> None:
        self.server, self.shelf, self.session = server, shelf, session
        self.base = f"http://127.0.0.1:{port}"

    async def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, Mapping[str, str]]:
        """Status, body and headers; `If_Match` is If-Match."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(method, self.base + path, headers=sent) as answer:
            return answer.status, await answer.read(), answer.headers


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    shelf = Shelf(tmp_path)
    with Store(shelf.folder).publish(DIGEST) as folder, Writer(folder, DIGEST) as writer:
        for each in BLOBS:
            writer.add(blob(Document(each, b"", 1)))
        writer.finish()
    await shelf.put("c", Record("r/c:v1", f"r/c@{DIGEST}", DIGEST, UNPACKED))
    known = {"c": True, "fresh": True}
    server = Server(shelf, lambda name: known.get(name, False))
    port = await server.start("127.0.0.1:0")
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield Site(server, shelf, session, port)
    await server.close()


@pytest.mark.parametrize(
    ("path", "content_type", "body"),
    [
        pytest.param("/catalogs/c/all.json", "application/json", WHOLE, id="the whole as the guide knows it"),
        pytest.param("/catalogs/c/api/v1/all", "application/jsonl", WHOLE, id="the whole as version 1 knows it"),
        pytest.param("/catalogs/c/api/v1/metas", "application/jsonl", WHOLE, id="no filter is everything"),
        pytest.param("/catalogs/c/api/v1/metas?schema=", "application/jsonl", WHOLE, id="an empty filter asks nothing"),
        pytest.param(
            "/catalogs/c/api/v1/metas?package=p",
            "application/jsonl",
            b"".join(LINES[:3]),
            id="a package with its own blob",
        ),
        pytest.param(
            "/catalogs/c/api/v1/metas?schema=olm.package", "application/jsonl", LINES[0] + LINES[3], id="a schema"
        ),
        pytest.param(
            "/catalogs/c/api/v1/metas?schema=olm.bundle&package=p&name=p.v1",
            "application/jsonl",
            LINES[2],
            id="one bundle",
        ),
        pytest.param(
            "/catalogs/c/api/v1/metas?name=nobody", "application/jsonl", b"", id="no match is an empty answer"
        ),
    ],
)
async def test_content(site: Site, path: str, content_type: str, body: bytes) -> None:
    status, got, headers = await site.ask(path)
    assert (status, got) == (200, body)
    assert headers["Content-Type"] == content_type
    assert headers["Content-Length"] == str(len(body))
    assert headers["Last-Modified"] == MODIFIED
    assert headers["ETag"] == f'"{DIGEST}"'
    assert headers["Olm-Catalog-Digest"] == DIGEST
    head, nothing, head_headers = await site.ask(path, "HEAD")
    assert (head, nothing) == (200, b"")
    assert {**head_headers, "Date": ""} == {**headers, "Date": ""}


async def test_a_resolution_document(site: Site) -> None:
    status, body, headers = await site.ask("/catalogs/c/api/v1/resolution?package=p")
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    document = json.loads(body)
    assert document["catalogDigest"] == headers["Olm-Catalog-Digest"] == DIGEST
    assert document["bundles"][0]["version"] == "1.0.0"


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        pytest.param("/catalogs/d/all.json", 404, "there is no such catalog", id="a catalog that is not there"),
        pytest.param(
            "/catalogs/fresh/all.json", 503, "the catalog is not served yet", id="a catalog that is not read yet"
        ),
        pytest.param(
            "/catalogs/fresh/api/v1/resolution?package=p", 503, "the catalog is not served yet", id="and its packages"
        ),
        pytest.param(
            "/catalogs/c/api/v1/resolution?package=x", 404, "the catalog has no such package", id="no such package"
        ),
        pytest.param("/catalogs/c/api/v1/resolution", 400, "name the package: ?package=<name>", id="no package named"),
        pytest.param(
            "/catalogs/c/api/v1/metas?pkg=p",
            400,
            "unknown query parameter; known are schema, package, name",
            id="a parameter nobody knows",
        ),
        pytest.param(
            "/catalogs/c/api/v1/metas?name=a&name=b", 400, "name is given more than once", id="a parameter twice"
        ),
        pytest.param("/", 404, "Not Found", id="the root lists nothing"),
        pytest.param("/catalogs/", 404, "Not Found", id="nor do the catalogs"),
        pytest.param("/catalogs/c/", 404, "Not Found", id="nor does one"),
        pytest.param("/catalogs/c/index.json", 404, "Not Found", id="files of the content are no pages"),
        pytest.param("/catalogs/%2e%2e%2fc/all.json", 404, "there is no such catalog", id="a name that climbs"),
        pytest.param("/catalogs/c%00/all.json", 404, "there is no such catalog", id="a name with a NUL"),
    ],
)
async def test_errors_are_json(site: Site, path: str, status: int, error: str) -> None:
    got, body, headers = await site.ask(path)
    assert (got, json.loads(body)) == (status, {"error": error})
    assert headers["Content-Type"].startswith("application/json")
    assert headers.get("Retry-After") == ("2" if status == 503 else None)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["all.json", "api/v1/all", "api/v1/metas", "api/v1/resolution"])
async def test_other_methods_are_told_which_ones_there_are(site: Site, method: str, path: str) -> None:
    status, _, headers = await site.ask(f"/catalogs/c/{path}", method)
    assert (status, headers["Allow"]) == (405, "GET,HEAD")


async def test_what_a_client_has_already_is_not_sent_again(site: Site) -> None:
    for headers in ({"If_None_Match": f'"{DIGEST}"'}, {"If_Modified_Since": MODIFIED}):
        status, body, got = await site.ask("/catalogs/c/all.json", **headers)
        assert (status, body) == (304, b"")
        assert got["ETag"] == f'"{DIGEST}"'
    status, body, _ = await site.ask("/catalogs/c/api/v1/metas?package=p", If_Match='"other"')
    assert status == 412


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [
        pytest.param("bytes=0-9", 0, 10, id="the beginning"),
        pytest.param(f"bytes={CHUNK - 5}-{2 * CHUNK + 5}", CHUNK - 5, 2 * CHUNK + 6, id="over several chunks"),
        pytest.param("bytes=-7", len(WHOLE) - 7, len(WHOLE), id="the end"),
    ],
)
async def test_parts_of_the_whole(site: Site, wanted: str, start: int, end: int) -> None:
    status, body, headers = await site.ask("/catalogs/c/all.json", Range=wanted)
    assert (status, body) == (206, WHOLE[start:end])
    assert headers["Content-Range"] == f"bytes {start}-{end - 1}/{len(WHOLE)}"


async def test_parts_of_a_filtered_answer_are_parts_of_that_answer(site: Site) -> None:
    """The filtered blobs lie apart in the file; a range counts in what was asked for."""
    whole = LINES[0] + LINES[3]
    at = len(LINES[0]) - 3
    status, body, headers = await site.ask("/catalogs/c/api/v1/metas?schema=olm.package", Range=f"bytes={at}-{at + 9}")
    assert (status, body) == (206, whole[at : at + 10])
    assert headers["Content-Range"] == f"bytes {at}-{at + 9}/{len(whole)}"


async def test_a_part_beyond_the_end_is_refused_with_the_size(site: Site) -> None:
    status, _, headers = await site.ask("/catalogs/c/all.json", Range=f"bytes={len(WHOLE)}-")
    assert (status, headers["Content-Range"]) == (416, f"bytes */{len(WHOLE)}")


async def test_a_catalog_that_is_withdrawn_is_gone_at_once(site: Site) -> None:
    await site.shelf.drop("c")
    assert (await site.ask("/catalogs/c/all.json"))[0] == 503


async def test_content_that_vanished_from_the_disk_is_unavailable(site: Site) -> None:
    Store(site.shelf.folder).forget(DIGEST)
    assert (await site.ask("/catalogs/c/all.json"))[0] == 503


async def test_a_download_under_way_ends_well_when_its_content_is_replaced(site: Site) -> None:
    async with site.session.get(f"{site.base}/catalogs/c/all.json") as answer:
        first = await answer.content.readexactly(10)
        await site.shelf.drop("c")
        assert first + await answer.read() == WHOLE


async def test_requests_are_measured_by_code(site: Site) -> None:
    def count(code: str) -> float:
        return REGISTRY.get_sample_value("catalogd_http_request_duration_seconds_count", {"code": code}) or 0

    before = {code: count(code) for code in ("200", "404")}
    await site.ask("/catalogs/c/api/v1/all")
    await site.ask("/catalogs/x/api/v1/all")
    assert {code: count(code) - before[code] for code in before} == {"200": 1, "404": 1}
    assert REGISTRY.get_sample_value("catalogd_http_request_duration_seconds_bucket", {"code": "200", "le": "0.1"})


async def test_while_nobody_knows_the_catalogs_the_shelf_counts(site: Site) -> None:
    server = Server(site.shelf, lambda name: None)
    port = await server.start("127.0.0.1:0")
    try:
        async with site.session.get(f"http://127.0.0.1:{port}/catalogs/c/api/v1/all") as answer:
            assert answer.status == 200
        async with site.session.get(f"http://127.0.0.1:{port}/catalogs/x/api/v1/all") as answer:
            assert answer.status == 404
    finally:
        await server.close()


async def test_an_address_that_is_taken_is_named(site: Site) -> None:
    taken = site.base.removeprefix("http://")
    other = Server(site.shelf, lambda name: None)
    with pytest.raises(OlmError, match=f"cannot listen on {taken} for catalogs"):
        await other.start(taken)
    await other.close()
