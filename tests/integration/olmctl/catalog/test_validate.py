"""`olm catalog validate`: its output and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from olmctl.main import main
from tests.usage import error_of

VALID = (
    '{"schema":"olm.package","name":"p","defaultChannel":"c"}\n'
    '{"schema":"olm.channel","name":"c","package":"p","entries":[{"name":"b"}]}\n'
    '{"schema":"olm.bundle","name":"b","package":"p","image":"i",'
    '"properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}}]}'
)
TREE = 'invalid index:\n└── invalid package "p":\n    └── default channel must be set'


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A valid catalog."""
    (tmp_path / "catalog.json").write_text(VALID)
    return tmp_path


@pytest.fixture
def refused(directory: Path) -> Path:
    """A catalog without a default channel."""
    (directory / "catalog.json").write_text(VALID.replace("defaultChannel", "default"))
    return directory


def test_nothing_is_printed_for_a_valid_catalog(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "validate", str(directory)]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_refused_catalog_is_reported_on_stderr(refused: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "validate", str(refused)]) == 1
    assert capsys.readouterr() == ("", f"{TREE}\n")


def test_a_blob_that_cannot_be_read_is_reported_with_file_and_line(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "catalog.json").write_text(VALID.replace('"c"}', "5}"))
    assert main(["catalog", "validate", str(directory)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "parse package: json: cannot unmarshal number into Go struct field Package.defaultChannel of type string",
        'in catalog.json, line 1: package "p"',
    ]


@pytest.mark.parametrize("flag", ["-o", "--output"])
def test_json_is_opms_to_the_byte(refused: Path, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "validate", str(refused), flag, "json"]) == 1
    text = TREE.replace("\n", "\\n").replace('"', '\\"')
    assert capsys.readouterr() == (f'{{\n  "passed": false,\n  "error": {{\n    "message": "{text}"\n  }}\n}}\n', "")


def test_json_of_a_valid_catalog(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "validate", "-o", "json", str(directory)]) == 0
    assert capsys.readouterr().out == '{\n  "passed": true\n}\n'


def test_json_escapes_what_go_escapes(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "catalog.json").write_text(VALID.replace('"name":"b"}]', '"name":"b","skipRange":"<v1"}]'))
    assert main(["catalog", "validate", "-o", "json", str(directory)]) == 1
    out = capsys.readouterr().out
    assert "\\u003cv1" in out
    assert "<" not in out
    assert 'invalid skipRange "<v1"' in json.loads(out)["error"]["message"]


def test_yaml(refused: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "validate", "-o", "yaml", str(refused)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("error:\n  message: |-\n    invalid index:\n    └── invalid package")
    assert yaml.safe_load(out) == {"passed": False, "error": {"message": TREE}}


def test_another_form_of_output(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "validate", str(directory), "-o", "xml"]) == 2
    assert error_of(capsys.readouterr().err) == 'invalid --output value "xml", expected (json|yaml)\n'


def test_a_file_is_no_directory(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = directory / "catalog.json"
    assert main(["catalog", "validate", str(file)]) == 2
    assert error_of(capsys.readouterr().err).startswith(f"{file}: is a file: give the directory of a catalog")


def test_what_is_not_there(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "validate", str(directory / "x")]) == 2
    error = error_of(capsys.readouterr().err)
    assert error.startswith(f"{directory / 'x'}: there is no such directory: give the directory of a catalog")


def test_a_command_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["catalog"])
    assert ended.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_as_a_process_whatever_the_locale(refused: Path) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "olmctl", "catalog", "validate", str(refused)]
    ran = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.decode()) == (1, b"", f"{TREE}\n")


def test_a_closed_pipe_is_no_traceback(refused: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "olmctl", "catalog", "validate", "-o", "json", str(refused)]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")
