"""The corpus of real catalogs and bundles: a directory, or archives that are unpacked once into the cache.

It never changes the user's directory.
"""

import hashlib
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

from devcluster.cache import cache_directory, publish_once
from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY

_NEEDED = ("catalog", "bundles")
_OPTIONAL = ("goldens", "invalid")
_DEPENDENCIES = "deps"
"""A corpus of its own: its archive has catalog/ and bundles/ too."""
_VERDICTS = "sdk"
"""Verdicts of upstream's validators about the bundles, and bundles with faults."""


def default_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `$OLM_CORPUS`, otherwise `shared/corpus` next to the repository. It need not exist."""
    chosen = environment.get("OLM_CORPUS")
    return Path(chosen).absolute() if chosen else REPOSITORY.parent / "shared" / "corpus"


def open_corpus(directory: Path) -> Path:
    """Return a directory with catalog/ and bundles/ (and goldens/ and invalid/ if they exist).

    That is `directory` itself, or the cache when `directory` contains catalog.tar.xz and bundles.tar.xz instead: the first
    time they are unpacked (seconds). Raises DevclusterError when it contains neither.
    """
    if all((directory / name).is_dir() for name in _NEEDED):
        return directory
    archives = {name: directory / f"{name}.tar.xz" for name in (*_NEEDED, *_OPTIONAL)}
    if not all(archives[name].is_file() for name in _NEEDED):
        what = "does not contain a catalog and its bundles" if directory.is_dir() else "is not a directory"
        raise DevclusterError(
            f"{directory} {what}: give a directory with catalog/<package>/ and bundles/<package>/<version>/, or with "
            "catalog.tar.xz and bundles.tar.xz that contain these"
            f"{' (OLM_CORPUS names another one)' if directory == default_directory() else ''}."
        )
    present = [path for path in archives.values() if path.is_file()]
    digest = hashlib.sha256()
    for path in present:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return publish_once(cache_directory() / "corpus" / digest.hexdigest()[:16], lambda target: _unpack(present, target))


def open_dependency_corpus(directory: Path) -> Path:
    """Return a directory with catalog/ and bundles/ of packages that require others, and of packages that they require.

    That is deps/ of `directory`, or the cache when `directory` contains deps.tar.xz instead. Raises DevclusterError when it
    contains neither.
    """
    return _open_part(directory, _DEPENDENCIES)


def open_verdicts(directory: Path) -> Path:
    """Return a directory with verdicts.jsonl about the bundles of the corpus, and faulty/ with bundles and verdicts of its own.

    That is in sdk/ of `directory`, or in the cache when `directory` contains sdk.tar.xz instead. Raises DevclusterError when it
    contains neither.
    """
    found = _open_part(directory, _VERDICTS)
    return found if (found / "verdicts.jsonl").is_file() else found / _VERDICTS


def _open_part(directory: Path, name: str) -> Path:
    unpacked, archive = directory / name, directory / f"{name}.tar.xz"
    if unpacked.is_dir():
        return unpacked
    if not archive.is_file():
        raise DevclusterError(f"{directory} contains neither {unpacked.name}/ nor {archive.name}.")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return publish_once(cache_directory() / "corpus" / digest[:16], lambda target: _extract(archive, target))


def _extract(path: Path, target: Path) -> None:
    try:
        with tarfile.open(path) as archive:
            archive.extractall(target, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise DevclusterError(f"{path} cannot be unpacked: {error}") from error


def _unpack(archives: list[Path], target: Path) -> None:
    for path in archives:
        _extract(path, target)
        if not (target / path.name.removesuffix(".tar.xz")).is_dir():
            raise DevclusterError(f"{path} does not contain the directory {path.name.removesuffix('.tar.xz')}.")
