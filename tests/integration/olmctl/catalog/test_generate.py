"""`olm catalog generate dockerfile`."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmctl.main import main
from tests.usage import error_of

LABEL = "LABEL operators.operatorframework.io.index.configs.v1=/configs"


def lines(path: Path) -> list[str]:
    """The instructions of a Dockerfile."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "my-catalog"
    made.mkdir()
    return made


def test_it_is_written_next_to_the_directory_and_builds_on_scratch(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "generate", "dockerfile", str(directory)]) == 0
    assert capsys.readouterr() == ("", "")
    assert lines(directory.parent / "my-catalog.Dockerfile") == ["FROM scratch", "ADD my-catalog /configs", LABEL]


@pytest.mark.parametrize("flag", ["-i", "--binary-image"])
def test_an_image_to_build_on(directory: Path, flag: str) -> None:
    image = "registry.redhat.io/openshift4/ose-operator-registry:v4.14"
    assert main(["catalog", "generate", "dockerfile", f"{directory}/", flag, image]) == 0
    assert lines(directory.parent / "my-catalog.Dockerfile")[0] == f"FROM {image}"


def test_the_current_directory(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory)
    assert main(["catalog", "generate", "dockerfile", "."]) == 0
    assert "ADD my-catalog /configs" in lines(directory.parent / "my-catalog.Dockerfile")


def test_a_name_with_blanks(tmp_path: Path) -> None:
    (tmp_path / "my catalog").mkdir()
    assert main(["catalog", "generate", "dockerfile", str(tmp_path / "my catalog")]) == 0
    assert 'ADD ["my catalog", "/configs"]' in lines(tmp_path / "my catalog.Dockerfile")


def test_an_existing_dockerfile_is_kept(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = directory.parent / "my-catalog.Dockerfile"
    path.write_text("mine")
    assert main(["catalog", "generate", "dockerfile", str(directory)]) == 1
    assert capsys.readouterr().err == f'path "{path}": file already exists: remove it to write it again\n'
    assert path.read_text() == "mine"


def test_a_directory_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "generate", "dockerfile", str(tmp_path / "x")]) == 2
    error = error_of(capsys.readouterr().err)
    assert error == f"{tmp_path / 'x'}: there is no such directory: give the directory of a catalog\n"
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").touch()
    assert main(["catalog", "generate", "dockerfile", str(tmp_path / "x")]) == 2
    assert error_of(capsys.readouterr().err) == f"{tmp_path / 'x'}: is a file: give the directory of a catalog\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("a$b", '"a$b"', id="a variable"),
        pytest.param("a*", '"a*"', id="a pattern"),
        pytest.param("a\nRUN x", '"a\\nRUN x"', id="another instruction"),
    ],
)
def test_names_with_special_characters_of_a_dockerfile(
    name: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).mkdir()
    assert main(["catalog", "generate", "dockerfile", str(tmp_path / name)]) == 1
    assert capsys.readouterr().err == f"a Dockerfile cannot name a directory {shown}: give it another name\n"


@pytest.mark.parametrize("image", ["a b", "x\nRUN y", "$X", "UPPER/case"])
def test_invalid_images(image: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "generate", "dockerfile", str(directory), "-i", image]) == 2
    assert error_of(capsys.readouterr().err).startswith("invalid image pull spec ")
    assert list(directory.parent.iterdir()) == [directory]


def test_a_command_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["catalog", "generate"])
    assert ended.value.code == 2
    assert "COMMAND" in capsys.readouterr().err
