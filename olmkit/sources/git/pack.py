"""A pack that a git server sent becomes objects by hash: commits and trees in memory, files in one spool on disk.

Called by git.py with a pack in a file. dulwich inflates and applies deltas; here every size that a pack claims is judged before
memory is given for it, and every object goes by the hash that was computed of it, never by one that a server told.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from dulwich.errors import ApplyDeltaError, ObjectFormatException
from dulwich.object_format import ObjectFormat
from dulwich.objects import parse_tree
from dulwich.pack import (
    DeltaChainIterator,
    UnpackedObject,
    UnresolvedDeltas,
    apply_delta,
    read_pack_header,
    unpack_object,
)

from olmkit.sources.errors import SourceReason

COMMIT, TREE, FILE, TAG, OFS_DELTA, REF_DELTA = 1, 2, 3, 4, 6, 7
HEADER_BYTES = 12
MAX_NUMBER_BYTES = 10
"""The longest number in a pack's header; the format itself knows no end."""
MAX_TAG_DEPTH = 5
PACK_ERRORS = (
    zlib.error,
    struct.error,
    ApplyDeltaError,
    UnresolvedDeltas,
    ObjectFormatException,
    AssertionError,
    ValueError,
    TypeError,
    LookupError,
)
"""What dulwich raises for packs and objects that are not what they should be."""


class PackError(Exception):
    """`words` fit "git repository X ..."."""

    def __init__(self, reason: SourceReason, words: str) -> None:
        super().__init__(words)
        self.reason = reason
        self.detail = words


@dataclass(frozen=True)
class PackLimits:
    """What one pack may hold. `bytes` is for what it inflates to, and again for that with all deltas applied."""

    bytes: int
    objects: int
    one: int = 128 * 1024**2
    """Bytes of one object; it is held in memory, with the one it differs from."""
    shape: int = 64 * 1024**2
    """Bytes of all commits, trees and tags together; they are held in memory."""


@dataclass
class PackObjects:
    """What a pack held, by hash."""

    kind: ObjectFormat
    spool: IO[bytes]
    shapes: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    """Commits, trees and tags: type and text."""
    files: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """Where each file is in the spool: offset and length."""

    def has(self, name: bytes) -> bool:
        """Whether there is an object of any kind."""
        return name in self.shapes or name in self.files

    def root(self, name: bytes) -> bytes | None:
        """The tree of a commit, or of the commit that a tag means; None when it is not here or no commit."""
        for _ in range(MAX_TAG_DEPTH):
            kind, text = self.shapes.get(name, (0, b""))
            first = text.partition(b"\n")[0]
            if kind == COMMIT and first.startswith(b"tree "):
                return _unhexed(first[5:])
            if kind != TAG or not first.startswith(b"object "):
                return None
            name = _unhexed(first[7:])
        return None

    def tree(self, name: bytes) -> Iterator[tuple[bytes, int, bytes]] | None:
        """Names, modes and hashes in a folder; None when it is not here. Reading it may raise one of BROKEN."""
        kind, text = self.shapes.get(name, (0, b""))
        if kind != TREE:
            return None
        entries = parse_tree(text, self.kind.oid_length, strict=True)
        return ((entry, mode, _unhexed(value)) for entry, mode, value in entries)

    def file(self, name: bytes) -> FileSlice | None:
        """A file's bytes, to be read before the next one is asked for; None when it is not here."""
        place = self.files.get(name)
        return FileSlice(self.spool, *place) if place is not None else None


class FileSlice:
    """A part of a file, read like a file."""

    def __init__(self, file: IO[bytes], offset: int, length: int) -> None:
        self._file = file
        self._left = length
        file.seek(offset)

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; b"" at the end."""
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def read_pack(
    pack: IO[bytes], spool: IO[bytes], kind: ObjectFormat, limits: PackLimits, progress: Callable[[str], None]
) -> PackObjects:
    """All objects of a pack; files are written to the spool. Raises PackError."""
    objects = PackObjects(kind, spool)
    try:
        reader = _Reader(pack, kind, limits)
        reader.scan()
        written = room = 0
        for number, read in enumerate(reader, start=1):
            chunks = read.obj_chunks or []
            if read.obj_type_num == FILE:
                length = sum(spool.write(chunk) for chunk in chunks)
                objects.files[read.sha()] = (written, length)
                written += length
            else:
                text = b"".join(chunks)
                room += len(text)
                if room > limits.shape:
                    raise PackError(
                        SourceReason.TOO_LARGE, f"has more than {limits.shape:,} bytes of folders and history"
                    )
                objects.shapes[read.sha()] = (read.obj_type_num or 0, text)
            if number % 1000 == 0:
                progress(f"reading {number} of {reader.count} objects")
    except PACK_ERRORS as error:
        words = "sends a pack that cannot be read: it is broken or cut off"
        raise PackError(SourceReason.SOURCE_UNAVAILABLE, words) from error
    spool.flush()
    return objects


class _Reader(DeltaChainIterator[UnpackedObject]):
    """Objects in an order in which each comes after the one it differs from."""

    def __init__(self, pack: IO[bytes], kind: ObjectFormat, limits: PackLimits) -> None:
        super().__init__(pack, kind.hash_func)
        self._pack = pack
        self._limits = limits
        self._total = 0
        self.count = 0

    def scan(self) -> None:
        """Note where each object begins; nothing in a pack says so."""
        self._pack.seek(0)
        _, self.count = read_pack_header(self._pack.read)
        if self.count > self._limits.objects:
            words = f"has {self.count:,} files and folders with those of its history; at most {self._limits.objects:,} are read"
            raise PackError(SourceReason.TOO_LARGE, words)
        end = HEADER_BYTES
        for _ in range(self.count):
            found, end = self._inflate(end)
            self._count(found.decomp_len or 0)
            self.record(found)
        self._total = 0

    def _resolve_object(
        self, offset: int, obj_type_num: int, base_chunks: bytes | list[bytes] | None
    ) -> UnpackedObject:
        found, _ = self._inflate(offset)
        if base_chunks is None:
            self._count(found.decomp_len or 0)
            return found
        size = _result_size(found.decomp_chunks)
        self._judge(size)
        self._count(size)
        found.obj_type_num = obj_type_num
        found.obj_chunks = apply_delta(base_chunks, found.decomp_chunks)
        return found

    def _result(self, unpacked: UnpackedObject) -> UnpackedObject:
        return unpacked

    def _inflate(self, offset: int) -> tuple[UnpackedObject, int]:
        """The object at an offset, its deltas not applied, and the offset behind it."""
        self._pack.seek(offset)
        head = self._pack.read(2 * MAX_NUMBER_BYTES)
        self._judge(_claimed_size(head))
        self._pack.seek(offset)
        found, rest = unpack_object(self._pack.read, self.hash_func, zlib_bufsize=4096)
        found.offset = offset
        return found, self._pack.tell() - len(rest)

    def _judge(self, size: int) -> None:
        if size > self._limits.one:
            words = f"holds a file of {size:,} bytes; at most {self._limits.one:,} are read of one, more than that needs an image"
            raise PackError(SourceReason.TOO_LARGE, words)

    def _count(self, size: int) -> None:
        self._total += size
        if self._total > self._limits.bytes:
            raise PackError(
                SourceReason.TOO_LARGE, f"holds more than {self._limits.bytes:,} bytes, the most that is read"
            )


def _claimed_size(head: bytes) -> int:
    """What the header of an object says it inflates to. Raises ValueError and IndexError."""
    kind, size = (head[0] >> 4) & 7, head[0] & 15
    at, shift = 0, 4
    while head[at] & 0x80:
        at += 1
        size |= (head[at] & 0x7F) << shift
        shift += 7
        if at > MAX_NUMBER_BYTES:
            raise ValueError("a size without end")
    if kind == OFS_DELTA:
        _number(head, at + 1)  # an offset without end is as bad
    return size


def _result_size(delta: list[bytes]) -> int:
    """How long a delta says its result is. Raises ValueError and IndexError."""
    head = b""
    for chunk in delta:
        head += chunk[: 2 * MAX_NUMBER_BYTES]
        if len(head) >= 2 * MAX_NUMBER_BYTES:
            break
    _, at = _number(head, 0)
    return _number(head, at)[0]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of 7 bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
        if shift > 7 * MAX_NUMBER_BYTES:
            raise ValueError("a number without end")


def _unhexed(text: bytes) -> bytes:
    return bytes.fromhex(text.decode("ascii"))
