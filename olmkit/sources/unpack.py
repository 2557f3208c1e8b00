"""Unpacks what a source was fetched as: files without names, and the facts that describe them.

open.py makes a Fetched in the process that has a network and credentials. `unpack` runs in a process that has neither; only JSON
and file descriptors pass between the two.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from olmkit.jobs import codec
from olmkit.sources import http
from olmkit.sources.errors import BadContent
from olmkit.sources.oci import image
from olmkit.sources.source import ConfigMapsSource, GitSource
from olmkit.sources.tree import ContentLimits, Tree, TreeError
from olmkit.sources.tree_storage import TreeStorage
from olmkit.store.disk_errors import UNPACKED_CONTENT, disk_errors_as_waiting

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Fetched:
    """`facts` are JSON without credentials; the caller closes `files`."""

    facts: Mapping[str, Any]
    files: tuple[IO[bytes], ...] = ()


def unpack(fetched: Fetched, into: Path | TreeStorage, limits: ContentLimits, progress: Progress) -> Path:
    """Write the files below `into`, an empty directory, or to a storage; returns the root of the content. Needs no network.

    Raises BadContent, Waiting. After an error `into` is incomplete.
    """
    facts = fetched.facts
    match facts["type"]:
        case "image":
            found = image.FetchedImage.from_facts(facts["image"], fetched.files[0])
            return _root(into) / image.unpack(found, into, limits, progress).root
        case "git":
            return _root(into) / _unpack_git(facts, fetched.files[0], into, limits, progress)
        case "http":
            progress("unpacking the archive")
            with disk_errors_as_waiting(UNPACKED_CONTENT):
                http.unpack(facts["ref"], fetched.files[0], Tree(into, ("",), limits, noun="archive"))
            return _root(into)
        case "configMaps":
            _unpack_files(facts, into, limits)
            return _root(into)
        case other:
            raise ValueError(f"sources have no type {other!r}")


def _unpack_git(
    facts: Mapping[str, Any], pack: IO[bytes], into: Path | TreeStorage, limits: ContentLimits, progress: Progress
) -> str:
    # Imported here, because dulwich takes memory that only git sources need.
    from olmkit.sources.git import repository

    source = codec.decode(GitSource, facts["source"])
    with disk_errors_as_waiting(UNPACKED_CONTENT):
        return repository.unpack(source, facts["commit"], pack, into, limits, progress)


def _unpack_files(facts: Mapping[str, Any], into: Path | TreeStorage, limits: ContentLimits) -> None:
    source, ref = codec.decode(ConfigMapsSource, facts["source"]), facts["ref"]
    tree = Tree(into, ("",), limits, layer=1)
    try:
        with disk_errors_as_waiting(UNPACKED_CONTENT):
            for path, data in source.files:
                tree.file(path, io.BytesIO(data))
    except TreeError as error:
        raise BadContent(error.reason, f"{ref} {error.detail}", ref) from error


def _root(into: Path | TreeStorage) -> Path:
    return into if isinstance(into, Path) else into.directory
