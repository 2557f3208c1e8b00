"""What the cache's key of a program depends on, and which Go builds it."""

import dataclasses
import re
from pathlib import Path

import pytest

from devcluster import build
from devcluster.build import GoProgram
from devcluster.errors import DevclusterError
from devcluster.optional_programs import OPTIONAL_PROGRAMS, optional_program
from devcluster.processes import REPOSITORY

VERSION = r"v\d+\.\d+\.\d+"
EACH_PROGRAM = pytest.mark.parametrize("program", OPTIONAL_PROGRAMS.values(), ids=lambda program: program.name)


@EACH_PROGRAM
def test_an_optional_program_with_other_flags_is_built_again(program: GoProgram) -> None:
    other = dataclasses.replace(program, ldflags=f"{program.ldflags} -X main.version=other")
    assert build.program_recipe(other) != build.program_recipe(program)


@EACH_PROGRAM
def test_an_optional_program_is_built_from_a_fixed_version(program: GoProgram) -> None:
    if program.version:
        assert re.fullmatch(VERSION, program.version)
        return
    directory = REPOSITORY / "devcluster" / "binaries" / program.module
    required = re.findall(rf"(?m)^(?:require |\t)(\S+) ({VERSION})\b", (directory / "go.mod").read_text())
    if program.package == ".":
        sums = (directory / "go.sum").read_text() if required else ""
        assert [module for module, version in required if f"{module} {version}" not in sums] == []
        return
    module, version = next(each for each in required if f"{program.package}/".startswith(f"{each[0]}/"))
    assert re.search(rf"(?m)^tool {program.package}$|^\t{program.package}$", (directory / "go.mod").read_text())
    assert f"{module} {version} h1:" in (directory / "go.sum").read_text()


def test_kwok_is_built_from_a_fixed_version() -> None:
    assert re.fullmatch(rf"\S+@{VERSION}", build.KWOK)


@EACH_PROGRAM
def test_without_go_the_error_names_the_version_that_builds_the_program(program: GoProgram, tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "OLM_CACHE": str(tmp_path)}
    expected = {
        "actionlint": "1.25",
        "cert-manager": "1.26",
        "coredns": "1.26",
        "cosign": "1.26",
        "helm": "1.26",
        "kube-proxy": "1.24",
        "kubelet": "1.24",
        "pause": "1.24",
        "argocd": "1.25",
        "kustomize-controller": "1.26",
        "prometheus": "1.24",
        "promtool": "1.24",
    }
    with pytest.raises(
        DevclusterError, match=f"^{program.name} is built with Go, .* install Go {expected[program.name]} "
    ):
        optional_program(program.name, environment=environment)


def test_the_readme_names_the_go_that_builds_a_cluster() -> None:
    assert re.findall(r"Go (\d+\.\d+)", (REPOSITORY / "README.md").read_text()) == [build.minimum_go()]


def test_contributing_names_the_go_that_builds_all_programs() -> None:
    newest = max(
        (build.minimum_go(each) for each in OPTIONAL_PROGRAMS.values()), key=lambda text: int(text.split(".")[1])
    )
    assert re.findall(r"Go (\d+\.\d+)", (REPOSITORY / "CONTRIBUTING.md").read_text()) == [newest]
