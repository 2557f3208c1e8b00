"""Where manifests are read from: kustomizations, and what happens if they cannot be built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olmctl.main import main
from olmctl.project import inputs
from olmctl.project.manifests import BadInput
from tests.project_input import base, operator, write_all

BUILT = "bundle/manifests/kettle-operator.clusterserviceversion.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "config/default/kustomization.yaml": "namePrefix: my-\nresources: [all.yaml]\n",
        "config/default/all.yaml": operator(),
        "config/manifests/kustomization.yaml": (
            "resources: [bases/kettle-operator.clusterserviceversion.yaml, ../default]\n"
        ),
        "config/manifests/bases/kettle-operator.clusterserviceversion.yaml": base(),
    }
    write_all(tmp_path, files.items())
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "display_name"),
    [
        pytest.param((), "Kettle", id="the kustomization of the project is built"),
        pytest.param(("--input-dir", "config/default"), "Kettle", id="a directory that is a kustomization is built"),
    ],
)
def test_a_kustomization(
    project: Path,
    arguments: tuple[str, ...],
    display_name: str,
    cluster_programs: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(cluster_programs), prepend=os.pathsep)
    assert main(["bundle", "generate", "--package", "kettle-operator", *arguments]) == 0
    text = Path(BUILT).read_text()
    assert f"displayName: {display_name}\n" in text
    assert "name: my-kettle\n" in text


def test_a_kustomization_that_cannot_be_built_is_refused_with_the_words_of_kustomize(
    project: Path, cluster_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cluster_programs), prepend=os.pathsep)
    write_all(project, [("config/default/kustomization.yaml", "resources: [gone.yaml]\n")])
    with pytest.raises(BadInput, match=r"(?s)^kubectl kustomize config/default: .*gone\.yaml"):
        inputs.build(Path("config/default"))


def test_without_kustomize_the_programs_are_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    with pytest.raises(BadInput, match="is a kustomization, and neither kustomize nor kubectl is on the PATH"):
        inputs.build(Path("config/default"))


def test_input_that_is_too_large_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_INPUT_BYTES", 100)
    write_all(project, [("deploy/a.yaml", "# " + 98 * "a" + "\n")])
    with pytest.raises(BadInput, match="has more than"):
        inputs.read_directory(Path("deploy"))
