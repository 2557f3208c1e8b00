"""The program helm of the image: where it comes from, its licence, and the Go modules that it consists of.

rukpak renders charts with it. It is the program that tests use too, built with Go from the module proxy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from devcluster import build
from devcluster.errors import DevclusterError
from devcluster.optional_programs import HELM, optional_program

MODULE = "helm.sh/helm/v3"
PROGRAM, LICENSE = "helm", "helm.LICENSE"
_DEPENDENCY = re.compile(r"^\t(?:mod|dep)\t(\S+)\t(v\S+)", re.MULTILINE)


def fill(directory: Path, report: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> None:
    """Put the program and its licence into the directory, which takes the place of the stage `helm` of the Dockerfile. Raises
    DevclusterError."""
    shutil.copy(optional_program(HELM.name, report, environment), directory / PROGRAM)
    sources, _ = build.module_directory(f"{MODULE}@{HELM.version}", directory, environment)
    shutil.copyfile(sources / "LICENSE", directory / LICENSE)


def modules(program: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The Go modules of a program, with their versions. Raises DevclusterError if Go is missing."""
    go = build.find_go(environment)
    if go is None:
        raise DevclusterError(f"the modules of {program.name} are listed with Go, which is not on PATH")
    listed = subprocess.run([go, "version", "-m", program], capture_output=True, text=True, check=True).stdout
    return dict(_DEPENDENCY.findall(listed))
