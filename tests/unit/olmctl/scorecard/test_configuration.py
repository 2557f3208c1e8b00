"""The configuration of the scorecard."""

from __future__ import annotations

import pytest

from olmctl.scorecard.configuration import (
    BadConfiguration,
    Configuration,
    Stage,
    TestSpec,
    configuration_file,
    read_configuration,
)
from olmkit.gocompat.label_selectors import Selector

TEXT = b"""\
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: config}
serviceaccount: tester
storage: {spec: {mountPath: {path: /files}}}
stages:
- parallel: true
  tests:
  - image: quay.io/operator-framework/scorecard-test:v1.42.3
    entrypoint: [scorecard-test, basic-check-spec]
    labels: {suite: basic, test: basic-check-spec-test}
- tests:
  - image: quay.io/team/custom:v1
    labels: {suite: custom}
    storage: {spec: {mountPath: {path: /other}}}
"""
BUILTIN = TestSpec(
    "quay.io/operator-framework/scorecard-test:v1.42.3",
    ("scorecard-test", "basic-check-spec"),
    {"suite": "basic", "test": "basic-check-spec-test"},
)
CUSTOM = TestSpec("quay.io/team/custom:v1", (), {"suite": "custom"}, "/other")


def test_stages_of_tests() -> None:
    found = read_configuration(TEXT)
    assert found == Configuration((Stage((BUILTIN,), is_parallel=True), Stage((CUSTOM,))), "tester", "/files")
    assert (found.tests, BUILTIN.builtin, CUSTOM.builtin) == ((BUILTIN, CUSTOM), "basic-check-spec", "")
    assert (BUILTIN.name, CUSTOM.name) == ("basic-check-spec-test", "quay.io/team/custom:v1")


def test_a_stage_without_selected_tests_is_left_out() -> None:
    found = read_configuration(TEXT).selected(Selector.parse("suite=custom"))
    assert found.stages == (Stage((CUSTOM,)),)
    assert read_configuration(TEXT).selected(Selector.parse("suite=none")).tests == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("v1alpha3", "v1alpha2", "and not Configuration of scorecard", id="another version"),
        pytest.param("kind: Configuration", "kind: [", "yaml: line", id="no YAML"),
        pytest.param("stages:", "stages: 3\nx:", "stages is no list", id="no stages"),
        pytest.param("parallel: true", "parallel: 3", r"stages\[0\]\.parallel is neither", id="no boolean"),
        pytest.param(
            "image: quay.io/team/custom:v1", "name: x", r"stages\[1\]\.tests\[0\] has no image", id="no image"
        ),
        pytest.param("[scorecard-test, basic-check-spec]", "[1]", r"entrypoint is no list of strings", id="a number"),
        pytest.param("{suite: custom}", "{suite: 1}", r"labels has a value that is no string", id="a label"),
        pytest.param("tester", "Tester!", "is no name of a ServiceAccount", id="a name"),
        pytest.param("/other", "other", "is no directory for files of a test", id="a relative path"),
        pytest.param("/files", "/bundle", "is no directory for files of a test", id="the path of the bundle"),
    ],
)
def test_what_cannot_be_read_is_named(old: str, new: str, words: str) -> None:
    assert old in TEXT.decode()
    with pytest.raises(BadConfiguration, match=words):
        read_configuration(TEXT.decode().replace(old, new).encode())


def test_the_file_in_a_bundle() -> None:
    label = "operators.operatorframework.io.test.config.v1"
    assert configuration_file({}) == "tests/scorecard/config.yaml"
    assert configuration_file({label: "my/tests/"}) == "my/tests/config.yaml"
    with pytest.raises(BadConfiguration, match="which is outside the bundle"):
        configuration_file({label: "../x"})


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        pytest.param([], "the configuration has no tests", id="no tests"),
        pytest.param([{}], "no test matches --selector suite=x: none has labels", id="tests without labels"),
        pytest.param(
            [{"suite": "b"}, {"suite": "a", "test": "c"}],
            "no test matches --selector suite=x: there are suite=a, suite=b, test=c",
            id="tests with labels",
        ),
        pytest.param(
            [{"test": str(number)} for number in range(12)],
            "test=5, test=6, test=7 and 2 more",
            id="tests with many labels",
        ),
    ],
)
def test_a_selector_that_selects_no_test(labels: list[dict[str, str]], words: str) -> None:
    found = Configuration((Stage(tuple(TestSpec("image", labels=each) for each in labels)),))
    assert found.unmatched("suite=x").endswith(words)
