"""The client against the server of catalogd: real content, compressed and not. Real HTTP on loopback, no cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catalogd.storage.catalog_store import CatalogStore
from operator_controller.catalog_cache.stored_documents import ContentDocuments
from operator_controller.resolve.snapshot.package_snapshot import CatalogState
from tests.integration.catalogd.catalog_server import BLOBS, DIGEST, UIDS, put, serving
from tests.integration.catalogd.http.test_compression import compressing, until_made
from tests.integration.operator_controller.catalog_cache.test_client import catalog, client

OTHER = "sha256:" + "2" * 64
KIND = {"type": "olm.gvk", "value": {"group": "example.com", "version": "v1", "kind": "Party"}}
BUNDLES = [
    {**BLOBS[2], "name": f"p.v{number}", "image": f"i{number}", "properties": [*BLOBS[2]["properties"], KIND]}
    for number in range(50)
]
CONTENT = [*BLOBS[:2], *BUNDLES, BLOBS[3]]


@pytest.mark.parametrize("encoding", [None, "gzip"])
async def test_the_content_of_a_catalog(tmp_path: Path, encoding: str | None) -> None:
    catalog_store = CatalogStore(tmp_path / "catalogd")
    await put(catalog_store, "c", DIGEST, CONTENT)
    async with (
        compressing(tmp_path / "catalogd", catalog_store) as encodings,
        serving(catalog_store, encodings if encoding else None) as site,
        client(tmp_path / "content") as catalog_client,
    ):
        if encoding:
            await until_made(encodings)
        headers = (await site.ask("/catalogs/c/api/v1/resolution", Accept_Encoding="gzip"))[2]
        assert headers.get("Content-Encoding") == encoding
        result = await catalog_client.content(catalog(site.base, DIGEST, uid=UIDS["c"]))
        assert (result.state, result.needs_recheck, result.message) == (CatalogState.SERVING, False, "")
        assert result.content is not None
        assert result.content.index.providers == {("example.com", "Party"): ("p",)}
        _, plain, _ = await site.ask("/catalogs/c/api/v1/resolution")
        documents = ContentDocuments(tmp_path / "content")
        for line in plain.splitlines():
            assert documents.read_text(DIGEST, json.loads(line)["package"]) == line + b"\n"
        documents.close_files()
        assert [*result.content.index.packages] == ["p", "q"]


async def test_the_content_that_the_status_names_is_read_while_another_one_is_served(tmp_path: Path) -> None:
    catalog_store = CatalogStore(tmp_path / "catalogd")
    await put(catalog_store, "c", DIGEST, CONTENT)
    await put(catalog_store, "c", OTHER, BLOBS[:3])
    async with serving(catalog_store) as site, client(tmp_path / "content") as catalog_client:
        for digest, packages in ((DIGEST, ["p", "q"]), (OTHER, ["p"])):
            result = await catalog_client.content(catalog(site.base, digest))
            assert result.content is not None
            assert (result.content.digest, [*result.content.index.packages]) == (digest, packages)
            assert not result.needs_recheck
        gone = await catalog_client.content(catalog(site.base, "sha256:" + "3" * 64))
        assert gone.content is not None
        assert (gone.content.digest, gone.needs_recheck) == (OTHER, True)
