"""Layers with every compression; corrupt and too large ones."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as some

from olmkit.sources.content_limits import BUNDLE_LIMITS, CATALOG_LIMITS, ContentLimits
from olmkit.sources.errors import SourceReason
from olmkit.sources.tree import TreeError
from tests.examples import example_count
from tests.images import Entry, directory, file, hard_link, link, tar
from tests.integration.olmkit.sources.merging import files, merge

PLAIN = tar([file("a", "text")])


@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(PLAIN[:1024], id="without an end marker, as some tools write it"),
        pytest.param(gzip.compress(PLAIN), id="gzip"),
        pytest.param(gzip.compress(PLAIN[:700]) + gzip.compress(PLAIN[700:]), id="gzip in two members, as eStargz"),
        pytest.param(zstandard.ZstdCompressor().compress(PLAIN), id="zstd"),
        pytest.param(
            zstandard.ZstdCompressor().compress(PLAIN[:700]) + zstandard.ZstdCompressor().compress(PLAIN[700:]),
            id="zstd in two frames, as zstd:chunked",
        ),
        pytest.param(
            b"\x50\x2a\x4d\x18\x04\0\0\0meta" + zstandard.ZstdCompressor().compress(PLAIN),
            id="zstd after a skippable frame",
        ),
    ],
)
def test_every_compression_is_read(tmp_path: Path, layer: bytes) -> None:
    merge(tmp_path / "into", [layer])
    assert files(tmp_path / "into") == {"a": "text"}


def test_an_empty_archive_is_an_empty_layer(tmp_path: Path) -> None:
    merge(tmp_path / "into", [bytes(1024), tar([])])
    assert files(tmp_path / "into") == {}


def broken(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


LARGE = tar([file("a", os.urandom(300_000)), file("b", "2")])


@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no archive", id="text"),
        pytest.param(os.urandom(5000), id="random bytes"),
        pytest.param(LARGE[:200_000], id="truncated within a file"),
        pytest.param(LARGE[:300], id="truncated within a header"),
        pytest.param(broken(LARGE, 300_600), id="a corrupt header in the middle"),
        pytest.param(gzip.compress(LARGE)[:-5000], id="truncated gzip"),
        pytest.param(broken(gzip.compress(LARGE), 150_000), id="corrupt gzip"),
        pytest.param(zstandard.ZstdCompressor().compress(LARGE)[:-5000], id="truncated zstd"),
        pytest.param(b"\x28\xb5\x2f\xfd" + os.urandom(100), id="invalid zstd"),
        pytest.param(gzip.compress(gzip.compress(PLAIN)), id="gzip within gzip"),
    ],
)
def test_a_truncated_or_corrupt_archive_is_an_error(tmp_path: Path, layer: bytes) -> None:
    with pytest.raises(TreeError, match="is not a complete tar archive") as raised:
        merge(tmp_path / "into", [layer])
    assert raised.value.reason == SourceReason.UNSUPPORTED


@pytest.mark.parametrize(
    ("limits", "layers"),
    [
        pytest.param(replace(CATALOG_LIMITS, bytes=100_000), [[file("x/a", bytes(200_000))]], id="one file too large"),
        pytest.param(
            replace(CATALOG_LIMITS, bytes=100_000),
            [[file("etc/a", bytes(200_000))]],
            id="one unselected file too large",
        ),
        pytest.param(
            replace(CATALOG_LIMITS, bytes=100_000),
            [[file("x/a", bytes(60_000))], [file("x/a", bytes(60_000))]],
            id="two layers together too large",
        ),
        pytest.param(
            replace(CATALOG_LIMITS, files=5), [[file(f"x/{number}") for number in range(6)]], id="too many files"
        ),
        pytest.param(
            replace(CATALOG_LIMITS, files=5),
            [[directory("etc")] * 3, [directory("etc")] * 3],
            id="too many unselected entries",
        ),
        pytest.param(
            replace(CATALOG_LIMITS, bytes=100_000),
            [[file("x/a", bytes(40_000)), *(hard_link(f"x/{number}", "x/a") for number in range(9))]],
            id="one file many times",
        ),
        pytest.param(
            replace(CATALOG_LIMITS, bytes=100_000),
            [[file("x/a", bytes(40_000)), *(link(f"x/{number}", "a") for number in range(9))]],
            id="one file many times, by links",
        ),
        pytest.param(
            replace(CATALOG_LIMITS, files=100),
            [[file(f"x/{number}/{'d/' * 40}f") for number in range(3)]],
            id="few files in many implicit directories",
        ),
        pytest.param(
            replace(CATALOG_LIMITS, bytes=100_000),
            [[directory(f"x/{number}") for number in range(30)]],
            id="directories count as bytes",
        ),
        pytest.param(
            replace(CATALOG_LIMITS, files=100),
            [layer for number in range(3) for layer in ([file(f"x/{'d/' * 40}f")], [file("x/.wh.d")])],
            id="directories that are removed and made again",
        ),
    ],
)
def test_limits_hold(tmp_path: Path, limits: ContentLimits, layers: list[list[Entry]]) -> None:
    with pytest.raises(TreeError) as raised:
        merge(tmp_path / "into", layers, ("x",), limits)
    assert raised.value.reason == SourceReason.TOO_LARGE


@pytest.mark.hostile
def test_a_small_layer_with_many_directories_is_refused(tmp_path: Path) -> None:
    layer = gzip.compress(tar([file(f"x/{number}/{'d/' * 60}f") for number in range(1500)]))
    assert len(layer) < 100_000
    with pytest.raises(TreeError, match="larger than 268,435,456 bytes, directories included"):
        merge(tmp_path / "into", [layer], ("x",), BUNDLE_LIMITS)


def test_a_decompression_bomb_is_stopped(tmp_path: Path) -> None:
    bomb = gzip.compress(tar([file("x/a", bytes(50_000_000))]))
    assert len(bomb) < 100_000
    with pytest.raises(TreeError) as raised:
        merge(tmp_path / "into", [bomb], ("x",), replace(CATALOG_LIMITS, bytes=1_000_000))
    assert raised.value.reason == SourceReason.TOO_LARGE
    written = sum(path.stat().st_size for path in (tmp_path / "into").rglob("*"))
    assert written <= 2_000_000


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(header(tarfile.XHDTYPE, 1 << 33), id="an extended header of 8 GiB"),
        pytest.param(header(tarfile.GNUTYPE_LONGNAME, 1 << 33), id="a name of 8 GiB"),
        pytest.param(
            (header(tarfile.GNUTYPE_LONGNAME, 512) + b"a" * 512) * 5000,
            id="consecutive long names, for which tarfile recurses",
        ),
        pytest.param(
            (header(tarfile.XHDTYPE, 512) + b"11 path=aa\n".ljust(512, b"\0")) * 5000, id="consecutive extended headers"
        ),
    ],
)
def test_headers_that_require_too_much_memory_are_refused(tmp_path: Path, layer: bytes) -> None:
    with pytest.raises(TreeError, match="tar headers that are too large"):
        merge(tmp_path / "into", [layer])


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="a sparse file"):
        merge(tmp_path / "into", [header(tarfile.GNUTYPE_SPARSE, 0) + bytes(1024)])


def test_a_negative_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError):
        merge(tmp_path / "into", [tar([Entry("a", b"x", pax={"size": "-512"})])])


@settings(max_examples=example_count(200), deadline=None)
@given(some.binary(max_size=3000), some.integers(0, 3000))
def test_random_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    """For all bytes of an archive, the result is a tree or a TreeError, and only `into` is written to."""
    base = tmp_path_factory.mktemp("noise")
    archive = tar([file("a/b", "1"), link("l", "a/b"), hard_link("h", "a/b"), file("../../x", "1"), file("c", "2")])
    blob = io.BytesIO(archive)
    blob.seek(at)
    blob.write(noise)
    with suppress(TreeError):
        merge(base / "into", [blob.getvalue()])
    assert sorted(os.listdir(base)) == ["into", "layer-1"]
    assert not any(path.is_symlink() for path in (base / "into").rglob("*"))
