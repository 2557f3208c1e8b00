"""The operator-controller process: `operator-controller` or `python -m operator_controller`. Called by nobody else."""

from __future__ import annotations

import sys

from olmkit.manager import run
from operator_controller.catalog_access import add_flags
from operator_controller.reconciler import NAME, build


def main() -> int:
    """Run until SIGTERM or SIGINT; returns the exit status."""
    return run(NAME, build, add_flags)


if __name__ == "__main__":
    sys.exit(main())
