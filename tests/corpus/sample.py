"""The part of the real packages and bundles that a run reads: one of eight in `make test`, all of them in `make corpus`.

A name is part of the sample or not whatever else the corpus has, so a package that is added changes nothing for the others.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

SHARE = int(os.environ.get("OLM_CORPUS_SHARE", "8"))
"""One of so many names is read. `make corpus` sets it to 1."""


def is_sampled(name: str) -> bool:
    """Report whether this run reads the package, or the bundle `package/version`, of this name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % SHARE == 0


def sampled_packages(directory: Path) -> list[Path]:
    """The directories of packages that this run reads, in order of their names."""
    return sorted(each for each in directory.iterdir() if is_sampled(each.name))


def sampled_bundles(directories: Iterable[Path]) -> list[Path]:
    """Those of these directories `package/version` that this run reads, in order."""
    return sorted(each for each in directories if is_sampled(f"{each.parent.name}/{each.name}"))


def at_least(whole: int) -> int:
    """The number of names to expect in this run if the corpus has at least so many: half of the share, for chance."""
    return whole if SHARE == 1 else whole // SHARE // 2
