"""Findings as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from olmctl.validation.finding import Finding
from olmctl.validation.output.junit import write
from olmctl.validation.result import Result

ERROR = Finding(
    "error", 'Error: "a" <b>', "csv", "CSVFileNotValid", file="manifests/a.yaml", line=3, rule="name", hint="C."
)
WARNING = Finding("warning", "Warning: d", "extra", rule="e")


def test_a_bundle_is_a_suite_and_a_finding_a_case() -> None:
    root = ET.fromstring(write([Result("x/a", [ERROR, WARNING]), Result("b")]))
    assert (root.get("tests"), root.get("failures")) == ("3", "1")
    first, second = root
    assert (first.get("name"), first.get("tests"), first.get("failures")) == ("x/a", "2", "1")
    failed, passed = first
    assert (failed.get("name"), failed.get("classname")) == ("name manifests/a.yaml:3", "csv")
    assert (failed.get("file"), failed.get("line")) == ("x/a/manifests/a.yaml", "3")
    (failure,) = failed
    assert (failure.tag, failure.get("type"), failure.get("message")) == (
        "failure",
        "CSVFileNotValid",
        'Error: "a" <b>',
    )
    assert failure.text == 'x/a/manifests/a.yaml:3\nError: "a" <b>\nC.'
    assert (passed[0].tag, passed[0].text) == ("system-out", "Warning: d")
    assert [case.get("name") for case in second] == ["validate"]
    assert not list(second[0])


def test_no_text_makes_it_fail() -> None:
    odd = Finding("error", "\x00\x1b[1m\ud800\ufffe\r\n]]>", "\x01", "\x02", file="\udcff", rule="\n")
    (suite,) = ET.fromstring(write([Result("\x00&\udcff", [odd])]).encode())
    assert suite.get("name") == "\ufffd&\ufffd"
    assert "\ufffd[1m" in (suite[0][0].text or "")
