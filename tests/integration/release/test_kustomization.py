"""The objects of config/ as release reads them, and as kubectl does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.kustomization import CONFIG, objects_of


def by_name(objects: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The objects by kind, namespace and name."""
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}


@pytest.mark.parametrize("folder", ["default", "prometheus"])
def test_the_objects_are_those_of_kubectl(cluster_programs: Path, folder: str) -> None:
    done = subprocess.run(
        [cluster_programs / "kubectl", "kustomize", CONFIG / folder], capture_output=True, text=True, check=True
    )
    assert by_name(objects_of(CONFIG / folder)) == by_name(each for each in yaml.safe_load_all(done.stdout) if each)
