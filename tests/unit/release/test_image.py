"""The Dockerfile and the Deployments agree, and the Dockerfile builds on any base."""

from __future__ import annotations

import re

import pytest
import yaml

from devcluster.optional_programs import HELM
from devcluster.processes import REPOSITORY
from devcluster.suite import COMPONENTS
from release.base import USER
from release.wheels import PYTHON_VERSION

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text()
RUNTIME = DOCKERFILE.rpartition("\nFROM ")[2]


def test_the_image_is_the_last_stage_and_runs_nothing_while_it_is_built() -> None:
    assert RUNTIME.startswith("${BASE}\n")
    assert re.findall(r"(?m)^(RUN|ADD)\b", RUNTIME) == []
    assert f"\nUSER {USER}:{USER}\n" in RUNTIME


def test_the_stage_that_make_image_replaces_is_named_wheels() -> None:
    assert re.search(r"(?m)^FROM python:[0-9.]+\S* AS wheels$", DOCKERFILE)
    assert f"FROM python:{PYTHON_VERSION}-" in DOCKERFILE


def test_the_stage_of_helm_builds_the_program_of_the_tests() -> None:
    (stage,) = re.findall(r"(?ms)^FROM golang:\S+ AS helm$(.*?)^FROM ", DOCKERFILE)
    assert f"{HELM.package}@{HELM.version} " in stage
    assert f'-ldflags="{HELM.ldflags}"' in " ".join(stage.replace("\\\n", " ").split())
    assert f"FROM golang:{HELM.go}-" in DOCKERFILE


def test_no_stage_on_the_base_needs_a_shell() -> None:
    stages = re.split(r"(?m)^FROM ", DOCKERFILE)[1:]
    commands = [re.findall(r"(?m)^(?:RUN|CMD|ENTRYPOINT) (.*)", stage) for stage in stages if stage.startswith("${")]
    assert len(commands) == 3
    assert [command for each in commands for command in each if not command.startswith("[")] == []


@pytest.mark.parametrize("name", COMPONENTS)
def test_the_deployment_runs_the_image_as_it_is_made(name: str) -> None:
    deployment = next(yaml.safe_load_all((REPOSITORY / f"config/manager/{name}.yaml").read_text()))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == [name]
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"]) == (USER, USER)
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
