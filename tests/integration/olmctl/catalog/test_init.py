"""`olm catalog init`."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from olmctl.main import main
from olmkit.fbc.documents import MAX_DOCUMENT_BYTES
from tests.usage import error_of

PNG = b"\x89PNG\r\n\x1a\n"


def test_json_is_opms_to_the_byte(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "init", "example-extension", "--output", "json"]) == 0
    assert capsys.readouterr() == (
        '{\n    "schema": "olm.package",\n    "name": "example-extension",\n    "defaultChannel": ""\n}\n',
        "",
    )


def test_json_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "init", "p"]) == 0
    assert capsys.readouterr().out.startswith("{\n")


def test_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "init", "no", "-o", "yaml"]) == 0
    assert capsys.readouterr().out == '---\ndefaultChannel: ""\nname: "no"\nschema: olm.package\n'


def test_all_that_a_package_may_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "icon").write_bytes(PNG)
    (tmp_path / "README.md").write_text("# Züge\n")
    flags = ["-c", "stable", "-d", str(tmp_path / "README.md"), "-i", str(tmp_path / "icon")]
    assert main(["catalog", "init", "p", *flags]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["schema", "name", "defaultChannel", "icon", "description"]
    assert found["defaultChannel"] == "stable"
    assert found["description"] == "# Züge\n"
    assert found["icon"] == {"base64data": base64.b64encode(PNG).decode(), "mediatype": "image/png"}


@pytest.mark.parametrize(
    ("flag", "content", "words"),
    [
        pytest.param("--icon", b"GIF", 'detected invalid type "text/plain": not an image', id="an icon that is text"),
        pytest.param("--icon", b"", 'detected invalid type "": not an image', id="an empty icon"),
        pytest.param("--description", b"\xff", "is no text in UTF-8", id="a description that is no text"),
        pytest.param(
            "--description",
            bytes(MAX_DOCUMENT_BYTES // 2 + 1),
            f"is larger than {MAX_DOCUMENT_BYTES // 2**21} MiB, too large for a catalog",
            id="too large",
        ),
    ],
)
def test_invalid_files(
    flag: str, content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert main(["catalog", "init", "p", flag, str(file)]) == 1
    assert capsys.readouterr() == ("", f"{file}: {words}\n")


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "init", "p", "--icon", str(tmp_path / "x")]) == 2
    assert error_of(capsys.readouterr().err) == f"{tmp_path / 'x'}: there is no such file\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["p", "-o", "xml"], 'invalid --output value "xml", expected (json|yaml)', id="another form"),
        pytest.param([], "NAME", id="no name"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["catalog", "init", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_an_empty_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "init", ""]) == 2
    assert error_of(capsys.readouterr().err) == "a package needs a name\n"
