"""The source that a spec asks for, and the Secrets and ConfigMaps it refers to."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.catalogs import CatalogSource
from olmkit.errors import Blocked
from olmkit.sources.errors import BadReference
from olmkit.sources.source import GitReference, GitSource, HttpSource, ImageSource, RefKind
from olmkit.sources.spec_source import InputReference, input_references, secret_name, source_of
from tests.unit.olmkit.sources.spec_rows import AUTH, DIGEST, REPOSITORY, URL, of_git, of_http, of_maps

SOURCES = [
    pytest.param({"type": "image", "image": {"ref": "r/c:v1"}}, ImageSource("r/c:v1"), (), id="an image"),
    pytest.param(
        {"type": "image", "image": {"ref": "r/c:v1", "pullSecret": "login"}},
        *(ImageSource("r/c:v1"), (InputReference("Secret", "login"),)),
        id="an image with a pull secret",
    ),
    pytest.param(of_git(), GitSource(REPOSITORY, GitReference(RefKind.BRANCH, "main")), (), id="a branch"),
    pytest.param(
        of_git(ref={"tag": "v1"}, directory="./a/b/", **AUTH),
        GitSource(REPOSITORY, GitReference(RefKind.TAG, "v1"), "a/b", True),
        (InputReference("Secret", "login"),),
        id="a directory at a tag, with a login",
    ),
    pytest.param(
        of_git(ref={"commit": "c" * 40}, directory="."),
        GitSource(REPOSITORY, GitReference(RefKind.COMMIT, "c" * 40)),
        (),
        id="the whole at a commit",
    ),
    pytest.param(of_http(), HttpSource(URL), (), id="an archive"),
    pytest.param(
        of_http(checksum=DIGEST, **AUTH),
        HttpSource(URL, DIGEST, True),
        (InputReference("Secret", "login"),),
        id="an archive with a checksum and a login",
    ),
    pytest.param(
        of_maps("a", "b"),
        None,
        (InputReference("ConfigMap", "a"), InputReference("ConfigMap", "b")),
        id="ConfigMaps, read when the job starts",
    ),
    pytest.param(
        {**of_maps("a"), "image": {"ref": "r/c:v1", "pullSecret": "login"}},
        *(None, (InputReference("ConfigMap", "a"),)),
        id="fields of other types do not count",
    ),
]


@pytest.mark.parametrize(("spec", "source", "needs"), SOURCES)
def test_sources(spec: dict[str, Any], source: Any, needs: tuple[InputReference, ...]) -> None:
    model = CatalogSource.load(spec)
    assert source_of(model) == source
    assert tuple(input_references(model)) == needs
    assert secret_name(model) == next((each.name for each in needs if each.kind == "Secret"), "")


@pytest.mark.parametrize(("directory", "root"), [(".hidden", ".hidden"), ("./a/", "a"), ("a/.b", "a/.b")])
def test_a_directory_keeps_its_name(directory: str, root: str) -> None:
    found = source_of(CatalogSource.load(of_git(directory=directory)))
    assert isinstance(found, GitSource)
    assert found.directory == root


@pytest.mark.parametrize("directory", ["../a", "/a", "a/../b"])
def test_a_directory_outside_the_repository_is_refused(directory: str) -> None:
    with pytest.raises(BadReference):
        source_of(CatalogSource.load(of_git(directory=directory)))


@pytest.mark.parametrize("path", ["../a", "/a", "a/../b"])
def test_a_path_outside_the_content_is_refused_before_a_configmap_is_read(path: str) -> None:
    members = [{"configMap": {"name": "a"}}, {"configMap": {"name": "b"}, "path": path}]
    with pytest.raises(BadReference, match=f'path "{path}" is not a path within the content'):
        source_of(CatalogSource.load({"type": "configMaps", "configMaps": members}))


def test_a_source_without_the_member_of_its_type_is_refused() -> None:
    with pytest.raises(Blocked, match=r"set spec.source.git: a source of type git needs it"):
        source_of(CatalogSource.load({"type": "git", "image": {"ref": "r/c:v1"}}))
