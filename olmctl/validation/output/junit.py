"""Findings as JUnit XML: a suite for each bundle, a test case for each finding. Warnings do not fail. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from olmctl.validation.finding import ERROR, Finding
from olmctl.validation.result import Result

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML has."""


def write(results: Sequence[Result]) -> str:
    """The document."""
    suites = [_suite(result) for result in results]
    tests = sum(max(len(result.findings), 1) for result in results)
    failures = sum(finding.level == ERROR for result in results for finding in result.findings)
    head = f'<testsuites name="olm bundle validate" tests="{tests}" failures="{failures}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _suite(result: Result) -> str:
    findings = result.findings
    failures = sum(finding.level == ERROR for finding in findings)
    count = f'tests="{max(len(findings), 1)}" failures="{failures}" errors="0" skipped="0"'
    cases = [_case(result.bundle, finding) for finding in findings] or [
        '    <testcase name="validate" classname="bundle"/>'
    ]
    return "\n".join([f"  <testsuite name={_attribute(result.bundle)} {count}>", *cases, "  </testsuite>"])


def _case(bundle: str, finding: Finding) -> str:
    path = posixpath.join(bundle, finding.file) if finding.file else ""
    number = f":{finding.line}" if finding.line else ""
    file = f" file={_attribute(path)}" if path else ""
    line = f' line="{finding.line}"' if finding.line else ""
    name = " ".join(each for each in (finding.rule or finding.validator, finding.file + number) if each)
    text = _text("\n".join(each for each in (path + number, finding.message, finding.hint) if each))
    start = f"    <testcase name={_attribute(name)} classname={_attribute(finding.validator or 'bundle')}{file}{line}>"
    if finding.level == ERROR:
        kind = _attribute(finding.error_type or finding.rule)
        body = f"      <failure message={_attribute(finding.message)} type={kind}>{text}</failure>"
    else:
        body = f"      <system-out>{text}</system-out>"
    return f"{start}\n{body}\n    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
