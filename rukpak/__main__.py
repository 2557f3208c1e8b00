"""The process rukpak, which unpacks Bundles and installs BundleDeployments. `rukpak` or `python -m rukpak`.

Its parts are set up by rukpak.setup; its flags are those of olmkit.runtime.manager.
"""

from __future__ import annotations

import sys

from olmkit.runtime.flags import add_jobs_memory
from olmkit.runtime.manager import run
from rukpak.setup import build

NAME = "rukpak"


def main() -> int:
    """The entry point; returns the exit status."""
    return run(NAME, build, add_jobs_memory)


if __name__ == "__main__":
    sys.exit(main())
