"""The cache directory: its location, and how several processes fill it safely.

The directory may be deleted whenever no cluster is running.
"""

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

STAGING_PREFIX = ".staging-"


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """`$OLM_CACHE`, else `$XDG_CACHE_HOME/olm-suite`, else `~/.cache/olm-suite`. The directory need not exist."""
    if chosen := environment.get("OLM_CACHE"):
        return Path(chosen).absolute()
    if base := environment.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "olm-suite"
    return Path(environment.get("HOME") or Path.home()) / ".cache" / "olm-suite"


def publish_once(target: Path, fill: Callable[[Path], None], waiting: Callable[[], None] = lambda: None) -> Path:
    """Return `target`. If it does not exist, create it: `fill` writes to an empty directory next to it, which is then renamed.

    Of several callers, in any process, one fills; the others call `waiting` and wait. Those of other targets do not wait. What
    a killed process has left of the target is removed by the next caller. Errors of `fill` are raised and leave no target.
    """
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f"{STAGING_PREFIX}{target.name}-"
    with exclusive(target.parent / f".lock-{target.name}", waiting):
        if target.is_dir():
            return target
        for leftover in target.parent.glob(f"{glob.escape(prefix)}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        try:
            staging.chmod(0o755)
            fill(staging)
            staging.rename(target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return target


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a file that no other process holds; call `waiting` before it is waited for."""
    with path.open("w") as lock:
        # The kernel releases the lock when its holder ends.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
