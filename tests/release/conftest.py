"""Fixtures of the tests of a release: `make release` runs them, after it has written the files. They take minutes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmctl.suite.manifests import SYSTEM_NAMESPACE, Manifests, containers, load_manifests
from release.__main__ import write_release
from release.manifests import INSTALL_FILE
from tests.cluster.olmctl.suite.conftest import bare_cluster, olm

__all__ = ["bare_cluster", "olm"]

Object = dict[str, Any]
Key = tuple[str, str, str]
KUBERNETES = "1.34.0"


def by_name(objects: Iterable[Object]) -> dict[Key, Object]:
    """The objects by kind, namespace and name."""
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}


class Helm:
    """The real helm, and the chart."""

    def __init__(self, program: Path, chart: Path) -> None:
        self.program = program
        self.chart = chart

    def run(self, *arguments: str) -> str:
        """The output of helm. Raises CalledProcessError."""
        command = [str(self.program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def render(self, *values: str, namespace: str = SYSTEM_NAMESPACE) -> dict[Key, Object]:
        """The objects of the chart with these values, which are JSON: `logLevel="debug"`."""
        flags = [flag for value in values for flag in ("--set-json", value)]
        where = (f"--namespace={namespace}", f"--kube-version={KUBERNETES}")
        text = self.run("template", "any", str(self.chart), *where, *flags)
        return by_name(each for each in yaml.safe_load_all(text) if each)


def chart_in(directory: Path) -> Path:
    """The chart of a release."""
    (chart,) = directory.glob("olm-suite-*.tgz")
    return chart


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release: those of the directory OLM_RELEASE_DIRECTORY, or new ones."""
    if given := os.environ.get("OLM_RELEASE_DIRECTORY"):
        return Path(given)
    made = tmp_path_factory.mktemp("release")
    write_release(made)
    return made


@pytest.fixture(scope="session")
def manifests(directory: Path) -> Manifests:
    """The manifests of this working tree, with the image of the release."""
    installed = [each for each in yaml.safe_load_all((directory / INSTALL_FILE).read_text()) if each]
    (image,) = {each["image"] for each in containers(installed)}
    return load_manifests(image)


@pytest.fixture(scope="session")
def helm(directory: Path, helm_program: Path) -> Helm:
    """helm with the chart of the release."""
    return Helm(helm_program, chart_in(directory))
