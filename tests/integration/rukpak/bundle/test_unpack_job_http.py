"""The unpack job with archives of a real web server: what is read, what is refused, and what is pinned."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
import zstandard

from olmkit.errors import Waiting
from olmkit.sources.resolved_source import content_digest, pinned
from olmkit.sources.source import HttpSource
from rukpak.bundle.storage import load
from rukpak.format import RegistryBundle
from tests.images import device, digest_of, file, link, tar, zipped
from tests.integration.job_results import staged
from tests.integration.rukpak.bundle.source_unpacker import PLAIN, REGISTRY, SourceUnpacker, config_map
from tests.servers.web_server import WebServer, redirect
from tests.unit.rukpak.builders import csv
from tests.unit.rukpak.builders import files as files_of

MANIFESTS = {"manifests/a.yaml": config_map("one")}


class ArchiveUnpacker(SourceUnpacker):
    """The unpack jobs of rukpak, and a web server."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.shelf = root / "files"
        self.shelf.mkdir()
        self.server = WebServer(self.shelf)

    def put(self, data: bytes) -> str:
        """Replace the archive; returns its digest."""
        (self.shelf / "a.tgz").write_bytes(data)
        return digest_of(data)

    def source(self, checksum: str = "") -> HttpSource:
        return HttpSource(f"{self.server.url}/a.tgz?token=x", checksum)


@pytest_asyncio.fixture
async def unpacker(tmp_path: Path) -> AsyncIterator[ArchiveUnpacker]:
    made = ArchiveUnpacker(tmp_path)
    async with made.server:
        yield made
    await made.jobs.close()


def packed(files: Mapping[str, bytes]) -> bytes:
    return gzip.compress(tar(files), mtime=0)


async def test_an_archive_is_kept_by_its_digest_whatever_the_server_sends_later(unpacker: ArchiveUnpacker) -> None:
    digest = unpacker.put(packed({**MANIFESTS, "README.md": b"x"}))
    found = await unpacker.unpack(unpacker.source())
    assert found.resolved == {"type": "http", "http": {"url": f"{unpacker.server.url}/a.tgz", "digest": digest}}
    assert found.digest == content_digest(found.resolved)
    assert unpacker.names(found) == ["one"]
    assert unpacker.files(found) == ["bundle.json", "files/manifests/a.yaml", "type"], "nothing else of the archive"

    unpacker.store.remove(found.digest)
    source = pinned(unpacker.source(), found.resolved)
    assert unpacker.names(await unpacker.unpack(source)) == ["one"]
    other = unpacker.put(packed({"manifests/a.yaml": config_map("two")}))
    unpacker.store.remove(found.digest)
    with pytest.raises(Waiting) as caught:
        await unpacker.unpack(source)
    assert caught.value.message == f"archive {unpacker.server.url}/a.tgz is {other}, and {digest} is expected"
    assert unpacker.store.digests() == set()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(packed(MANIFESTS), id="gzip"),
        pytest.param(tar(MANIFESTS), id="plain"),
        pytest.param(zstandard.compress(tar(MANIFESTS)), id="zstd"),
        pytest.param(zipped(MANIFESTS), id="zip"),
        pytest.param(packed({"combo-v0.0.2/manifests/a.yaml": config_map("one")}), id="below the only directory"),
        pytest.param(zipped({"combo-v0.0.2/manifests/a.yaml": config_map("one")}), id="zip, below the only directory"),
        pytest.param(
            packed(
                {"LICENSE": b"x", "combo-v0.0.2/manifests/a.yaml": config_map("one"), "combo-v0.0.2/pkg/a.go": b"x"}
            ),
            id="below the only directory, beside a file",
        ),
        pytest.param(
            packed({**MANIFESTS, "other/manifests/a.yaml": config_map("two")}), id="at the root, beside a directory"
        ),
        pytest.param(
            tar([file("manifests/a.yaml", config_map("one")), link("docs", "../outside"), device("dev/null")]),
            id="beside what would be refused among the manifests",
        ),
    ],
)
async def test_what_is_read_as_a_bundle(unpacker: ArchiveUnpacker, data: bytes) -> None:
    digest = unpacker.put(data)
    found = await unpacker.unpack(unpacker.source(digest))
    assert not found.problem
    assert unpacker.names(found) == ["one"]
    assert unpacker.files(found) == ["bundle.json", "files/manifests/a.yaml", "type"]


async def test_a_registry_bundle_in_the_only_directory(unpacker: ArchiveUnpacker) -> None:
    files = files_of(csv("things.v1.0.0"), package="things")
    unpacker.put(packed({f"things-1.0.0/{path}": data for path, data in files.items()}))
    found = await unpacker.unpack(unpacker.source(), REGISTRY)
    assert isinstance(load(unpacker.store, found.digest), RegistryBundle)


REFUSED = [
    pytest.param(
        b"<html>not found</html>", PLAIN, "is not an archive but text, such as a page", id="a page with code 200"
    ),
    pytest.param(b"PK\x03\x04", PLAIN, "is not a complete zip archive", id="a zip archive that is cut"),
    pytest.param(b"BZh9", PLAIN, "is packed with bzip2, which is not read", id="an archive packed with bzip2"),
    pytest.param(
        packed({"a": b"x"}), PLAIN, 'has no content at "/manifests", where its content should be', id="no manifests"
    ),
    pytest.param(
        packed({"a/manifests/a.yaml": b"x", "b/manifests/b.yaml": b"x"}),
        PLAIN,
        'has no content at "/manifests", where its content should be',
        id="two directories",
    ),
    pytest.param(packed(MANIFESTS), REGISTRY, "is not a registry+v1 bundle (it has no /metadata)", id="a plain bundle"),
    pytest.param(
        packed({"top/manifests/a.yaml": config_map("a")}),
        REGISTRY,
        "is not a registry+v1 bundle (it has no /metadata)",
        id="a plain bundle in the only directory",
    ),
    pytest.param(
        tar([file("manifests/../../a", b"x")]),
        PLAIN,
        "a path outside the archive",
        id="a path that leads out of the archive",
    ),
    pytest.param(tar([device("manifests/a.yaml")]), PLAIN, "which is a device", id="a device"),
    pytest.param(tar([link("manifests/a.yaml", "/etc/passwd")]), PLAIN, "a link to", id="a link that leads out"),
    pytest.param(packed({"manifests/a.yaml": b"a: ["}), PLAIN, '"a.yaml": line', id="invalid YAML"),
]


@pytest.mark.parametrize(("data", "content_type", "words"), REFUSED)
async def test_bad_content_of_a_digest_is_final_and_without_a_digest_it_is_requested_again(
    unpacker: ArchiveUnpacker, data: bytes, content_type: str, words: str
) -> None:
    digest = unpacker.put(data)
    found = await unpacker.unpack(unpacker.source(digest), content_type)
    assert words in found.problem
    with pytest.raises(Waiting) as caught:
        await unpacker.unpack(unpacker.source(), content_type)
    assert words in caught.value.message
    assert unpacker.store.digests() == set()
    assert staged(unpacker.directory) == []


async def test_an_archive_of_another_digest_is_refused(unpacker: ArchiveUnpacker) -> None:
    digest, wrong = unpacker.put(packed(MANIFESTS)), "sha256:" + "0" * 64
    with pytest.raises(Waiting) as caught:
        await unpacker.unpack(unpacker.source(wrong))
    assert caught.value.message == f"archive {unpacker.server.url}/a.tgz is {digest}, and {wrong} is expected"


async def test_a_redirect_to_a_link_local_address_is_refused(unpacker: ArchiveUnpacker) -> None:
    unpacker.server.fault = redirect("http://169.254.169.254/latest/meta-data")
    with pytest.raises(Exception, match=r"169\.254\.169\.254"):
        await unpacker.unpack(unpacker.source())
