"""The names and paths that the parts of a release share: the name and the version of the suite, and the directories that they
read and write.

Called throughout release. Runs nothing and writes nothing.
"""

from __future__ import annotations

import tomllib

from devcluster.processes import REPOSITORY

SUITE = "olm-suite"
"""The name of the image, the chart, the package for OLM v0 and the dashboard."""
CONFIG = REPOSITORY / "config"
BUILD = REPOSITORY / "build"
"""The directory of everything that git does not track."""


def suite_version() -> str:
    """The version in pyproject.toml."""
    version: str = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    return version
