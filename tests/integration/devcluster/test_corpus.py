"""The corpus as directories and as archives."""

import tarfile
from pathlib import Path

import pytest

from devcluster.corpus import open_corpus, open_dependency_corpus
from devcluster.errors import DevclusterError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLM_CACHE", str(tmp_path / "cache"))


def corpus_directory(parent: Path) -> Path:
    for name in ("catalog", "bundles"):
        (parent / name / "hello").mkdir(parents=True)
        (parent / name / "hello" / "file").write_text(name)
    return parent


def archives(source: Path, into: Path) -> Path:
    into.mkdir()
    for name in ("catalog", "bundles"):
        with tarfile.open(into / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(source / name, name)
    return into


def test_directories_are_used_in_place(tmp_path: Path) -> None:
    directory = corpus_directory(tmp_path / "corpus")
    assert open_corpus(directory) == directory


def test_archives_are_unpacked_once_into_the_cache(tmp_path: Path) -> None:
    packed = archives(corpus_directory(tmp_path / "corpus"), tmp_path / "packed")
    opened = open_corpus(packed)
    assert opened.is_relative_to(tmp_path / "cache")
    assert {path.name: (path / "hello" / "file").read_text() for path in opened.iterdir()} == {
        "catalog": "catalog",
        "bundles": "bundles",
    }
    (opened / "mark").touch()
    assert (open_corpus(packed) / "mark").exists()
    assert sorted(path.name for path in packed.iterdir()) == ["bundles.tar.xz", "catalog.tar.xz"]


def test_other_archives_are_another_corpus(tmp_path: Path) -> None:
    first = open_corpus(archives(corpus_directory(tmp_path / "corpus"), tmp_path / "first"))
    (tmp_path / "corpus" / "catalog" / "hello" / "file").write_text("changed")
    assert open_corpus(archives(tmp_path / "corpus", tmp_path / "second")) != first


def test_the_corpus_of_dependencies_is_a_directory_or_an_archive(tmp_path: Path) -> None:
    source = corpus_directory(tmp_path / "source")
    with pytest.raises(DevclusterError, match=r"contains neither deps/ nor deps\.tar\.xz"):
        open_dependency_corpus(tmp_path)
    with tarfile.open(tmp_path / "deps.tar.xz", "w:xz") as archive:
        for name in ("catalog", "bundles"):
            archive.add(source / name, name)
    opened = open_dependency_corpus(tmp_path)
    assert opened.is_relative_to(tmp_path / "cache")
    assert (opened / "catalog" / "hello" / "file").read_text() == "catalog"
    (tmp_path / "deps").mkdir()
    assert open_dependency_corpus(tmp_path) == tmp_path / "deps"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(
            None,
            "does not contain a catalog and its bundles: give a directory with",
            id="an empty directory is reported with what is missing",
        ),
        pytest.param(b"no archive", "cannot be unpacked", id="an invalid archive is named"),
    ],
)
def test_an_invalid_corpus_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    directory = tmp_path / "directory"
    directory.mkdir()
    if content is not None:
        for name in ("catalog", "bundles"):
            (directory / f"{name}.tar.xz").write_bytes(content)
    with pytest.raises(DevclusterError, match=words):
        open_corpus(directory)


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DevclusterError, match=r"none is not a directory: give a directory with catalog/<package>/"):
        open_corpus(tmp_path / "none")


def test_an_archive_cannot_write_outside_the_cache(tmp_path: Path) -> None:
    packed = archives(corpus_directory(tmp_path / "corpus"), tmp_path / "packed")
    with tarfile.open(packed / "catalog.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "corpus" / "catalog" / "hello" / "file", "catalog/../../../outside")
    with pytest.raises(DevclusterError, match=r"catalog\.tar\.xz cannot be unpacked"):
        open_corpus(packed)
    assert not list(tmp_path.rglob("outside"))
