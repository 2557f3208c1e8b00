"""The objects of config/ as release reads them, and as kubectl does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.kustomization import objects_of
from release.suite import CONFIG

DIGEST = "sha256:" + "ab" * 32
OTHER_DIGEST = "sha256:" + "cd" * 32
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: example
spec:
  template:
    spec:
      containers:
      - name: example
        image: {}
"""


def by_name(objects: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The objects by kind, namespace and name."""
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}


def objects_of_kubectl(programs: Path, directory: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The objects that kubectl prints for a directory."""
    command = [str(programs / "kubectl"), "kustomize", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return by_name(each for each in yaml.load_all(done.stdout, yaml.CSafeLoader) if each)


@pytest.mark.parametrize("directory", ["default", "prometheus"])
def test_the_objects_are_those_of_kubectl(cluster_programs: Path, directory: str) -> None:
    assert by_name(objects_of(CONFIG / directory)) == objects_of_kubectl(cluster_programs, CONFIG / directory)


@pytest.mark.parametrize(
    ("image", "change", "expected"),
    [
        pytest.param("suite", {"newTag": "v1"}, "suite:v1", id="a name alone gets a tag"),
        pytest.param("suite:v0", {"newTag": "v1"}, "suite:v1", id="another tag"),
        pytest.param("suite:v0", {"digest": DIGEST}, f"suite@{DIGEST}", id="a digest instead of a tag"),
        pytest.param(f"suite@{DIGEST}", {"newTag": "v1"}, "suite:v1", id="a tag instead of a digest"),
        pytest.param(f"suite:v0@{DIGEST}", {"digest": OTHER_DIGEST}, f"suite@{OTHER_DIGEST}", id="another digest"),
        pytest.param(
            "suite:v0", {"newTag": "v1", "digest": DIGEST}, f"suite:v1@{DIGEST}", id="both a tag and a digest"
        ),
        pytest.param(
            f"suite:v0@{DIGEST}", {"newName": "localhost:5000/x"}, f"localhost:5000/x:v0@{DIGEST}", id="another name"
        ),
        pytest.param("suite", {"newName": "localhost:5000/x"}, "localhost:5000/x", id="another name, without a tag"),
        pytest.param(
            "localhost:5000/suite:v0",
            {"name": "localhost:5000/suite", "newTag": "v1"},
            "localhost:5000/suite:v1",
            id="a name with a port",
        ),
        pytest.param("suite-two:v0", {"newTag": "v1"}, "suite-two:v0", id="the image of another name"),
    ],
)
def test_images_are_changed_as_kubectl_changes_them(
    cluster_programs: Path, tmp_path: Path, image: str, change: dict[str, str], expected: str
) -> None:
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT.format(image))
    spec = {"resources": ["deployment.yaml"], "images": [{"name": "suite", **change}]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(spec))
    (found,) = objects_of(tmp_path)
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == expected
    assert by_name([found]) == objects_of_kubectl(cluster_programs, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("patches: []\n", "unknown fields patches", id="a field that is not known"),
        pytest.param(
            "labels:\n- pairs: {}\n  includeSelectors: true\n",
            "of the fields of labels only pairs is known",
            id="a field of labels that is not known",
        ),
        pytest.param(
            "images:\n- name: a\n  tagSuffix: -b\n", "unknown fields of images tagSuffix", id="a field of an image"
        ),
    ],
)
def test_what_is_not_known_of_a_kustomization_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(f"resources: []\n{text}")
    with pytest.raises(ValueError, match=message):
        objects_of(tmp_path)
