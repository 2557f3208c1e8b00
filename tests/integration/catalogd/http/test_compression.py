"""gzip and zstd of catalogs: made once, negotiated, kept over a restart, collected. Real HTTP on loopback, no cluster."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import zstandard

from catalogd.http.compression import CompressedFiles
from catalogd.http.compression_job import COMPRESSIBLE_FILES, SOURCES_FILE
from catalogd.storage.catalog_store import CatalogStore
from olmkit.store.store import Store
from tests.integration.catalogd.catalog_server import BLOBS, DIGEST, WHOLE, Site, put, serving

OTHER = "sha256:" + "2" * 64
ALL = "/catalogs/c/api/v1/all"
RESOLUTION = "/catalogs/c/api/v1/resolution"
MAKING = 240
"""Seconds. Compression has the lowest priority, and other processes may use the processor for long."""


@contextlib.asynccontextmanager
async def compressing(root: Path, catalog_store: CatalogStore) -> AsyncIterator[CompressedFiles]:
    """At work."""
    encodings = CompressedFiles(root, catalog_store)
    run = asyncio.create_task(encodings.run())
    try:
        yield encodings
    finally:
        run.cancel()
        await asyncio.wait({run})
        await encodings.close()


async def until_made(encodings: CompressedFiles, digest: str = DIGEST) -> None:
    """Return when there are encoded files of that content."""
    async with asyncio.timeout(MAKING):
        while not encodings.find(digest, COMPRESSIBLE_FILES[0]):  # noqa: ASYNC110 there is no event to await
            await asyncio.sleep(0.02)


@pytest.fixture
async def catalog_store(tmp_path: Path) -> CatalogStore:
    """With the catalog `c`."""
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST)
    return catalog_store


@pytest.fixture
async def site(tmp_path: Path, catalog_store: CatalogStore) -> AsyncIterator[Site]:
    """Serves `c`, encoded."""
    async with compressing(tmp_path, catalog_store) as encodings, serving(catalog_store, encodings) as site:
        await until_made(encodings)
        yield site


def decoded(body: bytes, encoding: str | None) -> bytes:
    """What a client makes of it."""
    if encoding == "gzip":
        return gzip.decompress(body)
    return zstandard.ZstdDecompressor().decompress(body) if encoding == "zstd" else body


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        pytest.param("gzip", "gzip", id="gzip alone"),
        pytest.param("zstd", "zstd", id="zstd alone"),
        pytest.param("gzip, deflate, br, zstd", "zstd", id="as a browser asks"),
        pytest.param("gzip;q=1.0, *;q=0.5", "gzip", id="rather gzip"),
        pytest.param("identity", None, id="plain"),
        pytest.param("br", None, id="what there is not"),
    ],
)
@pytest.mark.parametrize("path", ["all.json", "api/v1/all", "api/v1/metas", f"api/v1/all?digest={DIGEST}"])
async def test_the_client_gets_an_encoding_that_it_accepts(
    site: Site, path: str, accepted: str, expected: str | None
) -> None:
    status, body, headers = await site.ask(f"/catalogs/c/{path}", Accept_Encoding=accepted)
    assert (status, headers.get("Content-Encoding"), headers["Vary"]) == (200, expected, "Accept-Encoding")
    assert decoded(body, expected) == WHOLE
    assert headers["Content-Length"] == str(len(body))
    _, nothing, head = await site.ask(f"/catalogs/c/{path}", "HEAD", Accept_Encoding=accepted)
    assert nothing == b""
    assert {**head, "Date": ""} == {**headers, "Date": ""}


async def test_a_filtered_response_is_not_compressed(site: Site) -> None:
    _, body, headers = await site.ask("/catalogs/c/api/v1/metas?package=q", Accept_Encoding="gzip")
    assert "Content-Encoding" not in headers
    assert body in WHOLE


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_the_resolution_documents_of_all_packages_are_compressed(tmp_path: Path, encoding: str) -> None:
    catalog_store = CatalogStore(tmp_path)
    bundles = [{**BLOBS[2], "name": f"p.v{number}", "image": f"i{number}"} for number in range(50)]
    await put(catalog_store, "c", DIGEST, [*BLOBS[:2], *bundles, BLOBS[3]])
    async with compressing(tmp_path, catalog_store) as encodings, serving(catalog_store, encodings) as site:
        await until_made(encodings)
        _, plain, plain_headers = await site.ask(RESOLUTION)
        status, body, headers = await site.ask(RESOLUTION, Accept_Encoding=encoding)
        assert (status, headers["Content-Encoding"], headers["Vary"]) == (200, encoding, "Accept-Encoding")
        assert (headers["Content-Type"], headers["Olm-Catalog-Digest"]) == ("application/jsonl", DIGEST)
        assert headers["ETag"] != plain_headers["ETag"]
        assert decoded(body, encoding) == plain
        assert [json.loads(line)["package"] for line in plain.splitlines()] == ["p", "q"]
        for parameter in ("package=p", "provides=g/K", "package=p&provides="):
            _, _, headers = await site.ask(f"{RESOLUTION}?{parameter}", Accept_Encoding=encoding)
            assert ("Content-Encoding" in headers, headers["Vary"]) == (False, "Accept-Encoding")
        _, body, headers = await site.ask(f"{RESOLUTION}?package=&provides=", Accept_Encoding=encoding)
        assert (headers["Content-Encoding"], decoded(body, encoding)) == (encoding, plain)


async def test_each_encoding_has_a_tag_of_its_own(site: Site) -> None:
    tags = {}
    for accepted in ("identity", "gzip", "zstd"):
        tags[accepted] = (await site.ask(ALL, Accept_Encoding=accepted))[2]["ETag"]
    assert len(set(tags.values())) == 3
    for accepted, tag in tags.items():
        status, _, headers = await site.ask(ALL, Accept_Encoding=accepted, If_None_Match=tag)
        assert (status, headers["ETag"], headers["Vary"]) == (304, tag, "Accept-Encoding")
    assert (await site.ask(ALL, Accept_Encoding="gzip", If_None_Match=tags["identity"]))[0] == 200


async def test_a_range_refers_to_the_encoded_bytes(site: Site) -> None:
    _, whole, headers = await site.ask(ALL, Accept_Encoding="gzip")
    half = len(whole) // 2
    tag = headers["ETag"]
    status, first, _ = await site.ask(ALL, Accept_Encoding="gzip", Range=f"bytes=0-{half - 1}")
    assert status == 206
    status, rest, headers = await site.ask(ALL, Accept_Encoding="gzip", Range=f"bytes={half}-", If_Range=tag)
    assert (status, headers["Content-Range"]) == (206, f"bytes {half}-{len(whole) - 1}/{len(whole)}")
    assert gzip.decompress(first + rest) == WHOLE
    assert (await site.ask(ALL, Range=f"bytes={half}-", If_Range=tag))[0] == 200


async def test_a_client_that_accepts_no_encoding_gets_the_list_of_encodings(site: Site) -> None:
    status, body, headers = await site.ask(ALL, Accept_Encoding="br, identity;q=0")
    assert (status, headers["Vary"]) == (406, "Accept-Encoding")
    assert b"zstd, gzip, identity" in body


async def test_until_it_is_compressed_a_catalog_is_sent_uncompressed(
    tmp_path: Path, catalog_store: CatalogStore
) -> None:
    encodings = CompressedFiles(tmp_path, catalog_store)
    async with serving(catalog_store, encodings) as site:
        _, body, headers = await site.ask(ALL, Accept_Encoding="gzip")
    assert (body, headers.get("Content-Encoding"), headers["Vary"]) == (WHOLE, None, "Accept-Encoding")


async def test_compressed_files_survive_a_restart(tmp_path: Path, catalog_store: CatalogStore) -> None:
    async with compressing(tmp_path, catalog_store) as encodings:
        await until_made(encodings)
        form = encodings.find(DIGEST, COMPRESSIBLE_FILES[0])["gzip"]
    made_at = form.path.stat().st_mtime_ns
    async with compressing(tmp_path, catalog_store) as encodings:
        await until_made(encodings)
        assert encodings.find(DIGEST, COMPRESSIBLE_FILES[0])["gzip"] == form
    assert form.path.stat().st_mtime_ns == made_at


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _of_another_content(path: Path) -> None:
    note = path.parent / SOURCES_FILE
    note.write_bytes(note.read_bytes().replace(b'"format":1', b'"format":0'))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(_flip, id="a bit that flipped"),
        pytest.param(Path.unlink, id="a file that is gone"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:100]), id="a file that is cut"),
        pytest.param(_of_another_content, id="made of other content"),
    ],
)
async def test_damaged_compressed_files_are_made_again(
    tmp_path: Path, catalog_store: CatalogStore, damage: object
) -> None:
    async with compressing(tmp_path, catalog_store) as encodings:
        await until_made(encodings)
        path = encodings.find(DIGEST, COMPRESSIBLE_FILES[0])["gzip"].path
    whole = path.read_bytes()
    assert callable(damage)
    damage(path)
    async with compressing(tmp_path, catalog_store) as encodings:
        await until_made(encodings)
        assert encodings.find(DIGEST, COMPRESSIBLE_FILES[0])["gzip"].path.read_bytes() == whole


async def test_compressed_files_are_removed_with_their_content(tmp_path: Path, catalog_store: CatalogStore) -> None:
    async with compressing(tmp_path, catalog_store) as encodings:
        await until_made(encodings)
        await put(catalog_store, "d", OTHER, BLOBS[:4])
        await until_made(encodings, OTHER)
        await catalog_store.remove("c")
        async with asyncio.timeout(30):
            while (tmp_path / "encoded" / DIGEST.replace(":", "-")).exists():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert not encodings.find(DIGEST, COMPRESSIBLE_FILES[0])
        assert encodings.find(OTHER, COMPRESSIBLE_FILES[0])


async def test_a_download_completes_when_its_content_is_removed(tmp_path: Path, catalog_store: CatalogStore) -> None:
    async with compressing(tmp_path, catalog_store) as encodings, serving(catalog_store, encodings) as site:
        await until_made(encodings)
        async with site.session.get(site.base + ALL, headers={"Accept-Encoding": "gzip"}) as answer:
            await catalog_store.remove("c")
            assert gzip.decompress(await answer.read()) == WHOLE


async def test_without_its_compressed_file_a_catalog_is_sent_uncompressed(
    tmp_path: Path, catalog_store: CatalogStore
) -> None:
    async with compressing(tmp_path, catalog_store) as encodings, serving(catalog_store, encodings) as site:
        await until_made(encodings)
        shutil.rmtree(tmp_path / "encoded")
        status, body, headers = await site.ask(ALL, Accept_Encoding="gzip")
    assert (status, body, headers.get("Content-Encoding")) == (200, WHOLE, None)


async def test_small_files_are_not_compressed(tmp_path: Path) -> None:
    catalog_store = CatalogStore(tmp_path)
    await put(catalog_store, "c", DIGEST, BLOBS[:1])
    async with compressing(tmp_path, catalog_store), serving(catalog_store) as site:
        directory = tmp_path / "encoded" / DIGEST.replace(":", "-") / "content"
        async with asyncio.timeout(MAKING):
            while not directory.exists():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert [path.name for path in directory.iterdir() if path.name.startswith("all")] == []
        assert (await site.ask(ALL, Accept_Encoding="gzip"))[0] == 200


async def test_content_that_cannot_be_read_for_compression_is_still_served(
    tmp_path: Path, catalog_store: CatalogStore
) -> None:
    """The job fails; nothing else does."""
    (Store(catalog_store.content_directory).path(DIGEST) or tmp_path).joinpath("all.jsonl").unlink()
    async with compressing(tmp_path, catalog_store) as encodings:
        await put(catalog_store, "d", OTHER)
        await until_made(encodings, OTHER)
        assert not encodings.find(DIGEST, COMPRESSIBLE_FILES[0])
