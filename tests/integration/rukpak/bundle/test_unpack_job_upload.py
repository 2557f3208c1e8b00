"""The unpack job with archives that were uploaded: the formats, and what a hostile one may try."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
import zstandard

from olmkit.errors import Blocked
from olmkit.sources.content_limits import BUNDLE_LIMITS
from olmkit.sources.source import UploadSource
from rukpak.bundle.unpack_result import UnpackResult
from tests.images import device, digest_of, file, link, tar, zipped
from tests.integration.job_results import staged
from tests.integration.rukpak.bundle.source_unpacker import PLAIN, REGISTRY, SourceUnpacker, config_map
from tests.unit.rukpak.builders import csv
from tests.unit.rukpak.builders import files as files_of

MANIFESTS = {"manifests/a.yaml": config_map("one")}


@pytest_asyncio.fixture
async def unpacker(tmp_path: Path) -> AsyncIterator[SourceUnpacker]:
    made = SourceUnpacker(tmp_path)
    yield made
    await made.jobs.close()


async def uploaded(unpacker: SourceUnpacker, data: bytes, content_type: str = PLAIN) -> UnpackResult:
    """The result for an archive."""
    return await unpacker.unpack(UploadSource(digest_of(data)), content_type, data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(tar({**MANIFESTS, "README.md": b"x"}), id="tar"),
        pytest.param(gzip.compress(tar(MANIFESTS)), id="tar.gz"),
        pytest.param(zstandard.compress(tar(MANIFESTS)), id="tar.zst"),
        pytest.param(zipped(MANIFESTS), id="zip"),
        pytest.param(
            gzip.compress(tar({f"bundle-1.0/{name}": text for name, text in MANIFESTS.items()})), id="directory"
        ),
    ],
)
async def test_archives_of_all_formats(unpacker: SourceUnpacker, data: bytes) -> None:
    found = await uploaded(unpacker, data)
    assert found.resolved == {"type": "upload", "upload": {"digest": digest_of(data)}}
    assert unpacker.names(found) == ["one"]
    assert unpacker.files(found) == ["bundle.json", "files/manifests/a.yaml", "type"], "not the archive itself"
    again = await uploaded(unpacker, data)
    assert (again.digest, again.staged) == (found.digest, False)
    assert staged(unpacker.directory) == []


async def test_a_registry_bundle(unpacker: SourceUnpacker) -> None:
    found = await uploaded(unpacker, gzip.compress(tar(files_of(csv()))), REGISTRY)
    assert not found.problem


async def test_content_of_an_upload_is_not_that_of_the_same_archive_on_a_web_server(unpacker: SourceUnpacker) -> None:
    """Whoever knows the digest of an archive behind a login does not get its content by an upload of that digest."""
    data = tar(MANIFESTS)
    found = await uploaded(unpacker, data)
    assert found.digest != digest_of(data)
    assert found.problem == ""


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        pytest.param(
            lambda: gzip.compress(tar({"manifests/a.yaml": bytes(BUNDLE_LIMITS.bytes + 1)}), 1),
            "larger than",
            id="a bomb",
        ),
        pytest.param(
            lambda: gzip.compress(tar({f"manifests/{each}.yaml": b"" for each in range(BUNDLE_LIMITS.files + 1)}), 1),
            "more files than",
            id="100,001 files",
            marks=pytest.mark.hostile,
        ),
        pytest.param(
            lambda: tar([link("manifests/a.yaml", "../../../../etc/passwd")]),
            "manifests/a.yaml",
            id="a link out of the archive",
        ),
        pytest.param(lambda: tar([file("../manifests/a.yaml", b"x")]), "..", id="a path out of the archive"),
        pytest.param(lambda: tar([device("manifests/a")]), "manifests/a", id="a device"),
        pytest.param(lambda: tar({"README.md": b"x"}), "manifests", id="no manifests"),
        pytest.param(
            lambda: gzip.compress(tar(MANIFESTS))[:-20], "archive upload@sha256:", id="an archive that was cut"
        ),
        pytest.param(lambda: b"<html>", "is not an archive but text, such as a page", id="no archive"),
        pytest.param(lambda: b"<html>", "other storage: upload an archive", id="what to do instead"),
    ],
)
async def test_hostile_archives(unpacker: SourceUnpacker, archive: Callable[[], bytes], words: str) -> None:
    found = await uploaded(unpacker, archive())
    assert words in found.problem
    assert unpacker.store.digests() == set()
    assert staged(unpacker.directory) == []


async def test_bytes_that_are_not_those_of_the_digest_are_not_used(unpacker: SourceUnpacker) -> None:
    source = UploadSource(digest_of(tar(MANIFESTS)))
    with pytest.raises(Blocked, match=r"the stored parts of upload@sha256:[0-9a-f]{64} are damaged: upload it again"):
        await unpacker.unpack(source, PLAIN, tar({**MANIFESTS, "manifests/b.yaml": config_map("two")}))
    assert unpacker.store.digests() == set()
    assert staged(unpacker.directory) == []
