"""The command that pushes a catalog: what is wrong with a call is said in one sentence, with exit status 1."""

from pathlib import Path

import pytest

from devcluster.errors import DevclusterError
from devcluster.images import Content, main

NOBODY = "127.0.0.1:1"


def folder_with(tmp_path: Path, text: str, name: str = "catalog.json") -> Path:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "catalog" / "p").mkdir(parents=True)
    (tmp_path / "catalog" / "p" / name).write_text(text)
    return tmp_path


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert told.out == ""
    return told.err


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refusal([NOBODY, str(tmp_path / "none"), "x:latest"], capsys)
    assert told.startswith(f"There is no folder {tmp_path / 'none' / 'catalog'}: the folder with the catalog holds ")


def test_a_catalog_without_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "bundles").mkdir()
    told = refusal([NOBODY, str(tmp_path), "x:latest"], capsys)
    assert told == f"{tmp_path / 'catalog'} holds no folder of a package.\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("catalog.json", "{", "does not parse: "),
        ("catalog.yaml", "a: [", "does not parse: "),
        ("catalog.json", "[1]", "holds something else than blobs with schema"),
        (
            "catalog.yaml",
            "schema: olm.bundle\nname: p.v1",
            "holds something else than blobs with schema, package, name",
        ),
    ],
)
def test_a_file_that_is_no_catalog_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    folder = folder_with(tmp_path, text, name)
    with pytest.raises(DevclusterError, match=words) as told:
        Content(folder / "catalog", folder / "bundles").blobs("p")
    assert str(told.value).startswith(str(folder / "catalog" / "p" / name))


@pytest.mark.parametrize(
    ("registry", "words"),
    [(NOBODY, f"The registry {NOBODY} does not answer"), ("a:b", "There is no registry at 'a:b', as host:port")],
)
def test_a_registry_that_is_not_there(
    registry: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(tmp_path, '{"schema": "olm.package", "name": "p"}')
    assert words in refusal([registry, str(folder), "x:latest"], capsys)


def test_a_bundle_that_cannot_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_with(tmp_path, '{"schema": "olm.package", "name": "p"}')
    told = refusal([NOBODY, str(folder), "x:latest", "--without", "p.v1"], capsys)
    assert told == "The catalog has no bundle 'p.v1' that could be left out: 0 bundles have other names.\n"
