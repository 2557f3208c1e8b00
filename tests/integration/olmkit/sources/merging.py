"""Merges layers into a directory and lists the result, for the tests of tree.py and layers.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from olmkit.sources.content_limits import CATALOG_LIMITS, ContentLimits
from olmkit.sources.oci.layers import Budget, unpack
from olmkit.sources.tree import Tree
from tests.images import Entry, tar


def merge(
    into: Path,
    layers: Iterable[Sequence[Entry] | bytes],
    selection: Sequence[str] = ("",),
    limits: ContentLimits = CATALOG_LIMITS,
) -> Tree:
    """Merge layers, lowest first, below `into`."""
    into.mkdir(exist_ok=True)
    tree = Tree(into, selection, limits)
    budget = Budget(limits.bytes, limits.files)
    for number, layer in enumerate(layers, start=1):
        tree.layer = number
        blob = into.parent / f"layer-{number}"
        blob.write_bytes(layer if isinstance(layer, bytes) else tar(layer))
        with blob.open("rb") as opened:
            unpack(opened, tree, budget)
    tree.finish()
    return tree


def files(root: Path) -> dict[str, str]:
    """The text of every file by its path; asserts that there are only files and directories."""
    found = {}
    for path in root.rglob("*"):
        assert not path.is_symlink()
        assert path.is_dir() or path.is_file()
        if path.is_file():
            found[path.relative_to(root).as_posix()] = path.read_text()
    return found
