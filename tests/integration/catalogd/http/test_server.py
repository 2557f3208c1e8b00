"""Catalogs over real HTTP on loopback: endpoints, filters, conditions, errors. No cluster."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from catalogd.http.responses import MAX_WRITE_BYTES
from catalogd.http.routes import ROUTES
from catalogd.http.server import CatalogServer
from catalogd.storage.catalog_store import CatalogStore
from olmkit.errors import OlmError
from olmkit.store.store import Store
from tests.cluster.catalogd.conftest import package
from tests.integration.catalogd.catalog_server import (
    BLOBS,
    DIGEST,
    LINES,
    MODIFIED,
    TAG,
    UIDS,
    UNSERVED,
    WHOLE,
    Site,
    put,
    serving,
)

NO_PATH = "no such path; /openapi.json lists the paths"
NO_NAME = "invalid catalog name: "
LETTERS = 'it holds other characters than lower-case letters, digits, "-" and "."'
PARTS = "it, or a part of it between dots, does not begin and end with a letter or digit"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A server with one catalog `c` on its store, and `fresh` that is known and not read yet."""
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST)
    async with serving(catalog_store) as site:
        yield site


@pytest.mark.parametrize(
    ("path", "content_type", "body"),
    [
        pytest.param("/catalogs/c/all.json", "application/json", WHOLE, id="the whole as the guide knows it"),
        pytest.param("/catalogs/c/api/v1/all", "application/jsonl", WHOLE, id="the whole as version 1 knows it"),
        pytest.param("/catalogs/c/api/v1/metas", "application/jsonl", WHOLE, id="no filter is everything"),
        pytest.param(
            "/catalogs/c/api/v1/metas?schema=", "application/jsonl", WHOLE, id="an empty filter matches everything"
        ),
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
    assert headers["ETag"] == TAG
    assert headers["Olm-Catalog-Digest"] == DIGEST
    assert headers["Server"] == "catalogd"
    assert headers.get("Vary") == "Accept-Encoding"
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


async def test_documents_of_all_packages_that_provide_a_kind(tmp_path: Path) -> None:
    gvk = {"type": "olm.gvk", "value": {"group": "example.com", "version": "v1", "kind": "Party"}}
    found = package("p", "1.0.0"), package("q", "1.0.0"), package("r", "1.0.0")
    for blobs in found[:2]:
        blobs[2]["properties"].append(gvk)
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST, [blob for blobs in found for blob in blobs])
    async with serving(catalog_store) as other:
        status, body, headers = await other.ask("/catalogs/c/api/v1/resolution?provides=example.com/Party")
        assert (status, headers["Content-Type"]) == (200, "application/jsonl")
        assert [json.loads(line)["package"] for line in body.splitlines()] == ["p", "q"]
        _, one, _ = await other.ask("/catalogs/c/api/v1/resolution?provides=example.com/Party&package=q")
        assert [json.loads(line)["package"] for line in one.splitlines()] == ["q"]
        assert (await other.ask("/catalogs/c/api/v1/resolution?provides=example.com/Other"))[:2] == (200, b"")
        _, everything, _ = await other.ask("/catalogs/c/api/v1/resolution")
        assert [json.loads(line)["package"] for line in everything.splitlines()] == ["p", "q", "r"]


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        pytest.param("/catalogs/d/all.json", 404, "no such catalog", id="a catalog that is not there"),
        pytest.param("/catalogs/fresh/all.json", 503, UNSERVED, id="a catalog that is not read yet"),
        pytest.param("/catalogs/fresh/api/v1/resolution?package=p", 503, UNSERVED, id="and its packages"),
        pytest.param(
            "/catalogs/c/api/v1/resolution?package=x", 404, "the catalog has no such package", id="no such package"
        ),
        pytest.param(
            "/catalogs/c/api/v1/resolution?provides=Certificate",
            400,
            "provides must be <group>/<kind>, such as cert-manager.io/Certificate",
            id="a kind without its group",
        ),
        pytest.param(
            "/catalogs/c/api/v1/metas?pkg=p",
            400,
            'unknown query parameter "pkg"; known are schema, package, name, digest',
            id="an unknown parameter",
        ),
        pytest.param(
            "/catalogs/c/all.json?x",
            400,
            'unknown query parameter "x"; known are digest',
            id="a parameter without value",
        ),
        pytest.param(
            "/openapi.json?digest=x", 400, 'unknown query parameter "digest"; there are none', id="none is known"
        ),
        pytest.param(
            "/catalogs/c/api/v1/all?digest=1",
            400,
            "digest must be sha256:<64 hex digits>",
            id="what is no digest",
        ),
        pytest.param(
            f"/catalogs/c/api/v1/all?digest=sha256:{'2' * 64}",
            404,
            "the catalog does not have this content; replaced content is available for 10 minutes",
            id="another digest",
        ),
        pytest.param(
            "/catalogs/c/api/v1/metas?name=a&name=b", 400, "name is given more than once", id="a parameter twice"
        ),
        pytest.param(
            "/catalogs?all=1", 400, 'unknown query parameter "all"; there are none', id="the list has no filter"
        ),
        pytest.param("/catalogs/", 404, NO_PATH, id="nor do the catalogs"),
        pytest.param("/catalogs/c/", 404, NO_PATH, id="nor does one"),
        pytest.param("/catalogs/c/index.json", 404, NO_PATH, id="files of the content are no pages"),
        pytest.param("/catalogs/c", 404, NO_PATH, id="one without a slash neither"),
        pytest.param("/catalogs/c/all.json/", 404, NO_PATH, id="a slash at the end"),
        pytest.param("/catalogs/c/api/v1/all/", 404, NO_PATH, id="a slash at the end of another"),
        pytest.param("/catalogs/c/api/v1/graphql", 404, NO_PATH, id="upstream turns GraphQL off, and this has none"),
        pytest.param("/catalogs//all.json", 404, NO_PATH, id="no name"),
        pytest.param("//catalogs/c/all.json", 404, NO_PATH, id="two slashes"),
        pytest.param("/catalogs/c/api/v1/../../all.json", 404, NO_PATH, id="dots in the path"),
        pytest.param("/catalogs/c/../c/all.json", 404, NO_PATH, id="dots instead of a name"),
        pytest.param("/catalogs/../all.json", 400, f"{NO_NAME}{PARTS}", id="the name of the directory above"),
        pytest.param("/catalogs/%2e%2e/all.json", 400, f"{NO_NAME}{PARTS}", id="the same in hex"),
        pytest.param("/catalogs/%2e%2e%2fc/all.json", 400, f"{NO_NAME}{LETTERS}; {PARTS}", id="a name that climbs"),
        pytest.param("/catalogs/c%2fall.json/all.json", 400, f"{NO_NAME}{LETTERS}", id="a name with a slash"),
        pytest.param("/catalogs/c%00/all.json", 400, f"{NO_NAME}{LETTERS}", id="a name with a NUL"),
        pytest.param("/catalogs/C/all.json", 400, f"{NO_NAME}{LETTERS}", id="a name in capitals"),
        pytest.param(
            f"/catalogs/{'a' * 254}/all.json", 400, f"{NO_NAME}it is longer than 253 characters", id="a long name"
        ),
    ],
)
async def test_errors_are_json(site: Site, path: str, status: int, error: str) -> None:
    got, body, headers = await site.ask(path)
    assert (got, json.loads(body)) == (status, {"error": error})
    assert headers["Content-Type"].startswith("application/json")
    assert headers.get("Retry-After") == ("2" if status == 503 else None)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])
@pytest.mark.parametrize(
    "path", ["all.json", "api/v1/all", "api/v1/metas", "api/v1/resolution", "api/v1/packages", "api/v1/packages/p/icon"]
)
async def test_other_methods_are_answered_with_the_allowed_ones(site: Site, method: str, path: str) -> None:
    status, body, headers = await site.ask(f"/catalogs/c/{path}", method)
    assert (status, headers["Allow"]) == (405, "GET,HEAD")
    assert json.loads(body) == {"error": "only GET and HEAD are supported"}


async def test_unchanged_content_is_not_sent_again(site: Site) -> None:
    for headers in ({"If_None_Match": TAG}, {"If_Modified_Since": MODIFIED}):
        status, body, got = await site.ask("/catalogs/c/all.json", **headers)
        assert (status, body) == (304, b"")
        assert got["ETag"] == TAG
    status, body, _ = await site.ask("/catalogs/c/api/v1/metas?package=p", If_Match='"other"')
    assert status == 412


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [
        pytest.param("bytes=0-9", 0, 10, id="the beginning"),
        pytest.param(
            f"bytes={MAX_WRITE_BYTES - 5}-{2 * MAX_WRITE_BYTES + 5}",
            MAX_WRITE_BYTES - 5,
            2 * MAX_WRITE_BYTES + 6,
            id="over several chunks",
        ),
        pytest.param("bytes=-7", len(WHOLE) - 7, len(WHOLE), id="the end"),
    ],
)
async def test_ranges_of_the_whole_catalog(site: Site, wanted: str, start: int, end: int) -> None:
    status, body, headers = await site.ask("/catalogs/c/all.json", Range=wanted)
    assert (status, body) == (206, WHOLE[start:end])
    assert headers["Content-Range"] == f"bytes {start}-{end - 1}/{len(WHOLE)}"


async def test_ranges_of_a_filtered_response(site: Site) -> None:
    """The filtered blobs lie apart in the file; a range counts in what was asked for."""
    whole = LINES[0] + LINES[3]
    at = len(LINES[0]) - 3
    status, body, headers = await site.ask("/catalogs/c/api/v1/metas?schema=olm.package", Range=f"bytes={at}-{at + 9}")
    assert (status, body) == (206, whole[at : at + 10])
    assert headers["Content-Range"] == f"bytes {at}-{at + 9}/{len(whole)}"


async def test_a_range_after_the_end_is_answered_416_with_the_size(site: Site) -> None:
    status, _, headers = await site.ask("/catalogs/c/all.json", Range=f"bytes={len(WHOLE)}-")
    assert (status, headers["Content-Range"]) == (416, f"bytes */{len(WHOLE)}")


async def test_the_root_lists_the_paths(site: Site) -> None:
    status, body, headers = await site.ask("/")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body)["paths"] == [route.path for route in ROUTES]


async def test_the_list_of_catalogs_changes_with_what_is_served(site: Site) -> None:
    status, body, headers = await site.ask("/catalogs")
    assert (status, json.loads(body)) == (200, {"catalogs": [{"name": "c", "digest": DIGEST}]})
    known = {"If-None-Match": headers["ETag"]}
    assert (await site.ask("/catalogs", **known))[0] == 304
    await put(site.catalog_store, "fresh", DIGEST)
    assert [each["name"] for each in json.loads((await site.ask("/catalogs"))[1])["catalogs"]] == ["c", "fresh"]
    await site.catalog_store.remove("fresh")
    await site.catalog_store.remove("c")
    status, body, _ = await site.ask("/catalogs", **known)
    assert (status, json.loads(body)) == (200, {"catalogs": []})


async def test_a_removed_catalog_is_unavailable_immediately(site: Site) -> None:
    await site.catalog_store.remove("c")
    assert (await site.ask("/catalogs/c/all.json"))[0] == 503


async def test_content_that_vanished_from_the_disk_is_unavailable(site: Site) -> None:
    Store(site.catalog_store.content_directory).remove(DIGEST)
    assert (await site.ask("/catalogs/c/all.json"))[0] == 503


async def test_a_download_completes_when_its_content_is_replaced(site: Site) -> None:
    async with site.session.get(f"{site.base}/catalogs/c/all.json") as answer:
        first = await answer.content.readexactly(10)
        await site.catalog_store.remove("c")
        assert first + await answer.read() == WHOLE


async def test_requests_are_measured_by_code(site: Site) -> None:
    def count(code: str) -> float:
        return REGISTRY.get_sample_value("catalogd_http_request_duration_seconds_count", {"code": code}) or 0

    before = {code: count(code) for code in ("200", "404")}
    await site.ask("/catalogs/c/api/v1/all")
    await site.ask("/catalogs/x/api/v1/all")
    assert {code: count(code) - before[code] for code in before} == {"200": 1, "404": 1}
    bucket = {"code": "200", "le": "0.1"}
    assert REGISTRY.get_sample_value("catalogd_http_request_duration_seconds_bucket", bucket) is not None


async def test_while_the_catalogs_are_unknown_the_store_decides(site: Site) -> None:
    server = CatalogServer(site.catalog_store, lambda name: None)
    port = await server.start("127.0.0.1:0")
    try:
        async with site.session.get(f"http://127.0.0.1:{port}/catalogs/c/api/v1/all") as answer:
            assert answer.status == 200
        async with site.session.get(f"http://127.0.0.1:{port}/catalogs/x/api/v1/all") as answer:
            assert answer.status == 404
    finally:
        await server.close()


OTHER = "sha256:" + "2" * 64


async def test_content_of_a_deleted_catalog_is_not_served_for_a_new_one_of_its_name(tmp_path: Path) -> None:
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST, uid="of another")
    async with serving(catalog_store) as site:
        for path in (
            "all.json",
            "api/v1/metas?package=p",
            "api/v1/resolution?package=p",
            f"api/v1/all?digest={DIGEST}",
        ):
            status, body, headers = await site.ask(f"/catalogs/c/{path}")
            assert (status, json.loads(body), headers["Retry-After"]) == (503, {"error": UNSERVED}, "2")
        assert json.loads((await site.ask("/catalogs"))[1]) == {"catalogs": []}
        await put(catalog_store, "c", OTHER, BLOBS[3:], uid=UIDS["c"])
        status, body, _ = await site.ask("/catalogs/c/all.json")
        assert (status, body) == (200, b"".join(LINES[3:]))
        assert json.loads((await site.ask("/catalogs"))[1]) == {"catalogs": [{"name": "c", "digest": OTHER}]}
        assert (await site.ask(f"/catalogs/c/all.json?digest={DIGEST}"))[0] == 404, "what was replaced is kept by uid"


async def test_a_record_of_an_earlier_version_belongs_to_the_catalog_of_its_name(site: Site) -> None:
    assert (await site.ask("/catalogs/c/all.json"))[0] == 200


async def test_an_address_in_use_is_reported(site: Site) -> None:
    taken = site.base.removeprefix("http://")
    other = CatalogServer(site.catalog_store, lambda name: None)
    with pytest.raises(OlmError, match=f"cannot listen on {taken} for catalogs"):
        await other.start(taken)
    await other.close()
