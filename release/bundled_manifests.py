"""Writes olmctl/suite/manifests.yaml, the objects of config/default, with which the command `olm suite` is shipped.

Called as `python -m release.bundled_manifests [--check]` by `make generate` and `make check`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from olmctl.cluster.output import as_yaml
from olmctl.suite.manifests import FILE_NAME
from release.kustomization import objects_of
from release.suite import CONFIG

TARGET = Path(__file__).resolve().parent.parent / "olmctl" / "suite" / FILE_NAME
_HEADER = "# Written by `make generate` from config/default.\n"


def bundled_text() -> str:
    """The content of the file."""
    return _HEADER + as_yaml(objects_of(CONFIG / "default"))


def main() -> int:
    """Write the file; with --check return 1 if it differs."""
    parser = argparse.ArgumentParser(description="Write olmctl/suite/manifests.yaml.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if it is not up to date")
    is_check = parser.parse_args().check
    text = bundled_text()
    if not is_check:
        TARGET.write_text(text)
    elif not TARGET.exists() or TARGET.read_text() != text:
        print(f"{TARGET.name} is not up to date: run `make generate`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
