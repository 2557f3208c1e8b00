"""Errors of building the programs with Go, and the Go that they need. Every test with a cluster shows the success."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from devcluster import programs
from devcluster.build import KWOK, find_go, minimum_go
from devcluster.errors import DevclusterError
from devcluster.optional_programs import OPTIONAL_PROGRAMS

NEEDS_GO = pytest.mark.skipif(find_go(os.environ) is None, reason="there is no Go")


def go_of(package: str, directory: Path) -> tuple[int, ...]:
    """The Go that the module of a command's package (`module/cmd/name@version`) accepts, as its go.mod says."""
    path, _, version = package.partition("@")
    command = ["go", "list", "-m", "-f", "{{.GoVersion}}", f"{path.partition('/cmd/')[0]}@{version}"]
    settings = {**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    done = subprocess.run(command, cwd=directory, env=settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the module cannot be read: {done.stderr.strip()}")
    return numbers(done.stdout.strip())


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version of Go."""
    return tuple(map(int, version.split(".")[:2]))


@NEEDS_GO
def test_the_go_that_builds_a_cluster_builds_kwok(tmp_path: Path) -> None:
    assert go_of(KWOK, tmp_path) <= numbers(minimum_go())


@NEEDS_GO
@pytest.mark.parametrize("name", [name for name, program in OPTIONAL_PROGRAMS.items() if program.version])
def test_the_go_of_an_optional_program_is_that_of_its_module(tmp_path: Path, name: str) -> None:
    program = OPTIONAL_PROGRAMS[name]
    assert go_of(f"{program.package}@{program.version}", tmp_path) == numbers(minimum_go(program))


@NEEDS_GO
def test_without_a_network_the_error_of_go_is_reported(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBEBUILDER_ASSETS", "GOFLAGS")}
    nothing = {"OLM_CACHE": str(tmp_path / "cache"), "GOMODCACHE": str(tmp_path / "modules"), "GOPROXY": "off"}
    with pytest.raises(
        DevclusterError,
        match=re.compile(r"Go could not build Kubernetes v1\.34\.4 and the image registry:\n.*GOPROXY=off", re.DOTALL),
    ):
        programs.find_or_build(print, {**kept, **nothing})
    left = [path.name for path in (tmp_path / "cache" / "binaries").iterdir()]
    assert left == [f".lock-{programs.cached_directory({**kept, **nothing}).name}"]
