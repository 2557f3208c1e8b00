"""The files of an image, merged from its layers: only regular files and folders, only below the wanted paths.

Filled by layers.py, finished by image.py. The shape of the tree is kept in memory and decides; storage.py puts the files onto the
disk or elsewhere. There is never a link there, so no path can lead anywhere else: symbolic links are noted and become second
names of the files they mean when all layers are in.

Every method takes paths relative to the image's root, already checked to have no `..`, and raises TreeError with words that fit
"layer N of image X ...".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.sources.errors import SourceReason, quoted
from olmkit.sources.tree_storage import ByteReader, DiskStorage, TreeStorage

MAX_LINK_HOPS = 40
FOLDER_BYTES = 4096
"""What a folder takes of the bytes: about its share of a disk, and more than its name takes of memory."""


class TreeError(Exception):
    """`reason` for the machine, `words` for the sentence, `layer` when it is not the one at hand."""

    def __init__(self, reason: SourceReason, words: str, layer: int | None = None) -> None:
        super().__init__(words)
        self.reason = reason
        self.detail = words
        self.layer = layer


@dataclass(frozen=True)
class ContentLimits:
    """What one image may hold, all layers together, wanted or not."""

    bytes: int = 4 * 1024**3
    """After decompression; a folder counts as FOLDER_BYTES."""
    files: int = 100_000
    """Entries of any kind, and folders that no entry names."""
    path: int = 4096
    """Bytes of one path."""
    depth: int = 64
    """Folders in one path."""


CATALOG_LIMITS = ContentLimits()
BUNDLE_LIMITS = ContentLimits(bytes=256 * 1024**2)


@dataclass(eq=False)
class TreeNode:
    """A folder (`children` is a dict), a symbolic link (`target`) or a file, and the layer that last wrote it."""

    layer: int
    children: dict[str, TreeNode] | None = None
    target: str | None = None
    size: int = 0


class _Counted:
    """What a file yields, counted as its node's size and within the limits."""

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
    """The image below `into`, an empty folder, or in a storage.

    `wanted` are paths without slashes at the ends, "" is everything.
    """

    destination: Path | TreeStorage
    selection: Sequence[str]
    limits: ContentLimits
    layer: int = 0
    """The number of the layer at hand, counted from 1; the caller moves it on."""
    files: int = 0
    size: int = 0
    """Bytes of all files."""
    folders: int = 0
    """Folders that were made, those that are gone again as well: each was work."""
    noun: str = "image"
    """What sentences call that which holds the files."""
    _root: TreeNode = field(default_factory=lambda: TreeNode(0, {}))
    _hidden: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._storage: TreeStorage = (
            DiskStorage(self.destination) if isinstance(self.destination, Path) else self.destination
        )

    @property
    def scratch(self) -> Path:
        """Where files without a name may be made meanwhile."""
        return self._storage.folder

    def selects(self, path: str) -> bool:
        """Whether what stands at this path is part of the content."""
        return any(not top or path == top or path.startswith(f"{top}/") for top in self.selection)

    def leads_to_selection(self, path: str) -> bool:
        """Whether wanted content lies below this path."""
        return not path or any(top.startswith(f"{path}/") for top in self.selection)

    def folder(self, path: str) -> None:
        """A folder; one that is there stays, with what it holds."""
        if not self.selects(path):
            if self.leads_to_selection(path) and self._child(path) is not None:
                self._make_folders(path, replace=True)
            return
        self._make_folders(path, replace=True).layer = self.layer

    def file(self, path: str, data: ByteReader) -> None:
        """A regular file; whatever stood there before is gone. `data` is read to its end or not at all."""
        node = self._replace(path)
        if self.selects(path):
            self._storage.write(path, _Counted(data, node, self._count_bytes))
            self.files += 1

    def symbolic_link(self, path: str, target: str) -> None:
        """Noted; `finish` says whether it leads somewhere."""
        self._replace(path).target = target

    def hard_link(self, path: str, target: str) -> None:
        """A second name of a file that is there already."""
        if not self.selects(path):
            self._replace(path)
            return
        source = self._child(target)
        if not self.selects(target) or source is None or source.children is not None:
            words = f"holds {quoted(path)}, a hard link to {quoted(target)}, which is no file of the content"
            raise TreeError(SourceReason.UNSAFE, words)
        if source.target is not None:
            self.symbolic_link(path, source.target)
            return
        if source is self._child(path):
            return
        self._link(path, target, source)

    def whiteout(self, path: str) -> None:
        """What lower layers have at this path is gone."""
        if self._first_time(path):
            self._hide(path, also_itself=True)

    def opaque(self, path: str) -> None:
        """What lower layers have below this folder is gone."""
        if self._first_time(f"{path}/"):
            self._hide(path, also_itself=False)

    def finish(self) -> None:
        """Give every symbolic link the file it means; after that, the tree on disk is complete."""
        links = [
            (path, node) for path, node in self._walk(self._root, "") if node.target is not None and self.selects(path)
        ]
        for path, node in links:
            source_path, source = self._resolve(path, node)
            self._storage.link(path, source_path)
            self.files += 1
            self._count_bytes(source.size)

    def has(self, path: str) -> bool:
        """Whether a file, a folder or a link stands there."""
        return self._child(path) is not None

    def has_folder(self, path: str) -> bool:
        """Whether a folder stands there."""
        node = self._child(path)
        return node is not None and node.children is not None

    def _link(self, path: str, target: str, source: TreeNode) -> None:
        node = self._replace(path)
        if not self.has(target):  # replacing the path took the target with it
            raise TreeError(SourceReason.UNSAFE, f"holds {quoted(path)}, a hard link to something below itself")
        node.size = source.size
        self._storage.link(path, target)
        self.files += 1
        self._count_bytes(source.size)

    def _count_bytes(self, count: int) -> None:
        self.size += count
        self._check_limits()

    def _check_limits(self) -> None:
        limits = self.limits
        if self.size + self.folders * FOLDER_BYTES > limits.bytes:
            included = ", folders included" if self.folders * FOLDER_BYTES > self.size else ""
            words = f"makes the content larger than {limits.bytes:,} bytes{included}, the most that is read"
            raise TreeError(SourceReason.TOO_LARGE, words)
        if self.files + self.folders > limits.files:
            words = f"makes the content more than {limits.files:,} files and folders, the most that are read"
            raise TreeError(SourceReason.TOO_LARGE, words)

    def _child(self, path: str) -> TreeNode | None:
        node: TreeNode | None = self._root
        for part in path.split("/") if path else ():
            node = node.children.get(part) if node is not None and node.children is not None else None
        return node

    def _make_folders(self, path: str, *, replace: bool = False) -> TreeNode:
        """The folder at this path, and those above it.

        A file of a lower layer gives way; with `replace` so does whatever stands at the path's end. Nothing goes through a link.
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
                    raise TreeError(SourceReason.UNSAFE, f"holds something below {quoted(walked)}, which is {what}")
                self._remove(node, part, walked)
                child = None
            if child is None:
                self.folders += 1
                self._check_limits()
                child = node.children[part] = TreeNode(self.layer, {})
                self._storage.make_folder(walked)
            node = child
        return node

    def _replace(self, path: str) -> TreeNode:
        """A new node at this path; nothing is on disk there any more."""
        parent_path, _, name = path.rpartition("/")
        parent = self._make_folders(parent_path)
        assert parent.children is not None
        if name in parent.children:
            self._remove(parent, name, path)
        node = parent.children[name] = TreeNode(self.layer)
        return node

    def _remove(self, parent: TreeNode, name: str, path: str) -> None:
        """Take a node and everything below it away, on disk too."""
        assert parent.children is not None
        node = parent.children.pop(name)
        if node.children is not None:
            for child in list(node.children):
                self._remove(node, child, f"{path}/{child}")
            self._storage.remove_folder(path)
        elif node.target is None and self.selects(path):
            self._storage.remove(path)
            self.files -= 1
            self.size -= node.size

    def _first_time(self, path: str) -> bool:
        """Hiding twice in a layer hides nothing more; a layer of repetitions must not cost its square."""
        before = len(self._hidden)
        self._hidden.add((self.layer, path))
        return len(self._hidden) > before

    def _hide(self, path: str, *, also_itself: bool) -> None:
        node = self._child(path)
        if node is None:
            return
        if node.children is not None:
            for name in list(node.children):
                self._hide(f"{path}/{name}" if path else name, also_itself=True)
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
        """The file a link means, within the image: an absolute target starts at the image's root."""
        todo = [*reversed((link.target or "").split("/"))]
        done = [] if (link.target or "").startswith("/") else path.split("/")[:-1]
        hops = 0
        while todo:
            part = todo.pop()
            if part == ".." and not done:
                raise self._bad_link(path, link, f"which is outside the {self.noun}")
            if part in ("", ".", ".."):
                done = done[:-1] if part == ".." else done
                continue
            done.append(part)
            node = self._child("/".join(done))
            if node is not None and node.target is not None:
                hops += 1
                if hops > MAX_LINK_HOPS:
                    raise self._bad_link(path, link, "which never ends")
                todo += reversed(node.target.split("/"))
                done = [] if node.target.startswith("/") else done[:-1]
        return self._meant(path, link, "/".join(done))

    def _meant(self, path: str, link: TreeNode, target: str) -> tuple[str, TreeNode]:
        node = self._child(target)
        if not self.selects(target):
            raise self._bad_link(path, link, "which is outside the content")
        if node is None:
            raise self._bad_link(path, link, "which is not there")
        if node.children is not None:
            raise self._bad_link(path, link, "which is a folder: only links to files are followed")
        return target, node

    def _bad_link(self, path: str, link: TreeNode, why: str) -> TreeError:
        return TreeError(
            SourceReason.UNSAFE, f"holds {quoted(path)}, a link to {quoted(link.target or '')}, {why}", link.layer
        )
