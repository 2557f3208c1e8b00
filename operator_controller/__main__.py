"""The operator-controller process: `operator-controller` or `python -m operator_controller`."""

from __future__ import annotations

import sys

from olmkit.runtime.manager import run
from operator_controller.catalog_client.flags import add_flags
from operator_controller.setup import NAME, build


def main() -> int:
    """Run until SIGTERM or SIGINT; returns the exit status."""
    return run(NAME, build, add_flags)


if __name__ == "__main__":
    sys.exit(main())
