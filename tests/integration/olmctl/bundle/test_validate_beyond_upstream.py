"""`olm bundle validate`: findings that upstream lacks, optional validators, and the forms for CI."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from olmctl.main import main
from tests.bundle_files import CSV, changed, files, write

TWICE = changed(CSV, spec__skips=["lamp-operator.v1.2.3"])
"""A bundle that skips itself: upstream finds nothing in it."""


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    status = main(["bundle", "validate", *map(str, arguments)])
    return status, capsys.readouterr().out


def outputs(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    (line,) = run(capsys, "-o", "json", *arguments)[1].splitlines()
    found: list[dict[str, Any]] = json.loads(line)["outputs"]
    return found


def test_upstream_hides_what_it_does_not_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write(tmp_path / "b", files(TWICE))
    (found,) = outputs(capsys, bundle)
    assert (found["type"], found["rule"], found["extra"]) == ("error", "skips", True)
    assert (found["file"], found["line"] > 0, found["hint"]) == ("manifests/csv.yaml", True, "Remove it.")
    assert run(capsys, bundle)[0] == 1
    assert run(capsys, "--upstream", bundle) == (0, f"{bundle}: passed\n")


def test_the_files_of_a_bundle_that_cannot_be_loaded_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = write(tmp_path / "b", files(b"a: [") | {"metadata/properties.yaml": b"a: ["})
    load, *others = outputs(capsys, bundle)
    assert (load["validator"], load["extra"]) == ("load", False)
    assert {each["rule"] for each in others} == {"properties-file", "unreadable-file"}
    assert [each["rule"] for each in outputs(capsys, "--upstream", bundle)] == ["load"]


def test_optional_validators_are_selected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write(tmp_path / "b", files())
    selected = outputs(capsys, "--select-optional", "name in (operatorhubv2,good-practices)", bundle)
    assert {each["validator"] for each in selected} == {"operatorhubv2", "good-practices"}
    values = ("--optional-values", "k8s-version=new", "--select-optional", "name=alpha-deprecated-apis")
    (found,) = outputs(capsys, *values, bundle)
    assert found["message"].endswith("invalid value informed via the k8s key option : new")
    assert run(capsys, *values, bundle)[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--select-optional", "name=new"), id="a selector of nothing"),
        pytest.param(("--select-optional", "name="), id="an empty name"),
        pytest.param(("--optional-values", "k8s-version"), id="a value without a key"),
        pytest.param(("-o", "xml"), id="another form"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(capsys, *arguments, write(tmp_path / "b", files()))
    assert ended.value.code == 2


def test_the_validators_are_listed_without_a_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = run(capsys, "--list-optional")
    assert status == 0
    assert [line.split()[0] for line in text.splitlines()][:3] == ["NAME", "operatorhubv2", "capabilities"]


def test_forms_for_ci_name_all_bundles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = write(tmp_path / "a", files()), write(tmp_path / "b", files(TWICE))
    status, text = run(capsys, "-o", "sarif", right, wrong)
    (result,) = json.loads(text)["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert (status, uri) == (1, f"file://{wrong}/manifests/csv.yaml")
    status, text = run(capsys, "-o", "junit", right, wrong)
    assert [(suite.get("name"), suite.get("failures")) for suite in ET.fromstring(text)] == [
        (str(right), "0"),
        (str(wrong), "1"),
    ]
    assert status == 1
