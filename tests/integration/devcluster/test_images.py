"""The command that pushes a catalog: errors are one sentence, with exit status 1."""

from pathlib import Path

import pytest

from devcluster.errors import DevclusterError
from devcluster.images import Content, main

NOBODY = "127.0.0.1:1"


def directory_with(tmp_path: Path, text: str, name: str = "catalog.json") -> Path:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "catalog" / "p").mkdir(parents=True)
    (tmp_path / "catalog" / "p" / name).write_text(text)
    return tmp_path


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 1
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def test_a_missing_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = refusal([NOBODY, str(tmp_path / "none"), "x:latest"], capsys)
    assert output.startswith(
        f"There is no directory {tmp_path / 'none' / 'catalog'}: the directory with the catalog contains "
    )


def test_a_catalog_without_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "bundles").mkdir()
    output = refusal([NOBODY, str(tmp_path), "x:latest"], capsys)
    assert output == f"{tmp_path / 'catalog'} does not contain a directory of a package.\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("catalog.json", "{", "does not parse: "),
        ("catalog.yaml", "a: [", "does not parse: "),
        ("catalog.json", "[1]", "contains a value that is not a blob with schema"),
        (
            "catalog.yaml",
            "schema: olm.bundle\nname: p.v1",
            "contains a value that is not a blob with schema, package, name",
        ),
    ],
)
def test_an_invalid_catalog_file_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    directory = directory_with(tmp_path, text, name)
    with pytest.raises(DevclusterError, match=words) as output:
        Content(directory / "catalog", directory / "bundles").blobs("p")
    assert str(output.value).startswith(str(directory / "catalog" / "p" / name))


@pytest.mark.parametrize(
    ("registry", "words"),
    [
        (
            NOBODY,
            f"{NOBODY}/x:latest cannot be pushed: blob 1 of 2 is not pushed: registry {NOBODY} does not answer: "
            "connection refused",
        ),
        (
            "a:b",
            'a:b/x:latest cannot be pushed: image reference "a:b/x:latest" cannot be read: "a:b" is not a host name',
        ),
    ],
)
def test_an_unreachable_registry(registry: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = directory_with(tmp_path, '{"schema": "olm.package", "name": "p"}')
    assert words in refusal([registry, str(directory), "x:latest"], capsys)


def test_an_excluded_bundle_that_does_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = directory_with(tmp_path, '{"schema": "olm.package", "name": "p"}')
    output = refusal([NOBODY, str(directory), "x:latest", "--without", "p.v1"], capsys)
    assert output == "The catalog has no bundle 'p.v1' that could be left out: 0 bundles have other names.\n"
