"""Catalogs that are parsed while their layers are extracted: the result is the same as from files on disk."""

from __future__ import annotations

import gzip
import io
import json
import resource
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogd.ingest.catalog_files import CatalogFiles
from catalogd.ingest.content import BLOBS_FILE
from catalogd.ingest.content_writer import ContentWriter
from olmctl.authoring.directory import read_directory
from olmkit.fbc.errors import BadCatalog
from olmkit.sources.content_limits import CATALOG_LIMITS
from olmkit.sources.oci.layers import Budget, unpack
from olmkit.sources.tree import Tree, TreeError
from tests.examples import example_count
from tests.images import Entry, directory, file, hard_link, link, tar

DIGEST = "sha256:" + "c" * 64


def names(into: Path, layers: Sequence[Sequence[Entry] | bytes], root: str = "configs") -> list[str]:
    """The names of the blobs that are kept, in order, of an image whose label names `root`."""
    with ContentWriter(into, DIGEST) as writer:
        files = CatalogFiles(writer, into)
        tree = Tree(files, (root,), CATALOG_LIMITS)
        budget = Budget(CATALOG_LIMITS.bytes, CATALOG_LIMITS.files)
        for number, layer in enumerate(layers, start=1):
            tree.layer = number
            unpack(io.BytesIO(layer if isinstance(layer, bytes) else tar(layer)), tree, budget)
        tree.finish()
        writer.finish(files.ranges(root))
    return [json.loads(line)["name"] for line in (into / BLOBS_FILE).read_bytes().splitlines()]


def a(path: str, *blobs: str) -> Entry:
    """A file of the catalog with blobs of these names."""
    return file(f"configs/{path}", "".join(json.dumps({"schema": "x", "name": name}) + "\n" for name in blobs))


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        pytest.param([[a("a", "1", "2"), a("b", "3")]], "123", id="files in order"),
        pytest.param([[a("b", "3"), a("a", "1", "2")]], "123", id="files in another order than a walk's"),
        pytest.param(
            [[a("a-b/c", "2"), a("a/c", "1"), a("a.b", "3")]], "123", id="a directory comes where its name does"
        ),
        pytest.param([[file("etc/passwd", "no catalog"), a("a", "1")]], "1", id="files elsewhere are not parsed"),
        pytest.param([[a("a", "1")], [a("b", "2")]], "12", id="two layers"),
        pytest.param([[a("a", "1"), a("b", "2")], [a("a", "3")]], "32", id="a later layer replaces a file"),
        pytest.param([[a("a", "1"), a("a", "2")]], "2", id="a file that is in an archive twice"),
        pytest.param([[a("a/b", "1"), a("c", "2")], [a("a", "3")]], "32", id="a file replaces a directory"),
        pytest.param([[a("a", "1"), a("b", "2")], [file("configs/.wh.a")]], "2", id="a whiteout"),
        pytest.param([[a("a/b", "1")], [a("a/c", "2"), file("configs/a/.wh..wh..opq")]], "2", id="an opaque directory"),
        pytest.param([[a("a", "1"), hard_link("configs/c", "configs/a"), a("b", "2")]], "121", id="a hard link"),
        pytest.param([[link("configs/b/z", "../a"), a("a", "1"), a("c", "2")]], "112", id="a symbolic link"),
        pytest.param([[a("a", "1")], [hard_link("configs/b", "configs/a")], [file("configs/.wh.a")]], "1", id="moved"),
        pytest.param([[file("configs/.indexignore", "a\n"), a("a", "1"), a("b", "2")]], "2", id="an ignored file"),
        pytest.param([[a("a", "1"), a("b", "2"), file("configs/.indexignore", "a\n")]], "2", id="ignored afterwards"),
        pytest.param(
            [[file("configs/.indexignore", "README\n"), file("configs/README", "- no blob"), a("a", "1")]],
            "1",
            id="an invalid file that is ignored",
        ),
        pytest.param(
            [[file("configs/x", "- no blob"), a("a", "1")], [file("configs/.wh.x")]],
            "1",
            id="an invalid file that is removed",
        ),
        pytest.param(
            [[file("configs/.indexignore", "a\n"), a("a", "1")], [file("configs/.wh..indexignore")]],
            "1",
            id="an ignore file that is removed",
        ),
        pytest.param(
            [[file("configs/.indexignore", "b\n"), hard_link("configs/b", "configs/.indexignore"), a("a", "1")]],
            "1",
            id="an ignore file under another name",
        ),
        pytest.param(
            [[file(".indexignore", "*\n"), file("configs-b/.indexignore", "*\n"), a("a", "1")]],
            "1",
            id="ignore files outside of the catalog have no effect",
        ),
        pytest.param([[directory("configs"), directory("configs/empty")]], "", id="nothing"),
    ],
)
def test_blobs_of_layers(tmp_path: Path, layers: list[list[Entry]], expected: str) -> None:
    assert "".join(names(tmp_path, layers)) == expected


@pytest.mark.parametrize(
    ("layer", "fault"),
    [
        pytest.param(
            [a("b", "1"), file("configs/c/d", "a: [\n"), file("configs/a", "{")],
            "a: line 1, column 2: unexpected end of data: { <==",
            id="the first in order",
        ),
        pytest.param(
            [file("configs/.indexignore", "#" * 65537)], ".indexignore: is larger than 64 KiB", id="ignore file"
        ),
        pytest.param(
            [file("configs/x/.indexignore", "#" * 65537)], "x/.indexignore: is larger than 64 KiB", id="deeper"
        ),
        pytest.param([file("configs", "{}")], "the catalog is a file, not a directory", id="a file in its place"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, layer: list[Entry], fault: str) -> None:
    with pytest.raises(BadCatalog) as caught:
        names(tmp_path, [layer])
    assert str(caught.value) == fault


def test_an_error_in_a_file_with_a_long_path_is_reported(tmp_path: Path) -> None:
    """A path may have nearly as many bytes as a message in a status."""
    path = "/".join(("d" * 120,) * 24) + "/line\nbreak.json"
    with pytest.raises(BadCatalog) as caught:
        names(tmp_path, [[file(f"configs/{path}", "{}")]])
    shown = "d" * 100 + "…" + ("d" * 120 + "/line\\nbreak.json")[-100:]
    assert str(caught.value) == f"{shown}: line 1: object '{{}}' is missing root schema field"


PATHS = st.lists(st.sampled_from(["a", "b", "a-", "a.b", "é", ".indexignore", "z"]), min_size=1, max_size=3).map(
    "/".join
)
TEXTS = st.sampled_from(
    [
        '{"schema":"x","name":"1"}\n',
        '{"schema":"x","name":"2"}{"schema":"x","name":"3"}',
        "schema: x\nname: '4'\n",
        "- bad\n",
    ]
)
IGNORES = st.sampled_from(["a\n", "/a\n", "!a\n", "*\n!b\n", "a/\n", "**/z\n", "a.*\n", "", "[\n", "!\n", "é\n"])


@settings(deadline=None, max_examples=example_count(100))
@given(st.lists(st.tuples(PATHS, TEXTS, IGNORES), max_size=6))
def test_a_streamed_catalog_equals_one_in_a_directory(members: list[tuple[str, str, str]]) -> None:
    """The order of an archive, ignore files included, makes no difference."""
    taken: dict[str, str] = {}
    for path, text, ignore in members:
        parts = path.split("/")
        above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        if not above & taken.keys() and not any(other.startswith(f"{path}/") for other in taken):
            taken[path] = ignore if parts[-1] == ".indexignore" else text
    with tempfile.TemporaryDirectory() as made:
        on_disk, into = Path(made, "configs"), Path(made, "content")
        on_disk.mkdir()
        into.mkdir()
        for path, text in taken.items():
            (on_disk / path).parent.mkdir(parents=True, exist_ok=True)
            (on_disk / path).write_text(text)
        expected: list[str] | str
        try:
            expected = [blob.name for blob in read_directory(on_disk)]
        except BadCatalog as error:
            expected = str(error)
        found: list[str] | str
        try:
            found = names(into, [[file(f"configs/{path}", text) for path, text in taken.items()]])
        except BadCatalog as error:
            found = str(error)
        assert found == expected


def header(name: str, size: int) -> bytes:
    """The header of a regular file."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf()


def bomb(start: bytes, piece: bytes, size: int) -> bytes:
    """A layer with one file of `size` bytes; a piece is packed once, however often it stands there."""
    times, rest = divmod(size - len(start), len(piece))
    last = piece[:rest] + bytes(-size % 512 + 1024)
    return gzip.compress(header("configs/bomb", size) + start) + gzip.compress(piece) * times + gzip.compress(last)


MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    ("start", "piece", "size", "fault"),
    [
        pytest.param(
            b"", bytes(MEGABYTE), 1 << 30, "bomb: line 1: a document is larger than 16 MiB", id="a GB of zeros"
        ),
        pytest.param(
            b'{"schema":"x","name":"',
            b"x" * MEGABYTE,
            2 << 30,
            "bomb: line 1: a document is larger than 16 MiB",
            id="2 GB of JSON",
        ),
        pytest.param(
            b"schema: |\n",
            b" x\n" * 300_000,
            2 << 30,
            "bomb: line 1: a document is larger than 16 MiB",
            id="2 GB of YAML",
        ),
        pytest.param(b'{"a":', b"[" * MEGABYTE, 3_000_000, "bomb: ", id="deep JSON"),
        pytest.param(b"\xff\xfe{\x00", bytes(MEGABYTE), 10_000_000, "bomb: ", id="UTF-16 that is none"),
        pytest.param(b'{"schema":"\x00"}', b" " * MEGABYTE, 10_000_000, "bomb: line 1, column 12: ", id="a NUL byte"),
    ],
)
def test_a_bomb_uses_neither_memory_nor_disk(tmp_path: Path, start: bytes, piece: bytes, size: int, fault: str) -> None:
    layer = bomb(start, piece, size)
    assert len(layer) < size / 100
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ContentWriter(tmp_path, DIGEST) as writer:
        files = CatalogFiles(writer, tmp_path)
        unpack(
            io.BytesIO(layer),
            Tree(files, ("configs",), CATALOG_LIMITS),
            Budget(CATALOG_LIMITS.bytes, CATALOG_LIMITS.files),
        )
        with pytest.raises(BadCatalog) as caught:
            files.ranges("configs")
        assert str(caught.value).startswith(fault)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024  # KiB


@pytest.mark.hostile
@pytest.mark.parametrize(
    "name", [pytest.param("configs/%06d", id="in the catalog"), pytest.param("etc/%06d", id="outside of it")]
)
def test_a_million_files_are_refused_at_the_limit(tmp_path: Path, name: str) -> None:
    layer = gzip.compress(b"".join(header(name % number, 0) for number in range(1000)))
    with ContentWriter(tmp_path, DIGEST) as writer:
        tree = Tree(CatalogFiles(writer, tmp_path), ("configs",), CATALOG_LIMITS)
        with pytest.raises(TreeError) as caught:
            unpack(io.BytesIO(layer * 1000), tree, Budget(CATALOG_LIMITS.bytes, CATALOG_LIMITS.files))
    assert caught.value.detail == "contains more files than are read of one"
