"""The directories that arguments mean, and the error about one that is no bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmctl.directory_files import is_directory_meant, no_manifests


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        pytest.param("bundle", True, id="a word, which an image with its registry is not"),
        pytest.param("./registry.example.com/bundle", True, id="a path that begins with a dot"),
        pytest.param("/a:v1", True, id="an absolute path"),
        pytest.param("A B", True, id="no reference"),
        pytest.param("there/file.yaml", True, id="a path that exists"),
        pytest.param("other/file.yaml", False, id="a path that does not exist"),
        pytest.param("registry.example.com/bundle:v1", False, id="an image"),
        pytest.param("bundle:v1", False, id="an image of the default registry"),
    ],
)
def test_what_an_argument_means(text: str, is_meant: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("there", "file.yaml").touch()
    assert is_directory_meant(text) is is_meant


@pytest.mark.parametrize(
    ("directories", "example"),
    [
        pytest.param([], "", id="an empty directory"),
        pytest.param(["config/manifests", "bundle/manifests"], ", such as project/bundle", id="a project"),
        pytest.param(["config/manifests"], "", id="a project without a bundle"),
        pytest.param(["0.2.0/manifests", "0.2.0/metadata"], ", such as project/0.2.0", id="versions"),
        pytest.param(["manifests"], "", id="a bundle without a file"),
    ],
)
def test_a_directory_that_is_no_bundle(
    directories: list[str], example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for each in ("", *directories):
        Path("project", each).mkdir(parents=True)
    wanted = f"give the directory of one version of one bundle{example}"
    assert no_manifests(Path("project")) == f'project has no "manifests" directory with files in it: {wanted}'
