"""The keys of ConfigMaps as files. Pure.

Controllers read the ConfigMaps and call `gather`; its result is part of a job's request, and open.py writes the files in the
job. Reads neither the cluster nor a disk.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from olmkit.errors import Blocked
from olmkit.sources.errors import SourceReason, quoted
from olmkit.sources.source import ConfigMapsSource, clean_directory

MAX_CONTENT_BYTES = 8 * 1024**2
"""Bytes of all files together; one ConfigMap holds 1 MiB at most."""


def gather(maps: Iterable[tuple[Mapping[str, Any], str]]) -> ConfigMapsSource:
    """The files of ConfigMaps (as the API server gives them), each with the directory of its files, "" for the top.

    Raises Blocked: for a path that two ConfigMaps have, for a path outside the content, for too many bytes, and without any file.
    """
    files: dict[str, tuple[str, bytes]] = {}
    for raw, directory in maps:
        name = (raw.get("metadata") or {}).get("name", "")
        prefix = clean_directory(directory, "path")
        for key, data in _keys(name, raw):
            path = f"{prefix}/{key}" if prefix else key
            if path in files:
                both = " and ".join(sorted((files[path][0], name)))
                words = f"duplicate path {quoted(path)} found in configmaps {both}"
                raise Blocked(SourceReason.DUPLICATE_PATH, words, [path])
            files[path] = (name, data)
    _check(files)
    return ConfigMapsSource(tuple(sorted((path, data) for path, (_, data) in files.items())))


def within_limit(size: int, raw: Mapping[str, Any]) -> int:
    """The bytes of the files of ConfigMaps of `size` bytes and of one more, or a few bytes less. Raises Blocked for too many.

    For those who read many: what `gather` refuses is not kept in memory until all are read.
    """
    size += sum(len(text.encode()) for text in (raw.get("data") or {}).values())
    size += sum(max(len(encoded) // 4 * 3 - 2, 0) for encoded in (raw.get("binaryData") or {}).values())
    _check_size(size)
    return size


def mutable_names(maps: Iterable[tuple[Mapping[str, Any], str]]) -> frozenset[str]:
    """The names of the ConfigMaps (as for `gather`) whose files may change."""
    return frozenset(raw["metadata"]["name"] for raw, _ in maps if not is_immutable(raw))


def is_immutable(raw: Mapping[str, Any]) -> bool:
    """Report whether the API server refuses each change of the files of a ConfigMap."""
    return raw.get("immutable") is True


def _keys(name: str, raw: Mapping[str, Any]) -> Iterable[tuple[str, bytes]]:
    for key, text in (raw.get("data") or {}).items():
        yield _file_name(name, key), text.encode()
    for key, encoded in (raw.get("binaryData") or {}).items():
        try:
            yield _file_name(name, key), base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise Blocked(
                SourceReason.UNSUPPORTED_CONTENT,
                f"configmap {name} has invalid base64 at the key {quoted(key)}",
                [f"{name}/{key}"],
            ) from None


def _file_name(name: str, key: str) -> str:
    """Check a key. The API server allows letters, digits, dots, dashes and underscores only; this does not rely on it."""
    if key in ("", ".", "..") or "/" in key or "\0" in key or len(key) > 253:
        words = f"configmap {name} has the key {quoted(key)}, which is not a file name"
        raise Blocked(SourceReason.UNSAFE, words, [f"{name}/{key}"])
    return key


def _check_size(size: int) -> None:
    if size > MAX_CONTENT_BYTES:
        words = f"the configmaps contain more than {MAX_CONTENT_BYTES:,} bytes, the most that is read"
        raise Blocked(SourceReason.TOO_LARGE, words)


def _check(files: Mapping[str, tuple[str, bytes]]) -> None:
    if not files:
        raise Blocked(SourceReason.MISSING_CONTENT, "the configmaps contain no keys, and therefore no files")
    size = sum(len(data) for _, data in files.values())
    _check_size(size)
    for path, (name, _) in files.items():
        parts = path.split("/")
        for end in range(1, len(parts)):
            above = "/".join(parts[:end])
            if above in files:
                other = files[above][0]
                words = (
                    f"configmap {name} has files in the directory {quoted(above)}, which is a file of configmap {other}"
                )
                raise Blocked(SourceReason.DUPLICATE_PATH, words, [above])
