"""Checksums of published content: the size of each file and the sha256 of each chunk of it.

Written and compared by olmkit.store.store; replicas of catalogd send them to each other. Parsing rejects checksums that are
truncated, of other content or of another format, so that the content counts as corrupt. A file that cannot be read does not:
the check has a third result. All functions that take a directory block; they hash in several threads. Never follows symbolic
links and never writes.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import resource
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any

import orjson

CHECKSUMS_FORMAT = 2
HASH_CHUNK_SIZE = 16 * 1024 * 1024
"""Bytes per sha256, so that several threads can hash one large file."""
SINGLE_THREAD_MAX_BYTES = 2 * HASH_CHUNK_SIZE
"""Content up to this size is hashed in the calling thread."""
MAX_HASH_THREADS = 4
HASH_READ_SIZE = 4 * 1024 * 1024
"""Bytes per read in a controller: large, so that hashing threads seldom need the GIL."""
JOB_HASH_READ_SIZE = 1024 * 1024
"""Bytes per read in a job, whose memory is limited."""
CORRUPTION_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})
"""The errno of an OSError that means that the content is missing or replaced by something else. All others (no file descriptor,
no memory, a failed device, no permission) mean nothing about the content."""


@dataclass(frozen=True)
class FileChecksums:
    """Size in bytes, and the sha256 of each chunk of HASH_CHUNK_SIZE bytes as hex digits."""

    size: int
    chunk_digests: tuple[str, ...]


NO_FILES: Mapping[str, FileChecksums] = MappingProxyType({})


class Integrity(StrEnum):
    """The result of a comparison of content with its checksums."""

    INTACT = "intact"
    CORRUPT = "corrupt"  # missing, or of another size, hash or format
    UNKNOWN = "unknown"  # it cannot be read now


@dataclass(frozen=True)
class IntegrityCheck:
    """The result and the reason; `why` is "" for intact content."""

    state: Integrity
    why: str = ""


INTACT = IntegrityCheck(Integrity.INTACT)


def failed_check(error: Exception) -> IntegrityCheck:
    """The result when an error ended the comparison: OSError, ValueError, or a lack of memory or threads."""
    match error:
        case OSError():
            state = Integrity.CORRUPT if error.errno in CORRUPTION_ERRNOS else Integrity.UNKNOWN
            return IntegrityCheck(
                state, f"{os.path.basename(str(error.filename or 'a file'))}: {error.strerror or error}"
            )
        case ValueError():
            return IntegrityCheck(Integrity.CORRUPT, str(error))
        case MemoryError():
            return IntegrityCheck(Integrity.UNKNOWN, "there is not enough memory to read it")
        case _:
            return IntegrityCheck(Integrity.UNKNOWN, str(error))


@dataclass(frozen=True)
class Checksums:
    """The files of the content `digest`, by path relative to its directory, with slashes."""

    digest: str
    files: Mapping[str, FileChecksums]

    def to_bytes(self) -> bytes:
        """Encode as JSON."""
        files = {path: [file.size, file.chunk_digests] for path, file in self.files.items()}
        return orjson.dumps(
            {"format": CHECKSUMS_FORMAT, "digest": self.digest, "files": files}, option=orjson.OPT_SORT_KEYS
        )

    @classmethod
    def parse(cls, data: bytes, digest: str) -> Checksums:
        """Decode what to_bytes() returned for this digest. Raises ValueError, with a message, for anything else."""
        try:
            value = orjson.loads(data)
        except ValueError:
            raise ValueError("the checksums file is truncated") from None
        if not isinstance(value, dict) or value.get("format") != CHECKSUMS_FORMAT:
            raise ValueError("the checksums file has another format")
        if value.get("digest") != digest:
            raise ValueError("the checksums file belongs to other content")
        return cls(digest, dict(_files(value.get("files"))))


def _files(value: Any) -> Iterator[tuple[str, FileChecksums]]:
    if not isinstance(value, dict):
        raise ValueError("the checksums file lists no files")
    for path, file in value.items():
        match file:
            case [int(size), list(digests)] if size >= 0 and len(digests) == _count(size) and _is_inside(path):
                if all(isinstance(each, str) for each in digests):
                    yield path, FileChecksums(size, tuple(digests))
                    continue
        raise ValueError("the checksums file lists an invalid file")


def _count(size: int) -> int:
    return -(-size // HASH_CHUNK_SIZE)


def _is_inside(path: str) -> bool:
    """Report whether the path stays inside the directory and is normalized."""
    parts = PurePosixPath(path).parts
    return path == "/".join(parts) and bool(parts) and not {"..", "/"} & set(parts) and "\0" not in path


def compute_checksums(directory: Path, digest: str, hashed: Mapping[str, FileChecksums] = NO_FILES) -> Checksums:
    """The checksums of the files in `directory`. Files of `hashed` that have the size given there are not read again.

    Raises OSError for links and devices, ValueError for names that are not UTF-8.
    """
    sizes = {path: size for path, size in _walk(directory)}
    files = {path: file for path, file in hashed.items() if sizes.get(path) == file.size}
    unhashed = {path: size for path, size in sizes.items() if path not in files}
    files.update(
        (path, FileChecksums(sizes[path], tuple(hashes))) for path, hashes in _hashes(directory, unhashed).items()
    )
    return Checksums(digest, files)


def check_integrity(directory: Path, checksums: Checksums, *, only_sizes: bool = False) -> IntegrityCheck:
    """Check whether `directory` holds exactly the files of `checksums` with the same bytes. `only_sizes` compares names and sizes
    only."""
    try:
        sizes = dict(_walk(directory))
        fault = _size_error(sizes, checksums) or ("" if only_sizes else _hash_error(directory, sizes, checksums))
    except (OSError, ValueError, MemoryError, RuntimeError) as error:  # the last: no thread can be started
        return failed_check(error)
    return IntegrityCheck(Integrity.CORRUPT, fault) if fault else INTACT


def _hash_error(directory: Path, sizes: Mapping[str, int], checksums: Checksums) -> str:
    hashes = _hashes(directory, sizes)
    other = next((path for path, found in hashes.items() if tuple(found) != checksums.files[path].chunk_digests), None)
    return f"{other} differs from the published bytes" if other is not None else ""


def _size_error(sizes: Mapping[str, int], checksums: Checksums) -> str:
    for path, file in checksums.files.items():
        if path not in sizes:
            return f"{path} is missing"
        if sizes[path] != file.size:
            return f"{path} has {sizes[path]} bytes instead of {file.size}"
    foreign = next((path for path in sizes if path not in checksums.files), None)
    return f"{foreign} was never published" if foreign else ""


def _walk(directory: Path) -> Iterator[tuple[str, int]]:
    """Path and size of every file in the directory."""
    for parent, directories, names in os.walk(directory, onerror=_raise):
        for name in directories:
            if os.path.islink(os.path.join(parent, name)):
                raise OSError(errno.ELOOP, "the content contains a link", name)
        for name in names:
            path = os.path.join(parent, name)
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.ELOOP, "the content contains a link or a device", name)
            yield _text(os.path.relpath(path, directory)), found.st_size


def _hashes(directory: Path, sizes: Mapping[str, int]) -> dict[str, list[str]]:
    """The sha256 of each chunk of each file. Raises OSError, ValueError for a file that became shorter, and MemoryError."""
    found = {path: [""] * _count(size) for path, size in sizes.items()}
    chunks = [(path, number) for path, hashes in found.items() for number in range(len(hashes))]
    in_job = _is_in_job()
    count = (
        1 if in_job or sum(sizes.values()) <= SINGLE_THREAD_MAX_BYTES else min(MAX_HASH_THREADS, os.cpu_count() or 1)
    )
    size = min(JOB_HASH_READ_SIZE if in_job else HASH_READ_SIZE, max(sizes.values(), default=0)) or 1
    with ExitStack() as stack:
        buffers: SimpleQueue[memoryview] = SimpleQueue()
        for _ in range(count):
            buffers.put(stack.enter_context(_buffer(size)))

        def work(chunk: tuple[str, int]) -> None:
            path, number = chunk
            start = number * HASH_CHUNK_SIZE
            buffer = buffers.get()
            try:
                found[path][number] = _hash(directory / path, start, min(HASH_CHUNK_SIZE, sizes[path] - start), buffer)
            finally:
                buffers.put(buffer)

        if count == 1:
            for chunk in chunks:
                work(chunk)
        else:
            with ThreadPoolExecutor(count, "hash") as threads:
                list(threads.map(work, chunks))
    return found


@contextmanager
def _buffer(size: int) -> Iterator[memoryview]:
    """Memory that is returned to the kernel at the end, which malloc does not do. Raises MemoryError."""
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"there are no {size} bytes to read into") from error
    with memory, memoryview(memory) as buffer:
        yield buffer


def _is_in_job() -> bool:
    """Report whether this is a job: it hashes without threads, whose stacks and heaps would count against its memory limit."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _hash(path: Path, start: int, length: int, buffer: memoryview) -> str:
    hashing = hashlib.sha256()
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        at, end = start, start + length
        while at < end:
            count = os.preadv(file, [buffer[: end - at]], at)
            if count == 0:
                raise ValueError(f"{path.name} became shorter while it was read")
            hashing.update(buffer[:count])
            at += count
    finally:
        os.close(file)
    return hashing.hexdigest()


def _text(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the name of a file is not UTF-8: {path!a}") from None
    return path


def _raise(error: OSError) -> None:
    raise error
