"""The run directory of a cluster: its lock, its state, its removal.

The supervisor locks and writes it; the commands and devcluster.cluster read it. An unlocked directory
belongs to a killed supervisor.
"""

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from devcluster import routes
from devcluster.cache import cache_directory
from devcluster.errors import DevclusterError
from devcluster.nodes import sandbox

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_STATE_FILE = "state.json"
_LOCK_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True)
class State:
    """The state of a running cluster; paths as text, times in seconds since 1970, components as name -> process id.

    `link` and `cgroup` are what a real node has outside its namespaces.
    """

    name: str
    ready: bool
    server: str
    kubeconfig: str
    registry: str
    registries_conf: str
    programs: str
    nodes: int
    ranges: tuple[str, ...]
    owner: int
    supervisor: int
    started: float
    components: Mapping[str, int] = field(default_factory=dict)
    link: str = ""
    cgroup: str = ""


def run_directory(name: str) -> Path:
    """The run directory of the cluster with that name. Raises DevclusterError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise DevclusterError(f"{name!r} is no name for a cluster: use up to 40 lower-case letters, digits and dashes.")
    return clusters_directory() / name


def clusters_directory() -> Path:
    """The directory of all run directories."""
    return cache_directory() / "clusters"


def save(directory: Path, state: State) -> None:
    """Replace the state atomically."""
    fresh = directory / f".{_STATE_FILE}"
    fresh.write_text(json.dumps(asdict(state)))
    fresh.rename(directory / _STATE_FILE)


def load(directory: Path) -> State | None:
    """The state, or None if there is none yet or it has been removed."""
    try:
        raw = json.loads((directory / _STATE_FILE).read_bytes())
    except FileNotFoundError:
        return None
    return State(**{**raw, "ranges": tuple(raw["ranges"])})


def lock(directory: Path) -> int:
    """Create the directory, empty, and lock it until the returned file descriptor is closed or the process ends.

    Files that a killed process left in it are removed first. Raises DevclusterError when another process has locked it.
    """
    deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while True:
        descriptor = _try_lock(directory, fcntl.LOCK_EX)
        if descriptor is not None:
            break
        # Another process may only be testing the lock (is_locked).
        if time.monotonic() > deadline:
            raise DevclusterError(
                f"A cluster named {directory.name!r} is running: stop it with "
                f"`python -m devcluster down --name {directory.name}`, or start another with `--name`."
            )
        time.sleep(0.02)
    _undo(directory)
    for path in directory.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return descriptor


def is_locked(directory: Path) -> bool:
    """Report whether a process has locked the directory."""
    if not directory.is_dir():
        return False
    descriptor = _try_lock(directory, fcntl.LOCK_SH)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def remove(directory: Path) -> None:
    """Undo the cluster's changes outside its directory and remove the directory. Call it with the lock, or if no process has
    it."""
    _undo(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _undo(directory: Path) -> None:
    left = load(directory)
    if left is not None:
        routes.remove(left.ranges)
        sandbox.remove(left.link, left.cgroup)


def _try_lock(directory: Path, kind: int) -> int | None:
    while True:
        if kind == fcntl.LOCK_EX:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            if kind == fcntl.LOCK_EX:
                continue
            return os.open(os.devnull, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            if directory.exists() and os.path.samestat(os.fstat(descriptor), directory.stat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass
        # The directory was removed, and possibly created again, between opening and locking.
        os.close(descriptor)
