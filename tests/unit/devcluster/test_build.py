"""What the cache's key of a program depends on."""

import dataclasses

import pytest

from devcluster import build
from devcluster.build import GoProgram
from devcluster.optional_programs import OPTIONAL_PROGRAMS


@pytest.mark.parametrize("program", OPTIONAL_PROGRAMS.values(), ids=lambda program: program.name)
def test_another_version_of_an_optional_program_is_built_again(program: GoProgram) -> None:
    other = dataclasses.replace(program, ldflags=f"{program.ldflags} -X main.version=other")
    assert build.program_recipe(other) != build.program_recipe(program)


@pytest.mark.parametrize("program", OPTIONAL_PROGRAMS.values(), ids=lambda program: program.name)
def test_an_optional_program_is_built_from_fixed_versions(program: GoProgram) -> None:
    assert program.version or len(build.program_recipe(program)) == 3
