"""The outcomes of tests in each format."""

from __future__ import annotations

import json
from xml.etree.ElementTree import fromstring

import pytest

from olmctl.scorecard.configuration import TestSpec
from olmctl.scorecard.output import MAX_LOG_LINES, as_json, as_text, as_xunit
from olmctl.scorecard.results import Outcome, Result, State, results_of

SPEC = TestSpec("i:v1", ("scorecard-test", "a"), {"test": "a-test", "suite": "olm"})
FAILED = Outcome(SPEC, (Result("a", State.FAIL, ["one", "two\nlines"], ["do this"], "log \x1b[0m"),), 1.5)
PASSED = Outcome(TestSpec("j"), (Result("b"),))


def test_json_has_no_empty_lists() -> None:
    found = json.loads(as_json([FAILED, PASSED]))
    assert (found["kind"], found["apiVersion"]) == ("TestList", "scorecard.operatorframework.io/v1alpha3")
    assert found["items"][0]["spec"] == {
        "image": "i:v1",
        "entrypoint": ["scorecard-test", "a"],
        "labels": {"suite": "olm", "test": "a-test"},
        "storage": {"spec": {"mountPath": {}}},
    }
    (result,) = found["items"][0]["status"]["results"]
    assert list(result) == ["name", "log", "state", "errors", "suggestions", "creationTimestamp"]
    assert found["items"][1]["status"]["results"] == [{"name": "b", "state": "pass", "creationTimestamp": None}]
    assert json.loads(as_json([Outcome(SPEC)]))["items"][0]["status"] == {}


def test_text() -> None:
    assert as_text([FAILED]).splitlines() == [
        "-" * 80,
        "Image:      i:v1",
        "Entrypoint: [scorecard-test a]",
        "Labels:",
        '\t"suite":"olm"',
        '\t"test":"a-test"',
        "Results:",
        "\tName: a",
        "\tState: fail",
        "",
        "\tSuggestions:",
        "\t\tdo this",
        "\tErrors:",
        "\t\tone",
        "\t\ttwo",
        "\t\tlines",
        "\tLog:",
        "\t\tlog \ufffd[0m",
    ]


def test_xunit_is_xml_whatever_a_test_prints() -> None:
    root = fromstring(as_xunit([FAILED, PASSED]))
    suite, other = root
    assert (suite.get("name"), suite.get("failures"), other.get("name")) == ("a-test", "1", "testsuite-002")
    case = suite.find("testcase")
    assert case is not None
    failure = case.find("failure")
    assert failure is not None
    assert (case.get("time"), failure.get("message")) == ("1.500", "one\ntwo\nlines\ndo this")
    assert case.findtext("system-out") == "log \ufffd[0m"


def test_a_long_log_ends_with_its_last_lines() -> None:
    log = "".join(f"line {number}\n" for number in range(MAX_LOG_LINES + 2))
    outcome = Outcome(TestSpec("i"), (Result("a", log=log),))
    printed = as_text([outcome]).splitlines()
    begin = printed.index("\tLog:") + 1
    assert printed[begin : begin + 2] == [
        "\t\t2 lines are left out: -o json, and --test-output DIR, have all",
        "\t\tline 2",
    ]
    assert printed[-1] == f"\t\tline {MAX_LOG_LINES + 1}"
    assert json.loads(as_json([outcome]))["items"][0]["status"]["results"][0]["log"] == log


def test_results_that_a_test_prints() -> None:
    text = '{"results": [{"name": "a", "state": "pass", "log": "x"}, {"state": "error", "errors": ["no"]}]}'
    assert results_of(text) == [Result("a", log="x"), Result("", State.ERROR, ["no"])]


@pytest.mark.parametrize("text", ["", "no", "[]", "{}", '{"results": [1]}', '{"results": [{"state": "fine"}]}'])
def test_what_are_no_results(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        results_of(text)
