"""Wrong usage of the commands of authors: exit status 2, in one form, and nothing is written."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from olmctl.main import main
from tests.usage import error_of

COMMANDS = """
bundle build
bundle build none
bundle build empty
bundle build file.txt
bundle build project
bundle build bundle -o none/x.tar
bundle build bundle -t 'A B'
bundle push none r.example.com/x:v1
bundle push empty r.example.com/x:v1
bundle push file.txt r.example.com/x:v1
bundle push project r.example.com/x:v1
bundle push bundle 'A B'
bundle push bundle IMAGE
bundle push bundle
bundle render
bundle render none
bundle render file.txt
bundle render bundle none
bundle render bundle -o xml
bundle render bundle --config none
bundle validate
bundle validate none
bundle validate ./none
bundle validate file.txt
bundle validate ./file.txt
bundle validate 'A B'
bundle validate bundle none
bundle validate bundle --select-optional 'x in ('
bundle validate bundle --select-optional name=none
bundle validate bundle -o xml
bundle scorecard
bundle scorecard none
bundle scorecard file.txt
bundle scorecard bundle -t file.txt
bundle scorecard bundle -t file.txt/x
bundle scorecard 'A B'
bundle scorecard bundle -c none.yaml
bundle scorecard bundle -l 'test in (mine'
bundle scorecard bundle -w soon
bundle run none
bundle run file.txt
bundle run empty
bundle run project
bundle upgrade none
bundle upgrade ./file.txt
bundle upgrade project
bundle permissions ./none
bundle permissions ./file.txt
bundle upload x none
bundle init
bundle init --package No_Label
bundle init --package p
bundle init --package p --maintainers nobody
bundle generate --input-dir bundle
bundle generate --package a/b --input-dir bundle
bundle generate --package p --input-dir none
bundle generate --package p --input-dir empty
bundle generate --package p --deploy-dir none
bundle generate --package p --crds-dir bundle
bundle generate --package p --input-dir bundle --version v0.3.0
bundle generate --package p --input-dir bundle --version 1.0.0 --catalog none
bundle generate --package p --input-dir bundle --channels 'a b'
bundle generate --package p --input-dir bundle --default-channel 'a b'
bundle generate --package p --input-dir bundle --min-kube-version new
bundle generate --package p --input-dir bundle --apis-dir none
bundle generate --package p --input-dir bundle --stdout --output-dir x
catalog add
catalog add bundle
catalog add none
catalog add project --image IMAGE
catalog add none --image IMAGE
catalog add 'A B'
catalog add bundle --image 'A B'
catalog add bundle --image IMAGE --channel 'a b'
catalog add bundle bundle --image IMAGE
catalog add bundle --image IMAGE --catalog template.yaml
catalog add bundle --image IMAGE --template none.yaml
catalog add bundle --image IMAGE --template template.yaml --push r.example.com/x:v1
catalog add bundle --image IMAGE --template template.yaml --catalog catalog
catalog add bundle --image IMAGE --push 'A B'
catalog build none
catalog build file.txt
catalog build catalog -o none/x.tar
catalog push none r.example.com/x:v1
catalog push file.txt r.example.com/x:v1
catalog push catalog 'A B'
catalog validate
catalog validate none
catalog validate template.yaml
catalog validate catalog -o xml
catalog render none
catalog render 'A B'
catalog render template.yaml
catalog render-template none.yaml
catalog render-template basic semver x
catalog graph catalog
catalog graph none --package p
catalog graph template.yaml --package p
catalog init
catalog init p -d none
catalog init p -i none
catalog generate dockerfile none
catalog generate dockerfile template.yaml
catalog generate dockerfile catalog -i 'A B'
"""
IMAGE = f"registry.example.com/a@sha256:{'0' * 64}"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with a bundle, a project with one, a catalog, a template, an empty directory and a file, without a registry and
    a cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("registries.conf").write_text('[[registry]]\nprefix = "docker.io"\nblocked = true\n')
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", "registries.conf")
    shutil.copytree(SAMPLES / "bundles" / "hello-operator" / "0.2.0", "bundle")
    shutil.copytree(SAMPLES / "catalog", "catalog")
    Path("template.yaml").write_text("schema: olm.template.basic\nentries: []\n")
    Path("empty").mkdir()
    Path("file.txt").write_text("no bundle, no catalog and no archive\n")
    shutil.copytree("bundle", "project/bundle")


@pytest.mark.parametrize("command", COMMANDS.strip().splitlines())
def test_wrong_usage_is_said_in_one_form(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    try:
        status: object = main(shlex.split(command.replace("IMAGE", IMAGE)))
    except SystemExit as ended:
        status = ended.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    warnings, usage = err[: err.index("Usage: ")], err[err.index("Usage: ") :]
    assert error_of(usage).strip()
    assert all(line.startswith("warning: ") for line in warnings.splitlines())
    assert sorted(Path().rglob("*")) == before
