"""The files of an image, merged from its layers, or those of a commit or an archive: regular files and directories only.

Filled by oci/layers.py, git/checkout.py and open.py, and completed by finish(). The structure of the tree is kept in memory;
tree_storage.py stores the files below the selected paths, and content_limits.py says how large all of it may be. No symbolic link
is ever created, so no path can lead elsewhere: links are recorded, and finish() makes them hard links to their targets.

All paths are relative to the root of the content and have no `..`. The detail of a TreeError follows "layer N of image X ".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.sources.content_limits import ContentLimits
from olmkit.sources.errors import SourceReason, quoted
from olmkit.sources.tree_storage import ByteReader, DiskStorage, TreeStorage

MAX_LINK_HOPS = 40
MAX_LINK_PARTS = 10_000_000
"""The limit of the parts of paths that all links together lead through: a few seconds of work."""


class TreeError(Exception):
    """`detail` is the rest of the message; `layer` is the number of the layer, when it is not the current one."""

    def __init__(self, reason: SourceReason, words: str, layer: int | None = None) -> None:
        super().__init__(words)
        self.reason = reason
        self.detail = words
        self.layer = layer


@dataclass(eq=False)
class TreeNode:
    """A directory (`children` is a dict), a symbolic link (`target`) or a file; `layer` last wrote it."""

    layer: int
    children: dict[str, TreeNode] | None = None
    target: str | None = None
    size: int = 0


class _CountingReader:
    """Reads a file and counts its bytes for its node and for the limits."""

    def __init__(self, data: ByteReader, node: TreeNode, count: Callable[[int], None]) -> None:
        self._data = data
        self._node = node
        self._count = count

    def read(self, size: int, /) -> bytes:
        """Raises TreeError(TooLarge)."""
        chunk = self._data.read(size)
        self._node.size += len(chunk)
        self._count(len(chunk))
        return chunk


@dataclass
class Tree:
    """The content below `destination`, an empty directory, or in a storage.

    `selection` are paths without slashes at the ends; "" selects everything.
    """

    destination: Path | TreeStorage
    selection: Sequence[str]
    limits: ContentLimits
    layer: int = 0
    """The number of the current layer, from 1; the caller sets it."""
    files: int = 0
    size: int = 0
    """Bytes of all files."""
    directories: int = 0
    """Directories that were made, including those that were removed again."""
    noun: str = "image"
    """The name of the content in messages."""
    left_out: list[str] | None = None
    """If it is a list, links that lead to no file of the content are left out, and a sentence about each is added to it."""
    _root: TreeNode = field(default_factory=lambda: TreeNode(0, {}))
    _whiteouts_seen: set[tuple[int, str]] = field(default_factory=set)
    _link_parts: int = 0

    def __post_init__(self) -> None:
        self._storage: TreeStorage = (
            DiskStorage(self.destination) if isinstance(self.destination, Path) else self.destination
        )

    @property
    def scratch(self) -> Path:
        """A directory for temporary files without a name."""
        return self._storage.directory

    def selects(self, path: str) -> bool:
        """Report whether this path is selected."""
        return any(not top or path == top or path.startswith(f"{top}/") for top in self.selection)

    def leads_to_selection(self, path: str) -> bool:
        """Report whether a selected path is below this one."""
        return not path or any(top.startswith(f"{path}/") for top in self.selection)

    def directory(self, path: str) -> None:
        """Add a directory; an existing one keeps its files."""
        if not self.selects(path):
            if self.leads_to_selection(path) and self._child(path) is not None:
                self._make_directories(path, replace=True)
            return
        self._make_directories(path, replace=True).layer = self.layer

    def file(self, path: str, data: ByteReader) -> None:
        """Add a regular file, in place of what was at the path. `data` is read to its end or not at all."""
        node = self._replace(path)
        if self.selects(path):
            self._storage.write(path, _CountingReader(data, node, self._count_bytes))
            self.files += 1

    def symbolic_link(self, path: str, target: str) -> None:
        """Record a symbolic link; finish() resolves it. Raises TreeError(TooLarge) for a target that is no path of a file."""
        if len(target.encode(errors="surrogateescape")) > self.limits.path:
            raise TreeError(SourceReason.TOO_LARGE, f"contains {quoted(path)}, a link to a path too long")
        self._replace(path).target = target

    def hard_link(self, path: str, target: str) -> None:
        """Add a hard link to a file that exists already."""
        if not self.selects(path):
            self._replace(path)
            return
        source = self._child(target)
        if not self.selects(target) or source is None or source.children is not None:
            words = f"contains {quoted(path)}, a hard link to {quoted(target)}, which is not a file of the content"
            raise TreeError(SourceReason.UNSAFE, words)
        if source.target is not None:
            self.symbolic_link(path, source.target)
            return
        if source is self._child(path):
            return
        self._link(path, target, source)

    def whiteout(self, path: str) -> None:
        """Remove what lower layers have at this path."""
        if self._is_first_whiteout(path):
            self._remove_lower(path, also_itself=True)

    def opaque(self, path: str) -> None:
        """Remove what lower layers have below this directory."""
        if self._is_first_whiteout(f"{path}/"):
            self._remove_lower(path, also_itself=False)

    def finish(self) -> None:
        """Make every symbolic link a hard link to its target. The content is complete then."""
        links = [
            (path, node) for path, node in self._walk(self._root, "") if node.target is not None and self.selects(path)
        ]
        for path, node in links:
            try:
                source_path, source = self._resolve(path, node)
            except TreeError as error:
                if self.left_out is None or error.reason != SourceReason.UNSAFE:
                    raise
                self.left_out.append(error.detail)
                continue
            self._storage.link(path, source_path)
            self.files += 1
            self._count_bytes(source.size)

    def missing_content(self) -> str:
        """Explain, after the name of the content, which selected path it lacks; "" if it has all."""
        missing = next((top for top in self.selection if top and not self.has(top)), "")
        return f"has no content at {quoted('/' + missing)}, where its content should be" if missing else ""

    def has(self, path: str) -> bool:
        """Report whether there is a file, a directory or a link."""
        return self._child(path) is not None

    def has_directory(self, path: str) -> bool:
        """Report whether there is a directory."""
        node = self._child(path)
        return node is not None and node.children is not None

    def _link(self, path: str, target: str, source: TreeNode) -> None:
        node = self._replace(path)
        if not self.has(target):  # the target was below the replaced path
            raise TreeError(SourceReason.UNSAFE, f"contains {quoted(path)}, a hard link to something below itself")
        node.size = source.size
        self._storage.link(path, target)
        self.files += 1
        self._count_bytes(source.size)

    def _count_bytes(self, count: int) -> None:
        self.size += count
        self._check_limits()

    def _check_limits(self) -> None:
        """Raises TreeError(TooLarge)."""
        if words := self.limits.excess(self.size, self.files, self.directories):
            raise TreeError(SourceReason.TOO_LARGE, f"makes the content {words}")

    def _child(self, path: str) -> TreeNode | None:
        node: TreeNode | None = self._root
        for part in path.split("/") if path else ():
            node = _below(node, part)
        return node

    def _make_directories(self, path: str, *, replace: bool = False) -> TreeNode:
        """The directory at this path, and those above it.

        Files of lower layers are replaced, and with `replace` whatever is at the end of the path. Links are not followed.
        """
        node, walked = self._root, ""
        for part in path.split("/") if path else ():
            assert node.children is not None
            walked = f"{walked}/{part}" if walked else part
            child = node.children.get(part)
            if child is not None and child.children is None:
                is_link = child.target is not None
                if (is_link or child.layer == self.layer) and not (replace and walked == path):
                    what = "a link" if is_link else "a file"
                    raise TreeError(SourceReason.UNSAFE, f"contains something below {quoted(walked)}, which is {what}")
                self._remove(node, part, walked)
                child = None
            if child is None:
                self.directories += 1
                self._check_limits()
                child = node.children[part] = TreeNode(self.layer, {})
                self._storage.make_directory(walked)
            node = child
        return node

    def _replace(self, path: str) -> TreeNode:
        """A new node at this path, after what was there has been removed."""
        parent_path, _, name = path.rpartition("/")
        parent = self._make_directories(parent_path)
        assert parent.children is not None
        if name in parent.children:
            self._remove(parent, name, path)
        node = parent.children[name] = TreeNode(self.layer)
        return node

    def _remove(self, parent: TreeNode, name: str, path: str) -> None:
        """Remove a node and everything below it, from the storage too."""
        assert parent.children is not None
        node = parent.children.pop(name)
        if node.children is not None:
            for child in list(node.children):
                self._remove(node, child, f"{path}/{child}")
            self._storage.remove_directory(path)
        elif node.target is None and self.selects(path):
            self._storage.remove(path)
            self.files -= 1
            self.size -= node.size

    def _is_first_whiteout(self, path: str) -> bool:
        """Report whether the whiteout is the first of its kind in the layer: repeated whiteouts must not take quadratic time."""
        before = len(self._whiteouts_seen)
        self._whiteouts_seen.add((self.layer, path))
        return len(self._whiteouts_seen) > before

    def _remove_lower(self, path: str, *, also_itself: bool) -> None:
        node = self._child(path)
        if node is None:
            return
        if node.children is not None:
            for name in list(node.children):
                self._remove_lower(f"{path}/{name}" if path else name, also_itself=True)
        if also_itself and path and node.layer < self.layer and not node.children:
            parent_path, _, name = path.rpartition("/")
            parent = self._child(parent_path)
            assert parent is not None
            self._remove(parent, name, path)

    def _walk(self, node: TreeNode, path: str) -> Iterator[tuple[str, TreeNode]]:
        for name, child in sorted((node.children or {}).items()):
            below = f"{path}/{name}" if path else name
            yield below, child
            yield from self._walk(child, below)

    def _resolve(self, path: str, link: TreeNode) -> tuple[str, TreeNode]:
        """The path and node of a link's target; an absolute target starts at the root of the content."""
        remaining, hops = [*reversed((link.target or "").split("/"))], 0
        resolved = [] if (link.target or "").startswith("/") else self._named(path)[:-1]
        while remaining:
            self._take_link_part()
            part = remaining.pop()
            if part == ".." and not resolved:
                raise self._link_error(path, link, f"which is outside the {self.noun}")
            if part in ("", ".", ".."):
                if part == "..":
                    resolved.pop()
                continue
            node = _below(resolved[-1][1] if resolved else self._root, part)
            if node is None or node.target is None:
                resolved.append((part, node))
                continue
            hops += 1
            if hops > MAX_LINK_HOPS:
                raise self._link_error(path, link, "which is a loop")
            remaining += reversed(node.target.split("/"))
            resolved = [] if node.target.startswith("/") else resolved
        return self._check_target(path, link, "/".join(name for name, _ in resolved))

    def _named(self, path: str) -> list[tuple[str, TreeNode | None]]:
        """The parts of a path, each with its node."""
        found: list[tuple[str, TreeNode | None]] = []
        node: TreeNode | None = self._root
        for part in path.split("/"):
            node = _below(node, part)
            found.append((part, node))
        return found

    def _take_link_part(self) -> None:
        """Raises TreeError(TooLarge)."""
        self._link_parts += 1
        if self._link_parts > MAX_LINK_PARTS:
            raise TreeError(SourceReason.TOO_LARGE, "contains links through more directories than are followed")

    def _check_target(self, path: str, link: TreeNode, target: str) -> tuple[str, TreeNode]:
        node = self._child(target)
        if not self.selects(target):
            raise self._link_error(path, link, "which is outside the content")
        if node is None:
            raise self._link_error(path, link, "which is not there")
        if node.children is not None:
            raise self._link_error(path, link, "which is a directory: only links to files are followed")
        return target, node

    def _link_error(self, path: str, link: TreeNode, why: str) -> TreeError:
        return TreeError(
            SourceReason.UNSAFE, f"contains {quoted(path)}, a link to {quoted(link.target or '')}, {why}", link.layer
        )


def _below(node: TreeNode | None, name: str) -> TreeNode | None:
    """The child of this name; None if there is none."""
    return node.children.get(name) if node is not None and node.children is not None else None
