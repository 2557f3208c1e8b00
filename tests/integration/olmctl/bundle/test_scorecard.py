"""`olm bundle scorecard` without a cluster."""

from __future__ import annotations

import json
import shutil
from itertools import count
from pathlib import Path

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from olmctl import work_limits
from olmctl.bundle.scorecard import places
from olmctl.main import main
from olmctl.scorecard import bundle_tests
from olmctl.scorecard.configuration import TestSpec
from tests.usage import error_of

CONFIG = """\
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
stages:
- tests:
  - image: mirror.example.com/team/scorecard-test@sha256:1
    entrypoint: [scorecard-test, olm-bundle-validation]
    labels: {suite: olm, test: olm-bundle-validation-test}
  - image: quay.io/team/custom:v1
    entrypoint: [scorecard-test, basic-check-spec]
    labels: {suite: custom, test: custom-test}
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of a bundle with a configuration."""
    made = Path(shutil.copytree(SAMPLES / "bundles" / "hello-operator" / "0.1.0", tmp_path / "bundle"))
    (made / "tests" / "scorecard").mkdir(parents=True)
    (made / "tests" / "scorecard" / "config.yaml").write_text(CONFIG)
    return made


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["bundle", "scorecard", *map(str, arguments), "--kubeconfig", "/no/such/file"])
    return status, *capsys.readouterr()


def test_a_bundle_without_a_configuration_has_the_built_in_tests(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(bundle / "tests")
    status, out, err = run(capsys, bundle, "-o", "json")
    states = {each["labels"]["test"]: each for each in (item["spec"] for item in json.loads(out)["items"])}
    assert len(states) == 6
    assert (status, err) == (1, "")
    assert run(capsys, bundle, "-l", "test=olm-bundle-validation-test")[0] == 0
    status, out, err = run(capsys, bundle, "-l", "suite=none")
    assert (status, out) == (0, "0 tests selected\n")
    assert err.startswith("warning: no test matches --selector suite=none: there are suite=")
    assert json.loads(run(capsys, bundle, "-l", "suite=none", "-o", "json")[1])["items"] == []


def test_a_test_that_needs_a_cluster_is_not_run_without_one(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, bundle, "-o", "json")
    own, other = (item["status"]["results"] for item in json.loads(out)["items"])
    assert (status, own[0]["state"], other[0]["state"]) == (1, "pass", "error")
    assert other[0]["errors"][0].startswith("it was not run, because it needs a cluster: ")
    assert run(capsys, bundle, "-l", "suite=olm")[0] == 0


def test_the_tests_are_listed_without_being_run(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, bundle, "-L")
    assert (status, out.count("Image: "), "State" in out) == (0, 2, False)


def test_results_are_kept_in_files(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, bundle, "-t", tmp_path / "out", "-l", "suite=olm")
    kept = tmp_path / "out" / "olm" / "olm-bundle-validation-test"
    assert sorted(path.name for path in kept.iterdir()) == ["log.txt", "results.json"]


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        pytest.param([("olm", "a"), ("olm", "b")], ["olm/a", "olm/b"], id="tests of different labels"),
        pytest.param([("olm", "a"), ("olm", "a"), ("x", "a")], ["olm/a", "olm/a-2", "x/a"], id="the same labels"),
        pytest.param([("o", "a"), ("o", "a-2"), ("o", "a")], ["o/a", "o/a-2", "o/a-3"], id="a label with a number"),
        pytest.param([("", ""), ("", "")], ["other/test-1", "other/test-2"], id="no labels"),
        pytest.param([("..", "a/b")], ["other/a_b"], id="labels that are paths"),
        pytest.param([("o" * 300, "é" * 300)], [f"{'o' * 200}/{'é' * 100}"], id="labels of any length"),
    ],
)
def test_each_test_has_a_directory_of_its_own(labels: list[tuple[str, str]], found: list[str]) -> None:
    tests = [TestSpec("image", (), {"suite": suite, "test": test}) for suite, test in labels]
    assert ["/".join(each) for each in places(tests)] == found


@pytest.mark.parametrize("place", ["olm", "olm/olm-bundle-validation-test"])
def test_links_that_a_checkout_brings_are_not_followed(
    place: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, link = tmp_path / "other", tmp_path / "out" / place
    for path in (other / "olm-bundle-validation-test", link.parent):
        path.mkdir(parents=True)
    link.symlink_to(other)
    run(capsys, bundle, "-t", tmp_path / "out", "-l", "suite=olm")
    assert [path.name for path in other.rglob("*")] == ["olm-bundle-validation-test"]
    kept = tmp_path / "out" / "olm" / "olm-bundle-validation-test"
    assert sorted(path.name for path in kept.iterdir()) == ["log.txt", "results.json"]


def test_a_link_at_the_place_for_stored_files_is_refused(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = bundle / "tests" / "scorecard" / "config.yaml"
    config.write_text(f"{CONFIG}storage: {{spec: {{mountPath: {{path: /files}}}}}}\n")
    monkeypatch.chdir(tmp_path)
    Path("test-output").symlink_to(bundle)
    status, _, err = run(capsys, bundle)
    assert (status, err.startswith("test-output is a link, which is not followed")) == (1, True), err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["-c", "/no/file"], "--config /no/file: there is no such file", id="none"),
        pytest.param(["-l", "=x"], 'unable to parse requirement: "=x" has no form such as suite=olm', id="a selector"),
    ],
)
def test_wrong_arguments(arguments: list[str], words: str, bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, bundle, *arguments)
    assert (status, out, words in error_of(err)) == (2, "", True)


def test_what_is_no_bundle_is_named(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bundle / "tests" / "scorecard" / "config.yaml").write_text("kind: Configuration\n")
    assert f"{bundle}/tests/scorecard/config.yaml: it is" in run(capsys, bundle)[2]
    shutil.rmtree(bundle / "manifests")
    fault, hint = run(capsys, bundle)[2].splitlines()
    assert "unable to find a csv in bundle directory" in fault
    assert hint.startswith("Add a file with the ClusterServiceVersion")
    assert "no such directory" in run(capsys, bundle / "none b")[2]


def test_checks_without_end_are_an_error_of_their_test(
    bundle: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_limits, "SECONDS", 0.2)
    monkeypatch.setitem(bundle_tests.TESTS, "olm-bundle-validation", lambda _: sum(each * 0 for each in count()))
    status, out, _ = run(capsys, bundle, "-l", "suite=olm", "-o", "json")
    ((result,),) = (item["status"]["results"] for item in json.loads(out)["items"])
    assert (status, result["state"]) == (1, "error")
    assert result["errors"] == ["its checks take more than 0.2 s of CPU time"]
    monkeypatch.setattr("olmctl.bundle.scorecard.load_bundle", lambda *_: sum(each * 0 for each in count()))
    assert run(capsys, bundle) == (1, "", f"{bundle}: its checks take more than 0.2 s of CPU time\n")
