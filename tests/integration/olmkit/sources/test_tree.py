"""Layers merged into a tree, and layers that are refused."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from olmkit.sources.errors import SourceReason
from olmkit.sources.tree import TreeError
from tests.examples import example_count
from tests.images import Entry, device, directory, file, hard_link, link, pipe
from tests.integration.olmkit.sources.merging import files, merge


@pytest.mark.parametrize(
    ("layers", "wanted", "expected"),
    [
        pytest.param(
            [[file("a", "1"), directory("b"), file("b/c", "2")]], "", {"a": "1", "b/c": "2"}, id="files and directories"
        ),
        pytest.param([[file("a/b/c", "1")]], "", {"a/b/c": "1"}, id="implicit directories"),
        pytest.param(
            [[file("./a", "1"), directory("./b/"), file("b//c", "2")]], "", {"a": "1", "b/c": "2"}, id="other notations"
        ),
        pytest.param([[directory("./")], [file("./a", "1")]], "", {"a": "1"}, id="the root itself"),
        pytest.param([[file("a", "1"), file("a", "2")]], "", {"a": "2"}, id="the last entry wins"),
        pytest.param([[file("a", "1")], [file("a", "2")]], "", {"a": "2"}, id="the upper layer wins"),
        pytest.param([[file("a/b", "1")], [file("a", "2")]], "", {"a": "2"}, id="a file in place of a directory"),
        pytest.param(
            [[file("a", "1")], [directory("a"), file("a/b", "2")]],
            "",
            {"a/b": "2"},
            id="a directory in place of a file",
        ),
        pytest.param(
            [[file("a/b", "1")], [directory("a")]], "", {"a/b": "1"}, id="a repeated directory keeps its files"
        ),
        pytest.param([[file("x/a", "1"), file("y", "2")]], "x", {"x/a": "1"}, id="only files below the selected path"),
        pytest.param([[file("x/a", "1"), file("xy/b", "2")]], "x", {"x/a": "1"}, id="a longer name is not below it"),
        pytest.param([[file("x", "1")]], "x", {"x": "1"}, id="the selected path is a file"),
        pytest.param(
            [[device("dev/null"), pipe("run/p"), file("x/a", "1")]],
            "x",
            {"x/a": "1"},
            id="devices outside the selection",
        ),
        pytest.param(
            [[link("etc/a", "../../.."), file("x/a", "1")]], "x", {"x/a": "1"}, id="links outside the selection"
        ),
        pytest.param([[file("a", "1"), file("b", "2")], [file(".wh.a")]], "", {"b": "2"}, id="a whiteout of a file"),
        pytest.param(
            [[file("a/b/c", "1"), file("d", "2")], [file(".wh.a")]], "", {"d": "2"}, id="a whiteout of a directory"
        ),
        pytest.param([[file(".wh.a"), file("a", "1")]], "", {"a": "1"}, id="a whiteout is for lower layers only"),
        pytest.param([[file("a", "1"), file(".wh.a")]], "", {"a": "1"}, id="also after the file"),
        pytest.param(
            [[file("a/b", "1"), file("a/c", "2")], [file("a/d", "3"), file("a/.wh..wh..opq")]],
            "",
            {"a/d": "3"},
            id="an opaque directory shows this layer only",
        ),
        pytest.param(
            [[file("a/b/c", "1")], [file("a/b/d", "2"), file(".wh.a"), directory("a")]],
            "",
            {"a/b/d": "2"},
            id="a whiteout of a directory that this layer fills again",
        ),
        pytest.param([[file("a", "1")], [file(".wh..wh..opq")]], "", {}, id="an opaque root"),
        pytest.param(
            [[file("x/a", "1")], [file(".wh.x"), file("x/b", "2")]],
            "x",
            {"x/b": "2"},
            id="a whiteout of the selected path",
        ),
        pytest.param(
            [[file("x/y/a", "1")], [file(".wh.x"), file("x/y/b", "2")]],
            "x/y",
            {"x/y/b": "2"},
            id="a whiteout above the selected path",
        ),
        pytest.param(
            [[file("x/y/a", "1")], [file("x", "")], [directory("x"), file("x/y/b", "2")]],
            "x/y",
            {"x/y/b": "2"},
            id="a file in place of a directory above the selected path",
        ),
        pytest.param(
            [[file("a", "1")], [file(".wh.b"), file("c/.wh.d")]], "", {"a": "1"}, id="whiteouts of missing files"
        ),
        pytest.param(
            [[file("a", "1"), file(".wh..wh.plnk/7", "2")]], "", {"a": "1"}, id="what old union file systems leave"
        ),
        pytest.param([[file("a", "1"), hard_link("b", "a")]], "", {"a": "1", "b": "1"}, id="a hard link"),
        pytest.param(
            [[file("a", "1")], [hard_link("b", "a"), file(".wh.a")]], "", {"b": "1"}, id="a hard link outlives its twin"
        ),
        pytest.param([[file("a", "1"), hard_link("a", "a")]], "", {"a": "1"}, id="a hard link to itself"),
        pytest.param(
            [[file("a", "1"), hard_link("b", "/a")]], "", {"a": "1", "b": "1"}, id="a hard link written from the root"
        ),
        pytest.param(
            [[file("a", "1"), hard_link("b", "a")], [file("b", "2")]], "", {"a": "1", "b": "2"}, id="writing one of two"
        ),
        pytest.param([[file("a", "1"), link("d/b", "../a")]], "", {"a": "1", "d/b": "1"}, id="a link to a file"),
        pytest.param(
            [[link("b", "/x/../a")], [file("a", "1")]],
            "",
            {"a": "1", "b": "1"},
            id="a link from the root, to a later file",
        ),
        pytest.param(
            [[link("b", "c"), link("c", "a"), file("a", "1")]], "", {"a": "1", "b": "1", "c": "1"}, id="links to links"
        ),
        pytest.param(
            [[link("d", "e"), link("b", "d/a"), file("e/a", "1")], [file(".wh.d"), file(".wh.b")]],
            "",
            {"e/a": "1"},
            id="links that a layer took away",
        ),
        pytest.param([[link("b", "a")], [file("b", "1")]], "", {"b": "1"}, id="a file in place of a link"),
        pytest.param(
            [[file("a", "1"), link("b", "a"), hard_link("c", "b")]],
            "",
            {"a": "1", "b": "1", "c": "1"},
            id="a hard link to a link",
        ),
        pytest.param([[file("a" * 255, "1")]], "", {"a" * 255: "1"}, id="the longest name"),
        pytest.param([[file("ä\n", "1")]], "", {"ä\n": "1"}, id="a name that is unusual"),
    ],
)
def test_layers_are_merged(tmp_path: Path, layers: list[list[Entry]], wanted: str, expected: dict[str, str]) -> None:
    tree = merge(tmp_path / "into", layers, (wanted,))
    assert files(tmp_path / "into") == expected
    assert tree.files == len(expected)
    assert tree.size == sum(len(content) for content in expected.values())


@pytest.mark.parametrize(
    ("layers", "reason", "words"),
    [
        pytest.param(
            [[file("../x")]], SourceReason.UNSAFE, 'contains "../x": a path outside the image', id="a path that climbs"
        ),
        pytest.param(
            [[file("x/a/../../../b")]], SourceReason.UNSAFE, "a path outside the image", id="a path that climbs later"
        ),
        pytest.param(
            [[directory("x/..")]], SourceReason.UNSAFE, "a path outside the image", id="a directory that climbs"
        ),
        pytest.param([[file("/x/a")]], SourceReason.UNSAFE, 'contains "/x/a": an absolute path', id="an absolute path"),
        pytest.param(
            [[file("/etc/a")]],
            SourceReason.UNSAFE,
            'contains "/etc/a": an absolute path',
            id="unselected ones too",
        ),
        pytest.param(
            [[file("../.wh.x")]], SourceReason.UNSAFE, "a path outside the image", id="a whiteout that climbs"
        ),
        pytest.param(
            [[file("x/.wh...")]],
            SourceReason.UNSAFE,
            "a whiteout without a name",
            id="a whiteout of the directory above",
        ),
        pytest.param(
            [[file("x/.wh.")]], SourceReason.UNSAFE, "a whiteout without a name", id="a whiteout without a name"
        ),
        pytest.param(
            [[link("x/a", "../../b")]],
            SourceReason.UNSAFE,
            'contains "x/a", a link to "../../b", which is outside the image',
            id="a link out of the image",
        ),
        pytest.param(
            [[link("x/a", "/etc/passwd")]],
            SourceReason.UNSAFE,
            "which is outside the content",
            id="a link out of the content",
        ),
        pytest.param(
            [[link("x/a", "../etc"), file("etc/b")]],
            SourceReason.UNSAFE,
            "which is outside the content",
            id="a link to what was skipped",
        ),
        pytest.param([[link("x/a", "b")]], SourceReason.UNSAFE, "which is not there", id="a link to a missing file"),
        pytest.param([[link("x/a", "")]], SourceReason.UNSAFE, "which is a directory", id="a link without a target"),
        pytest.param(
            [[link("x/a", "b"), link("x/b", "a")]], SourceReason.UNSAFE, "which is a loop", id="links in a circle"
        ),
        pytest.param(
            [[link("x/a", "d/" * 250_000)]], SourceReason.TOO_LARGE, "a link to a path too long", id="a link too long"
        ),
        pytest.param(
            [[file("x/a"), link("x/b", "./" * 1000 + "a"), *(link(f"x/{each}", "b") for each in range(12_000))]],
            SourceReason.TOO_LARGE,
            "links through more directories than are followed",
            id="many links through a long one",
        ),
        pytest.param(
            [[link("x/a", "b"), file("x/b/c")]], SourceReason.UNSAFE, "which is a directory", id="a link to a directory"
        ),
        pytest.param(
            [[link("x/a", "b"), file("x/a/c")]],
            SourceReason.UNSAFE,
            'contains something below "x/a", which is a link',
            id="a file through a link",
        ),
        pytest.param(
            [[link("x/a", "/etc")], [file("x/a/passwd")]],
            SourceReason.UNSAFE,
            "which is a link",
            id="a file through a link of a lower layer",
        ),
        pytest.param(
            [[link("x", "/etc"), file("x/passwd")]],
            SourceReason.UNSAFE,
            "which is a link",
            id="the selected path is a link",
        ),
        pytest.param([[file("x/a"), file("x/a/b")]], SourceReason.UNSAFE, "which is a file", id="a file below a file"),
        pytest.param(
            [[hard_link("x/a", "etc/shadow"), file("etc/shadow")]],
            SourceReason.UNSAFE,
            "which is not a file of the content",
            id="a hard link out of the content",
        ),
        pytest.param(
            [[hard_link("x/a", "../b")]], SourceReason.UNSAFE, "a path outside the image", id="a hard link that climbs"
        ),
        pytest.param(
            [[hard_link("x/a", "x/b")]],
            SourceReason.UNSAFE,
            "which is not a file of the content",
            id="a hard link to a missing file",
        ),
        pytest.param(
            [[directory("x/b"), hard_link("x/a", "x/b")]],
            SourceReason.UNSAFE,
            "which is not a file of the content",
            id="a hard link to a directory",
        ),
        pytest.param(
            [[file("x/a/b"), hard_link("x/a", "x/a/b")]],
            SourceReason.UNSAFE,
            "below itself",
            id="a hard link to what it replaces",
        ),
        pytest.param([[device("x/null")]], SourceReason.UNSAFE, 'contains "x/null", which is a device', id="a device"),
        pytest.param([[pipe("x/p")]], SourceReason.UNSAFE, "which is a named pipe", id="a named pipe"),
        pytest.param([[file("x/" + "a" * 256)]], SourceReason.TOO_LARGE, "a path too long", id="a name too long"),
        pytest.param(
            [[file("x/" + "a/" * 64 + "b")]],
            SourceReason.TOO_LARGE,
            "more than 64 directories deep",
            id="directories too deep",
        ),
        pytest.param(
            [[file("x/" + f"{'a' * 250}/" * 12 + "a" * 80)]],
            SourceReason.TOO_LARGE,
            "a path too long",
            id="a path that a store may not have",
        ),
        pytest.param(
            [[file("a/" * 5000 + "b")]], SourceReason.TOO_LARGE, "a path too long", id="a path too long, not selected"
        ),
        pytest.param(
            [[file("x/\udcff")]], SourceReason.UNSAFE, "a name that is not UTF-8", id="a name that is not UTF-8"
        ),
    ],
)
def test_unsafe_layers_are_refused(tmp_path: Path, layers: list[list[Entry]], reason: SourceReason, words: str) -> None:
    with pytest.raises(TreeError) as raised:
        merge(tmp_path / "into", layers, ("x",))
    assert raised.value.reason == reason
    assert words in raised.value.detail
    assert raised.value.detail.isprintable()
    files(tmp_path / "into")
    assert sorted(os.listdir(tmp_path)) == ["into", *(f"layer-{number}" for number in range(1, len(layers) + 1))]


def test_the_error_of_a_link_names_its_layer(tmp_path: Path) -> None:
    with pytest.raises(TreeError) as raised:
        merge(tmp_path / "into", [[file("a")], [link("b", "c")], [file("d")]])
    assert raised.value.layer == 2


NAME = some.sampled_from(["a", "b", "c"])
PATH = some.lists(NAME, min_size=1, max_size=3).map("/".join)
ENTRY = some.one_of(
    some.builds(file, PATH, some.text("xyz", max_size=3)),
    some.builds(directory, PATH),
    some.builds(lambda path: file(f"{path}/.wh..wh..opq"), PATH),
    some.builds(lambda path: file("/".join([*path.split("/")[:-1], ".wh." + path.split("/")[-1]])), PATH),
)


def model(layers: Iterable[Iterable[Entry]]) -> dict[str, str] | None:
    """A simple implementation of merging: apply whiteouts, then write. None if a layer has a file below a file."""
    content: dict[str, str | None] = {}
    for layer in layers:
        entries, written = list(layer), set()
        for entry in entries:
            parent, _, name = entry.name.rpartition("/")
            if name.startswith(".wh."):
                hidden = parent if name == ".wh..wh..opq" else "/".join(filter(None, [parent, name[4:]]))
                content = {
                    path: data
                    for path, data in content.items()
                    if not path.startswith(f"{hidden}/") and (path != hidden or name == ".wh..wh..opq")
                }
        for entry in entries:
            if entry.name.rpartition("/")[2].startswith(".wh."):
                continue
            above = entry.name.split("/")
            for end in range(1, len(above)):
                parent = "/".join(above[:end])
                if parent in written and content.get(parent) is not None:
                    return None
                content[parent] = None
            written.add(entry.name)
            if entry.kind == tarfile.DIRTYPE:
                content[entry.name] = None
            else:
                content = {path: data for path, data in content.items() if not path.startswith(f"{entry.name}/")}
                content[entry.name] = entry.data.decode()
    return {path: data for path, data in content.items() if data is not None}


@settings(max_examples=example_count(300), deadline=None)
@given(some.lists(some.lists(ENTRY, max_size=6), max_size=4))
@example([[directory("b/a"), file("b"), directory("b"), file("b/a/a")]])
def test_layers_are_merged_as_specified(tmp_path_factory: pytest.TempPathFactory, layers: list[list[Entry]]) -> None:
    """Whiteouts apply to lower layers only, at any position in their own layer (OCI image-spec, layer.md)."""
    into = tmp_path_factory.mktemp("model") / "into"
    expected = model(layers)
    try:
        merge(into, layers)
    except TreeError:
        assert expected is None
    else:
        assert files(into) == expected
