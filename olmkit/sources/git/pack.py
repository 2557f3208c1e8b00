"""Reads a pack of a git server into objects by hash: commits and trees in memory, the contents of files in one file on disk.

Each size in the pack is checked before memory is allocated for it, and the hash of each object is computed here, never taken from
the server.
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
MAX_VARINT_BYTES = 10
"""The longest number in the header of an object; the format has no limit."""
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
"""The exceptions of dulwich for invalid packs and objects."""


class PackError(Exception):
    """`detail` follows "git repository X "."""

    def __init__(self, reason: SourceReason, words: str) -> None:
        super().__init__(words)
        self.reason = reason
        self.detail = words


@dataclass(frozen=True)
class PackLimits:
    """Limits of one pack. `bytes` applies to the decompressed objects, and again to the objects with deltas applied."""

    bytes: int
    objects: int
    object_bytes: int = 128 * 1024**2
    """Bytes of one object, which is kept in memory together with its delta base."""
    structure_bytes: int = 64 * 1024**2
    """Bytes of all commits, trees and tags together, which are kept in memory."""


@dataclass
class PackObjects:
    """The objects of a pack, by hash."""

    kind: ObjectFormat
    spool: IO[bytes]
    structures: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    """Commits, trees and tags: type and text."""
    files: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """Offset and length of each file in the spool."""

    def has(self, name: bytes) -> bool:
        """Report whether the pack has an object with this hash."""
        return name in self.structures or name in self.files

    def root(self, name: bytes) -> bytes | None:
        """The tree of a commit, or of the commit that a tag points to; None when it is missing or not a commit."""
        for _ in range(MAX_TAG_DEPTH):
            kind, text = self.structures.get(name, (0, b""))
            first = text.partition(b"\n")[0]
            if kind == COMMIT and first.startswith(b"tree "):
                return _from_hex(first[5:])
            if kind != TAG or not first.startswith(b"object "):
                return None
            name = _from_hex(first[7:])
        return None

    def tree(self, name: bytes) -> Iterator[tuple[bytes, int, bytes]] | None:
        """Names, modes and hashes of a tree; None when it is missing. Iterating may raise one of PACK_ERRORS."""
        kind, text = self.structures.get(name, (0, b""))
        if kind != TREE:
            return None
        entries = parse_tree(text, self.kind.oid_length, strict=True)
        return ((entry, mode, _from_hex(value)) for entry, mode, value in entries)

    def file(self, name: bytes) -> FileSlice | None:
        """The bytes of a file, valid until the next call; None when it is missing."""
        place = self.files.get(name)
        return FileSlice(self.spool, *place) if place is not None else None


class FileSlice:
    """A section of a file, read like a file."""

    def __init__(self, file: IO[bytes], offset: int, length: int) -> None:
        self._file = file
        self._left = length
        file.seek(offset)

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes; b"" at the end."""
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def read_pack(
    pack: IO[bytes], spool: IO[bytes], kind: ObjectFormat, limits: PackLimits, progress: Callable[[str], None]
) -> PackObjects:
    """Parse a pack. The contents of files are written to the spool. Raises PackError."""
    objects = PackObjects(kind, spool)
    try:
        reader = _Reader(pack, kind, limits)
        reader.scan()
        written = structure_size = 0
        for number, read in enumerate(reader, start=1):
            chunks = read.obj_chunks or []
            if read.obj_type_num == FILE:
                length = sum(spool.write(chunk) for chunk in chunks)
                objects.files[read.sha()] = (written, length)
                written += length
            else:
                text = b"".join(chunks)
                structure_size += len(text)
                if structure_size > limits.structure_bytes:
                    raise PackError(
                        SourceReason.TOO_LARGE,
                        f"has more than {limits.structure_bytes:,} bytes of directories and history",
                    )
                objects.structures[read.sha()] = (read.obj_type_num or 0, text)
            if number % 1000 == 0:
                progress(f"reading {number} of {reader.count} objects")
    except PACK_ERRORS as error:
        words = "sent a pack that cannot be read: it is corrupt or truncated"
        raise PackError(SourceReason.SOURCE_UNAVAILABLE, words) from error
    spool.flush()
    return objects


class _Reader(DeltaChainIterator[UnpackedObject]):
    """Iterates over objects in an order in which delta bases come first."""

    def __init__(self, pack: IO[bytes], kind: ObjectFormat, limits: PackLimits) -> None:
        super().__init__(pack, kind.hash_func)
        self._pack = pack
        self._limits = limits
        self._total = 0
        self.count = 0

    def scan(self) -> None:
        """Find the offset of each object; a pack has no index."""
        self._pack.seek(0)
        _, self.count = read_pack_header(self._pack.read)
        if self.count > self._limits.objects:
            most = f"at most {self._limits.objects:,} are read"
            words = f"has {self.count:,} files and directories with those of its history; {most}"
            raise PackError(SourceReason.TOO_LARGE, words)
        end = HEADER_BYTES
        for _ in range(self.count):
            found, end = self._read_object(end)
            self._count_bytes(found.decomp_len or 0)
            self.record(found)
        self._total = 0

    def _resolve_object(
        self, offset: int, obj_type_num: int, base_chunks: bytes | list[bytes] | None
    ) -> UnpackedObject:
        found, _ = self._read_object(offset)
        if base_chunks is None:
            self._count_bytes(found.decomp_len or 0)
            return found
        size = _result_size(found.decomp_chunks)
        self._check_size(size)
        self._count_bytes(size)
        found.obj_type_num = obj_type_num
        found.obj_chunks = apply_delta(base_chunks, found.decomp_chunks)
        return found

    def _result(self, unpacked: UnpackedObject) -> UnpackedObject:
        return unpacked

    def _read_object(self, offset: int) -> tuple[UnpackedObject, int]:
        """The object at an offset, without its delta applied, and the offset after it."""
        self._pack.seek(offset)
        head = self._pack.read(2 * MAX_VARINT_BYTES)
        self._check_size(_claimed_size(head))
        self._pack.seek(offset)
        found, rest = unpack_object(self._pack.read, self.hash_func, zlib_bufsize=4096)
        found.offset = offset
        return found, self._pack.tell() - len(rest)

    def _check_size(self, size: int) -> None:
        if size > self._limits.object_bytes:
            words = (
                f"contains a file of {size:,} bytes; at most {self._limits.object_bytes:,} are read of one, "
                "use an image for larger files"
            )
            raise PackError(SourceReason.TOO_LARGE, words)

    def _count_bytes(self, size: int) -> None:
        self._total += size
        if self._total > self._limits.bytes:
            raise PackError(
                SourceReason.TOO_LARGE, f"contains more than {self._limits.bytes:,} bytes, the most that is read"
            )


def _claimed_size(head: bytes) -> int:
    """The decompressed size in the header of an object. Raises ValueError and IndexError."""
    kind, size = (head[0] >> 4) & 7, head[0] & 15
    at, shift = 0, 4
    while head[at] & 0x80:
        at += 1
        size |= (head[at] & 0x7F) << shift
        shift += 7
        if at > MAX_VARINT_BYTES:
            raise ValueError("a size without end")
    if kind == OFS_DELTA:
        _varint(head, at + 1)  # checks the offset's length too
    return size


def _result_size(delta: list[bytes]) -> int:
    """The size of the result in the header of a delta. Raises ValueError and IndexError."""
    head = b""
    for chunk in delta:
        head += chunk[: 2 * MAX_VARINT_BYTES]
        if len(head) >= 2 * MAX_VARINT_BYTES:
            break
    _, at = _varint(head, 0)
    return _varint(head, at)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A variable-length number, 7 bits per byte, least significant first, and the position after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
        if shift > 7 * MAX_VARINT_BYTES:
            raise ValueError("a number without end")


def _from_hex(text: bytes) -> bytes:
    return bytes.fromhex(text.decode("ascii"))
