"""A layer, which is a tar archive, plain or compressed with gzip or zstd, is unpacked into a Tree: as a stream, member by member.

Called by image.py, and by http.py for archives, with a blob whose digest is verified. Each member is checked before the tree
gets it. The limits are those of content_limits.py. tarfile only parses headers and extracts nothing. Raises TreeError (tree.py)
with a detail that follows "layer N of image X ".
"""

from __future__ import annotations

import gzip
import queue
import re
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, NoReturn, cast

import zstandard
from isal import igzip, igzip_lib

from olmkit.sources.errors import SourceReason, quoted
from olmkit.sources.tree import Tree, TreeError

BLOCK_BYTES = 1024 * 1024
"""The bytes of one read: large enough that acquiring the GIL for each costs nothing."""
MAX_QUEUED_BLOCKS = 2
"""Blocks that wait for the consumer."""


GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE_MAGIC = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""A skippable frame; zstd:chunked may begin with one."""
MAX_ZSTD_WINDOW_BYTES = 64 * 1024**2
"""The window that a zstd frame may require: eight times the size that the format recommends and image builders use."""
MAX_EXTENDED_HEADER_BYTES = 1024**2
"""The limit of one extended header; tarfile reads it into memory."""
MAX_CONSECUTIVE_EXTENDED_HEADERS = 16
"""The limit of extended headers before one member; tarfile recurses for each."""
EXTENDED_HEADER_TYPES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
ARCHIVE_ERRORS: tuple[type[Exception], ...] = (
    *(tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError),
    cast("type[Exception]", igzip_lib.IsalError),
)
"""The exceptions for an invalid or truncated archive."""
WHITEOUT_PREFIX = ".wh."
OPAQUE_WHITEOUT = ".wh..wh..opq"
RESERVED_PREFIX = ".wh..wh."


@dataclass
class Budget:
    """The remainder of the limits for the following layers. Everything counts, selected or not."""

    bytes: int
    files: int
    noun: str = "image"
    """The name of the content in messages."""

    def take_bytes(self, count: int) -> None:
        """Raises TreeError(TooLarge)."""
        self.bytes -= count
        if self.bytes < 0:
            raise TreeError(SourceReason.TOO_LARGE, f"makes the {self.noun} larger than what is read of one")

    def take_file(self) -> None:
        """Raises TreeError(TooLarge)."""
        self.files -= 1
        if self.files < 0:
            raise TreeError(SourceReason.TOO_LARGE, "contains more files than are read of one")


def unpack(blob: IO[bytes], tree: Tree, budget: Budget) -> None:
    """Merge a layer into the tree. A thread reads and decompresses ahead while the tree handles the files."""
    member = _member_type()
    try:
        with _decompressed(blob) as read, read_ahead(read) as next_block:
            stream = _Stream(next_block, budget)
            with tarfile.open(
                mode="r:", fileobj=cast("IO[bytes]", stream), tarinfo=member, encoding="utf-8"
            ) as archive:
                kept_members: list[tarfile.TarInfo] = vars(archive)["members"]
                while (info := archive.next()) is not None:
                    kept_members.clear()  # tarfile keeps all of them, for seeking, which is not used here
                    member.extended_header_count = 0
                    budget.take_file()
                    _add_member(stream, info, tree)
    except ARCHIVE_ERRORS as error:
        raise TreeError(SourceReason.UNSUPPORTED, f"is not a complete tar archive: {error}") from error


class _Member(tarfile.TarInfo):
    extended_header_count = 0


def _member_type() -> type[_Member]:
    """A TarInfo that checks headers before tarfile acts on them. One class per layer, because it counts."""

    class Member(_Member):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Member:
            try:
                info = super().frombuf(buf, encoding, errors)
            except (tarfile.EmptyHeaderError, tarfile.EOFHeaderError):  # type: ignore[attr-defined]
                raise
            except tarfile.HeaderError as error:
                # tarfile treats an invalid header in the middle as the end of the archive.
                raise TreeError(SourceReason.UNSUPPORTED, f"is not a complete tar archive: {error}") from error
            if info.type in EXTENDED_HEADER_TYPES:
                cls.extended_header_count += 1
                if (
                    info.size > MAX_EXTENDED_HEADER_BYTES
                    or cls.extended_header_count > MAX_CONSECUTIVE_EXTENDED_HEADERS
                ):
                    raise TreeError(SourceReason.TOO_LARGE, "contains tar headers that are too large")
            if info.type == tarfile.GNUTYPE_SPARSE:
                raise TreeError(
                    SourceReason.UNSUPPORTED, f"contains {quoted(info.name)}, a sparse file: write it as a plain one"
                )
            return info

    return Member


class _Stream:
    """The blocks as a file for tarfile, forward only; their bytes are taken from the budget."""

    def __init__(self, next_block: Callable[[], bytes], budget: Budget) -> None:
        self._next_block = next_block
        self._budget = budget
        self._block = b""
        self._at = 0
        self._position = 0

    def tell(self) -> int:
        """The position: bytes read or skipped."""
        return self._position

    def seek(self, position: int) -> None:
        """Skip forward. Raises ReadError for a position before the current one."""
        if position < self._position:
            raise tarfile.ReadError("its members overlap")
        while self._position < position and self._next_part(position - self._position, keep=False) is not None:
            pass

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end."""
        parts, missing = [], size
        while missing > 0 and (part := self._next_part(missing)) is not None:
            parts.append(part)
            missing -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_some(self, limit: int) -> bytes:
        """Read at least one byte and at most `limit`, without a copy where possible. Raises ReadError at the end."""
        part = self._next_part(limit)
        if part is None:
            raise tarfile.ReadError("unexpected end of data")
        return part

    def _next_part(self, limit: int, *, keep: bool = True) -> bytes | None:
        if self._at == len(self._block):
            self._block, self._at = self._next_block(), 0
            self._budget.take_bytes(len(self._block))
            if not self._block:
                return None
        start, self._at = self._at, min(self._at + limit, len(self._block))
        self._position += self._at - start
        return self._block[start : self._at] if keep else b""


class _MemberData:
    """The bytes of one member, straight from the stream."""

    def __init__(self, stream: _Stream, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int, /) -> bytes:
        """Raises ReadError when the archive ends before its member."""
        if self._left <= 0:
            return b""
        part = self._stream.read_some(min(size, self._left))
        self._left -= len(part)
        return part


@contextmanager
def _decompressed(blob: IO[bytes]) -> Iterator[Callable[[int], bytes]]:
    """Detects the compression by the first bytes, because media types are often wrong. The blob stays open."""
    blob.seek(0)
    start = blob.read(4)
    blob.seek(0)
    if start.startswith(GZIP_MAGIC):
        with igzip.open(blob, "rb") as unzipped:  # type: ignore[no-untyped-call]
            yield unzipped.read
    elif start == ZSTD_MAGIC or ZSTD_SKIPPABLE_MAGIC.fullmatch(start):
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW_BYTES)
        with decompressor.stream_reader(blob, read_across_frames=True, closefd=False) as reader:
            yield reader.read
    else:
        yield blob.read


def _add_member(stream: _Stream, info: tarfile.TarInfo, tree: Tree) -> None:
    path = member_path(info.name, tree)
    directory, _, name = path.rpartition("/")
    if f"/{WHITEOUT_PREFIX}" in f"/{directory}":
        return  # metadata of AUFS
    if name.startswith(WHITEOUT_PREFIX):
        _white_out(tree, directory, name)
        return
    if not path or not (tree.selects(path) or tree.leads_to_selection(path)):
        return
    check_text(path)
    _operation(stream, info)(tree, path)


def _operation(stream: _Stream, info: tarfile.TarInfo) -> Callable[[Tree, str], None]:
    if info.isdir():
        return Tree.directory
    if info.isreg():
        return lambda tree, path: tree.file(path, _MemberData(stream, info.size))
    if info.issym():
        return lambda tree, path: tree.symbolic_link(path, info.linkname)
    if info.islnk():
        return lambda tree, path: tree.hard_link(path, member_path(info.linkname.lstrip("/"), tree))
    is_device = info.ischr() or info.isblk()
    return lambda tree, path: refuse_kind(path, is_device=is_device, is_pipe=info.isfifo())


def refuse_kind(path: str, *, is_device: bool, is_pipe: bool) -> NoReturn:
    """Raises TreeError for a member that is neither a file, a directory nor a link."""
    what = "a device" if is_device else "a named pipe" if is_pipe else "neither a file nor a directory"
    raise TreeError(SourceReason.UNSAFE, f"contains {quoted(path)}, which is {what}")


def _white_out(tree: Tree, directory: str, name: str) -> None:
    if name == OPAQUE_WHITEOUT:
        tree.opaque(directory)
        return
    if name.startswith(RESERVED_PREFIX):
        return
    hidden = name.removeprefix(WHITEOUT_PREFIX)
    if hidden in ("", ".", ".."):
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(name)}, a whiteout without a name")
    tree.whiteout(f"{directory}/{hidden}" if directory else hidden)


def member_path(name: str, tree: Tree) -> str:
    """The name of a member without `.` and empty parts. Raises TreeError for a path outside the image, too long or too deep."""
    if name.startswith("/"):
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(name)}: an absolute path")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(name)}: a path outside the {tree.noun}")
    size = len(name.encode(errors="surrogateescape"))
    if size > tree.limits.path or any(len(part.encode(errors="surrogateescape")) > 255 for part in parts):
        raise TreeError(SourceReason.TOO_LARGE, f"contains {quoted(name, 60)}: a path too long")
    if len(parts) > tree.limits.depth:
        raise TreeError(
            SourceReason.TOO_LARGE,
            f"contains {quoted(name, 60)}: a path more than {tree.limits.depth} directories deep",
        )
    return "/".join(parts)


def check_text(path: str) -> None:
    """Raises TreeError for a path that cannot be written as it is."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(path)}: a name that is not UTF-8") from None
    if "\0" in path:
        raise TreeError(SourceReason.UNSAFE, f"contains {quoted(path)}: a name with a NUL in it")


@contextmanager
def read_ahead(read: Callable[[int], bytes]) -> Iterator[Callable[[], bytes]]:
    """A function that returns the next block of `read`, b"" at the end, or raises what `read` raised.

    The thread has ended when the context ends.
    """
    blocks: queue.Queue[bytes | BaseException] = queue.Queue(MAX_QUEUED_BLOCKS)
    stopped = threading.Event()

    def work() -> None:
        block: bytes | BaseException = b"more"
        while block and not isinstance(block, BaseException) and not stopped.is_set():
            try:
                block = read(BLOCK_BYTES)
            except BaseException as error:  # raised again in the consumer's thread
                block = error
            blocks.put(block)

    thread = threading.Thread(target=work, name="read ahead", daemon=True)
    thread.start()
    try:
        yield lambda: _block(blocks)
    finally:
        stopped.set()
        while thread.is_alive():
            try:
                blocks.get(timeout=0.01)
            except queue.Empty:
                continue
        thread.join()


def _block(blocks: queue.Queue[bytes | BaseException]) -> bytes:
    block = blocks.get()
    if isinstance(block, BaseException):
        blocks.put(block)  # the next call raises it too
        raise block
    if not block:
        blocks.put(block)
    return block
