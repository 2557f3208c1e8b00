"""What a folder of published content holds: its files with their sizes and the sha256 of each portion.

Written and compared by olmkit.store.store; catalogd's replicas hand it to each other. A manifest that is torn, of another
content or of another format is refused when it is parsed, so that its content counts as damaged. A file that cannot be read is
no such fault: the comparison has a third outcome. All functions that take a folder block; they hash in several threads. Never
follows a link, never writes.
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
"""Bytes hashed as one, so that a large file keeps several threads busy."""
SINGLE_THREAD_MAX_BYTES = 2 * HASH_CHUNK_SIZE
"""Content up to this size is not worth threads."""
MAX_HASH_THREADS = 4
HASH_READ_SIZE = 4 * 1024 * 1024
"""So much at a time that a thread which hashes seldom needs the interpreter, which others may be busy with."""
JOB_HASH_READ_SIZE = 1024 * 1024
CORRUPTION_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})
"""What an OSError says that is about the content itself: it is missing, or something else is in its place. All others (no file
descriptor, no memory, a device that fails, no permission) say nothing about it."""


@dataclass(frozen=True)
class FileChecksums:
    """Size in bytes, and the sha256 of each portion as hex digits."""

    size: int
    chunk_digests: tuple[str, ...]


NO_FILES: Mapping[str, FileChecksums] = MappingProxyType({})


class Integrity(StrEnum):
    """What a comparison of content with its manifest found."""

    INTACT = "intact"
    CORRUPT = "damaged"  # missing, or of the wrong size, hash or form
    UNKNOWN = "unknown"  # it cannot be read now


@dataclass(frozen=True)
class IntegrityCheck:
    """The outcome; `why` is a few words, "" for content that is intact."""

    state: Integrity
    why: str = ""


INTACT = IntegrityCheck(Integrity.INTACT)


def failed_check(error: Exception) -> IntegrityCheck:
    """What an error means that ended a comparison: OSError, ValueError, or anything that this process lacks."""
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
    """The files of the content `digest`, by their path with slashes."""

    digest: str
    files: Mapping[str, FileChecksums]

    def to_bytes(self) -> bytes:
        """As JSON."""
        files = {path: [file.size, file.chunk_digests] for path, file in self.files.items()}
        return orjson.dumps(
            {"format": CHECKSUMS_FORMAT, "digest": self.digest, "files": files}, option=orjson.OPT_SORT_KEYS
        )

    @classmethod
    def parse(cls, data: bytes, digest: str) -> Checksums:
        """What to_bytes() gave for that digest. Raises ValueError, with a sentence, for anything else."""
        try:
            value = orjson.loads(data)
        except ValueError:
            raise ValueError("the manifest is torn") from None
        if not isinstance(value, dict) or value.get("format") != CHECKSUMS_FORMAT:
            raise ValueError("the manifest is of another format")
        if value.get("digest") != digest:
            raise ValueError("the manifest is that of another content")
        return cls(digest, dict(_files(value.get("files"))))


def _files(value: Any) -> Iterator[tuple[str, FileChecksums]]:
    if not isinstance(value, dict):
        raise ValueError("the manifest lists no files")
    for path, each in value.items():
        match each:
            case [int(size), list(portions)] if size >= 0 and len(portions) == _count(size) and _is_inside(path):
                if all(isinstance(portion, str) for portion in portions):
                    yield path, FileChecksums(size, tuple(portions))
                    continue
        raise ValueError("the manifest lists what is no file of a content")


def _count(size: int) -> int:
    return -(-size // HASH_CHUNK_SIZE)


def _is_inside(path: str) -> bool:
    """A path that stays below the folder and is written in one way only."""
    parts = PurePosixPath(path).parts
    return path == "/".join(parts) and bool(parts) and not {"..", "/"} & set(parts) and "\0" not in path


def compute_checksums(folder: Path, digest: str, known: Mapping[str, FileChecksums] = NO_FILES) -> Checksums:
    """The manifest of what is in `folder` now; files of `known` with that size were hashed while they were written.

    Raises OSError for links and devices, ValueError for names that are not UTF-8.
    """
    sizes = {path: size for path, size in _walk(folder)}
    files = {path: file for path, file in known.items() if sizes.get(path) == file.size}
    unknown = {path: size for path, size in sizes.items() if path not in files}
    files.update((path, FileChecksums(sizes[path], tuple(hashes))) for path, hashes in _hashes(folder, unknown).items())
    return Checksums(digest, files)


def check_integrity(folder: Path, manifest: Checksums, *, only_sizes: bool = False) -> IntegrityCheck:
    """Whether every file is there with the same bytes, and no other. `only_sizes` reads no file: names and sizes only."""
    try:
        sizes = dict(_walk(folder))
        fault = _of_sizes(sizes, manifest) or ("" if only_sizes else _of_bytes(folder, sizes, manifest))
    except (OSError, ValueError, MemoryError, RuntimeError) as error:  # the last: no thread can be started
        return failed_check(error)
    return IntegrityCheck(Integrity.CORRUPT, fault) if fault else INTACT


def _of_bytes(folder: Path, sizes: Mapping[str, int], manifest: Checksums) -> str:
    hashes = _hashes(folder, sizes)
    other = next((path for path, found in hashes.items() if tuple(found) != manifest.files[path].chunk_digests), None)
    return f"{other} has other bytes than were published" if other is not None else ""


def _of_sizes(sizes: Mapping[str, int], manifest: Checksums) -> str:
    for path, file in manifest.files.items():
        if path not in sizes:
            return f"{path} is missing"
        if sizes[path] != file.size:
            return f"{path} has {sizes[path]} bytes instead of {file.size}"
    foreign = next((path for path in sizes if path not in manifest.files), None)
    return f"{foreign} was never published" if foreign else ""


def _walk(folder: Path) -> Iterator[tuple[str, int]]:
    """Path and size of every file below."""
    for parent, folders, names in os.walk(folder, onerror=_raise):
        for name in folders:
            if os.path.islink(os.path.join(parent, name)):
                raise OSError(errno.ELOOP, "a link among the content", name)
        for name in names:
            path = os.path.join(parent, name)
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.ELOOP, "a link or a device among the content", name)
            yield _text(os.path.relpath(path, folder)), found.st_size


def _hashes(folder: Path, sizes: Mapping[str, int]) -> dict[str, list[str]]:
    """The sha256 of each portion of each file. Raises OSError, ValueError for a file that became shorter, and MemoryError."""
    found = {path: [""] * _count(size) for path, size in sizes.items()}
    portions = [(path, number) for path, hashes in found.items() for number in range(len(hashes))]
    in_job = _is_in_job()
    count = (
        1 if in_job or sum(sizes.values()) <= SINGLE_THREAD_MAX_BYTES else min(MAX_HASH_THREADS, os.cpu_count() or 1)
    )
    size = min(JOB_HASH_READ_SIZE if in_job else HASH_READ_SIZE, max(sizes.values(), default=0)) or 1
    with ExitStack() as stack:
        buffers: SimpleQueue[memoryview] = SimpleQueue()
        for _ in range(count):
            buffers.put(stack.enter_context(_buffer(size)))

        def work(portion: tuple[str, int]) -> None:
            path, number = portion
            start = number * HASH_CHUNK_SIZE
            buffer = buffers.get()
            try:
                found[path][number] = _hash(folder / path, start, min(HASH_CHUNK_SIZE, sizes[path] - start), buffer)
            finally:
                buffers.put(buffer)

        if count == 1:
            for portion in portions:
                work(portion)
        else:
            with ThreadPoolExecutor(count, "hash") as threads:
                list(threads.map(work, portions))
    return found


@contextmanager
def _buffer(size: int) -> Iterator[memoryview]:
    """Memory that is given back at the end: malloc would keep it. Raises MemoryError, which is no fault of any file."""
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"there are no {size} bytes to read into") from error
    with memory, memoryview(memory) as buffer:
        yield buffer


def _is_in_job() -> bool:
    """Then there are no threads: their stacks and heaps would count against its memory."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _hash(path: Path, start: int, length: int, buffer: memoryview) -> str:
    hashing = hashlib.sha256()
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        at, end = start, start + length
        while at < end:
            count = os.preadv(file, [buffer[: end - at]], at)
            if count == 0:
                raise ValueError(f"{path.name} is shorter than a moment ago")
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
