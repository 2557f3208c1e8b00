"""Copies the files that a test has stored out of its pod: a second container with the same volume packs them, by `exec`.

What comes out of a pod is not trusted: its size and the number of its files are limited, those of one test and those of all
together. Links become the files that they lead to, others are left out, and nothing is written outside the directory. Needs the
permission for pods/exec.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import aiohttp
import orjson

from olmctl.file_replacement import make_own_directory
from olmctl.scorecard.pods import GATHER, Storage
from olmkit.api.meta import Kind
from olmkit.errors import ApiError, Forbidden
from olmkit.runtime.client import HANDSHAKE_FAILED, Client
from olmkit.sources.content_limits import DIRECTORY_BYTES, ContentLimits
from olmkit.sources.errors import BadContent, SourceReason
from olmkit.sources.http import unpack_whole

PODS = Kind("", "v1", "Pod", "pods", namespaced=True)
LIMITS = ContentLimits(bytes=256 * 1024**2, files=10_000)
"""The limits of the files of one test."""
RUN_LIMITS = ContentLimits(bytes=1024**3, files=50_000)
"""The limits of the files of all tests of a run."""
PROTOCOL = "v4.channel.k8s.io"
"""Messages of which the first byte is the channel."""
_OUTPUT, _ERRORS, _STATUS = 1, 2, 3
_MAX_ERROR_BYTES = 4096
_PACK = """\
import sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as packed:
    packed.add(sys.argv[1], ".", filter=lambda each: None if each.isdev() else each)
"""
_PYTHON = "/app/bin/python"


class NotCopied(Exception):
    """The files cannot be copied; the message is the reason."""


@dataclass(frozen=True)
class Packer:
    """The image of the container that packs the files, and its commands. `is_suite`: the image of the suite, which has Python and
    no shell; others need `sh`, `sleep` and `tar`."""

    image: str
    is_suite: bool = False

    def storage(self, path: str) -> Storage:
        """The directory of a pod, with the command that waits until the pod is deleted."""
        waiting = ["sh", "-c", "while :; do sleep 60; done"]
        return Storage(path, self.image, [_PYTHON, "-c", "import signal; signal.pause()"] if self.is_suite else waiting)

    def packing(self, path: str) -> list[str]:
        """The command that prints a tar archive of the directory."""
        return [_PYTHON, "-c", _PACK, path] if self.is_suite else ["tar", "cf", "-", "-C", path, "."]


@dataclass
class CopiedFiles:
    """The bytes of archives that have been copied in a run, and the files that were in them."""

    archived: int = 0
    unpacked: int = 0
    files: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def receive(self, size: int) -> None:
        """Count a part of an archive. Raises NotCopied."""
        self.archived += size
        if self.archived > RUN_LIMITS.bytes:
            raise self._excess()

    def unpack(self, pod: str, archive: IO[bytes], into: Path) -> list[str]:
        """Unpack an archive into the directory, which must not exist; one at a time. Returns what is said of links that were left
        out. Raises NotCopied; no file is left then."""
        with self._lock:
            left = ContentLimits(bytes=RUN_LIMITS.bytes - self.unpacked, files=RUN_LIMITS.files - self.files)
            limits = ContentLimits(bytes=min(LIMITS.bytes, left.bytes), files=min(LIMITS.files, left.files))
            into.mkdir(parents=True)
            try:
                left_out = unpack_whole(pod, archive, into, limits, "the container packs its files with tar")
            except BadContent as error:
                shutil.rmtree(into)
                is_excess = error.reason == SourceReason.TOO_LARGE and limits != LIMITS
                raise (self._excess() if is_excess else NotCopied(error.message)) from error
            found = [each.lstat() for each in into.rglob("*")]
            self.unpacked += sum(DIRECTORY_BYTES if stat.S_ISDIR(each.st_mode) else each.st_size for each in found)
            self.files += len(found)
        return left_out

    @staticmethod
    def _excess() -> NotCopied:
        return NotCopied(
            f"the tests of this run have stored more than {RUN_LIMITS.bytes:,} bytes or {RUN_LIMITS.files:,} files, "
            "the most that are copied"
        )


async def copy_out(
    client: Client, namespace: str, pod: str, command: list[str], into: Path, copied: CopiedFiles
) -> list[str]:
    """Unpack what the command prints in the pod into the directory, which must not exist. Returns what is said of links that were
    left out. Raises NotCopied."""
    with tempfile.TemporaryFile() as archive:
        try:
            await _run(client, f"{PODS.path(namespace, pod)}/exec", command, archive, copied)
        except Forbidden as error:
            if error.reason != HANDSHAKE_FAILED:
                raise NotCopied(error.message) from error
            text = f"the permission to get and create pods/exec in namespace {namespace} is missing"
            raise NotCopied(text) from error
        except ApiError as error:
            is_refused = error.reason == HANDSHAKE_FAILED
            raise NotCopied(f"{'no command can be run in its pod: ' if is_refused else ''}{error.message}") from error
        return await asyncio.to_thread(copied.unpack, pod, archive, into)


async def _run(client: Client, path: str, command: list[str], output: IO[bytes], copied: CopiedFiles) -> None:
    """Run a command in the container, and write its output to the file. Raises NotCopied, ApiError."""
    query = {"command": command, "container": GATHER, "stdout": "true", "stderr": "true"}
    size, errors, status = 0, bytearray(), b""
    async with client.websocket(path, PROTOCOL, query) as stream:
        async for channel, data in _messages(stream):
            if channel == _OUTPUT:
                size += len(data)
                if size > LIMITS.bytes:
                    raise NotCopied(f"they have more than {LIMITS.bytes:,} bytes, the most that are copied")
                copied.receive(len(data))
                output.write(data)
            elif channel == _ERRORS:
                errors += data[: _MAX_ERROR_BYTES - len(errors)]
            elif channel == _STATUS:
                status += data[: _MAX_ERROR_BYTES - len(status)]
    output.flush()
    if problem := _problem(status, bytes(errors)):
        raise NotCopied(problem)


async def _messages(stream: aiohttp.ClientWebSocketResponse) -> AsyncIterator[tuple[int, bytes]]:
    async for message in stream:
        if message.type is aiohttp.WSMsgType.BINARY and message.data:
            yield message.data[0], message.data[1:]


def _problem(status: bytes, errors: bytes) -> str:
    """Explain why the command did not succeed; "" if it did. `status` is the JSON with which the API server ends a command."""
    try:
        found = orjson.loads(status)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, Mapping):
        return "the connection to the pod ended before the files were complete"
    if found.get("status") == "Success":
        return ""
    said = errors.decode(errors="replace").strip().rpartition("\n")[2]
    return said or str(found.get("message") or "packing them failed")


def move_files(source: Path, target: Path) -> None:
    """Move the files below `source` to the same places below `target`, in a directory that exists. A link in their way, also at
    `target`, is replaced, and never followed. Raises OSError."""
    make_own_directory(target)
    with os.scandir(source) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            into = target / entry.name
            if not entry.is_dir(follow_symlinks=False):
                os.replace(entry.path, into)
                continue
            if into.is_file() and not into.is_symlink():
                into.unlink()
            move_files(Path(entry.path), into)
