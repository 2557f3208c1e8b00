"""`make dist`, or `python -m release.distribution`: builds the wheel and the source distribution of the suite for PyPI.

Builds what git tracks with the setuptools of .venv, and downloads and uploads nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.processes import REPOSITORY
from release import sources
from release.suite import suite_version

DIRECTORY = REPOSITORY / "dist"


@dataclass(frozen=True)
class Distribution:
    """The two files of a version of the suite."""

    wheel: Path
    source: Path


def build(directory: Path) -> Distribution:
    """Build into the directory: the source distribution, and the wheel out of it. Raises DevclusterError."""
    with tempfile.TemporaryDirectory(prefix="olm-suite-dist-") as scratch:
        sources.export(Path(scratch))
        command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory.resolve()), scratch)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(sources.current_commit().time)}
        sources.run(*command, environment=environment)
    name = f"olm_suite-{suite_version()}"
    return Distribution(directory / f"{name}-py3-none-any.whl", directory / f"{name}.tar.gz")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and print the paths of both files. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m release.distribution", description="Build the wheel and the source distribution of the suite."
    )
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where the files are written (default: dist)")
    given = parser.parse_args(arguments)
    try:
        built = build(given.directory)
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{built.wheel}\n{built.source}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
