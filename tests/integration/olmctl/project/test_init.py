"""`olm bundle init`: the base and the kustomization that it writes, and when it asks."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from olmctl.main import main
from tests.project_input import write_all
from tests.usage import error_of

BASE = "config/manifests/bases/kettle-operator.clusterserviceversion.yaml"
ANSWERS = ("--description", "Boils water.", "--provider", "Tea", "--maintainers", "Ada:ada@example.com")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments: str) -> int:
    return main(["bundle", "init", "--package", "kettle-operator", *arguments])


def test_without_a_terminal_the_missing_answers_are_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert init("--provider", "Tea") == 2
    assert (
        error_of(capsys.readouterr().err)
        == "--description, --maintainers: must be given, because there is no terminal to ask on\n"
    )
    assert list(Path().iterdir()) == []


def test_the_answers_are_in_the_base_and_a_second_run_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*ANSWERS, "--provider-url", "https://tea.example.com") == 0
    assert capsys.readouterr().out == f"{BASE} written\nconfig/manifests/kustomization.yaml written\n"
    text = Path(BASE).read_text()
    assert (
        text
        == """\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  annotations:
    alm-examples: '[]'
    capabilities: Basic Install
  name: kettle-operator.v0.0.0
  namespace: placeholder
spec:
  apiservicedefinitions: {}
  customresourcedefinitions: {}
  description: Boils water.
  displayName: Kettle Operator
  install:
    spec:
      deployments: null
    strategy: ""
  installModes:
  - supported: false
    type: OwnNamespace
  - supported: false
    type: SingleNamespace
  - supported: false
    type: MultiNamespace
  - supported: true
    type: AllNamespaces
  keywords:
  - kettle-operator
  links:
  - name: Kettle Operator
    url: https://tea.example.com
  maintainers:
  - email: ada@example.com
    name: Ada
  maturity: alpha
  provider:
    name: Tea
    url: https://tea.example.com
  version: 0.0.0
"""
    )
    assert init() == 0
    assert capsys.readouterr().out == f"{BASE} answers everything: nothing is written\n"
    assert Path(BASE).read_text() == text


def test_an_option_changes_its_answer_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*ANSWERS) == 0
    before = Path(BASE).read_text()
    Path(BASE).write_text(f"# Mine.\n{before}")
    capsys.readouterr()
    assert init("--keywords", "tea,water") == 0
    assert Path(BASE).read_text() == before.replace("- kettle-operator\n", "- tea\n  - water\n")
    assert capsys.readouterr().err == f"warning: {BASE} is written anew, without its comments\n"


def test_the_kustomization_has_the_parts_of_the_project_that_exist(project: Path) -> None:
    write_all(project, [(f"config/{name}/kustomization.yaml", "resources: []\n") for name in ("default", "samples")])
    assert init(*ANSWERS) == 0
    assert Path("config/manifests/kustomization.yaml").read_text().splitlines()[1:] == [
        "resources:",
        "- bases/kettle-operator.clusterserviceversion.yaml",
        "- ../default",
        "- ../samples",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            (*ANSWERS[:-1], "Ada"), "--maintainers: Ada is no maintainer", id="a maintainer without an address"
        ),
        pytest.param((*ANSWERS, "--provider-url", "tea"), "--provider-url: tea is no URL", id="no URL"),
        pytest.param(("--description", " "), "--description: is empty", id="an empty answer"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(*arguments) == 2
    assert error_of(capsys.readouterr().err).startswith(message)
    assert not Path(BASE).exists()


def test_a_base_that_cannot_be_read_is_refused_at_its_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_all(project, [(BASE, "a: b\nc: [\n")])
    assert init(*ANSWERS) == 1
    assert capsys.readouterr().err.startswith(f"{BASE}:3: is no YAML")


def test_on_a_terminal_what_is_open_is_asked_until_there_is_an_answer() -> None:
    answers = "\nBoils water.\n\nhttps://tea.example.com\n\nsomeone AT example.com\nAda:ada@example.com\n"
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "olmctl", "bundle", "init", "--package", "kettle-operator", "--provider", "Tea"]
    with subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=os.environ) as process:
        os.close(terminal)
        os.write(controller, answers.encode())
        assert process.wait(30) == 0
    os.close(controller)
    text = Path(BASE).read_text()
    for line in (
        "displayName: Kettle Operator",
        "description: Boils water.",
        "- kettle-operator",
        "email: ada@example.com",
    ):
        assert line in text


def test_a_name_that_no_catalog_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*ANSWERS, "--package", "Foo_Bar") == 2
    assert error_of(capsys.readouterr().err).startswith(
        "'Foo_Bar' is no name of a package: lower-case letters and digits, joined by '-'"
    )
    assert list(Path().iterdir()) == []
