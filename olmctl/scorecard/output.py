"""The outcomes of tests as text, as JSON and as XML of xUnit, as operator-sdk prints them (sdk 3.2). Pure.

Unlike there, the XML has the seconds that a test took. What XML cannot hold is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from olmctl.scorecard.configuration import API_VERSION, TestSpec
from olmctl.scorecard.results import Outcome, Result, State
from olmctl.terminal import REPLACEMENT, clean_lines

MAX_LOG_LINES = 1_000
"""Lines of one log that are printed as text."""
_RULE = "-" * 80
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(outcomes: Sequence[Outcome]) -> str:
    """A TestList."""
    items = [
        {"kind": "Test", "apiVersion": API_VERSION, "spec": _spec(each.spec), "status": _status(each)}
        for each in outcomes
    ]
    return json.dumps({"kind": "TestList", "apiVersion": API_VERSION, "items": items}, indent=2, ensure_ascii=False)


def as_text(outcomes: Sequence[Outcome]) -> str:
    """A paragraph for each test."""
    return clean_lines("\n".join(line for each in outcomes for line in _lines(each)))


def as_xunit(outcomes: Sequence[Outcome]) -> str:
    """The test suites."""
    root = Element("testsuites", name="scorecard")
    for number, each in enumerate(outcomes, start=1):
        _add_suite(root, each, each.spec.labels.get("test") or f"testsuite-{number:03}")
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=False)


FORMATS = {"text": as_text, "json": as_json, "xunit": as_xunit}
"""The functions that write outcomes, by format."""


def _spec(spec: TestSpec) -> dict[str, Any]:
    path = {"path": spec.mount_path} if spec.mount_path else {}
    found: dict[str, Any] = {"image": spec.image}
    found |= {"entrypoint": list(spec.entrypoint)} if spec.entrypoint else {}
    found |= {"labels": dict(sorted(spec.labels.items()))} if spec.labels else {}
    return {**found, "storage": {"spec": {"mountPath": path}}}


def _status(outcome: Outcome) -> dict[str, Any]:
    results = [_json_result(each) for each in outcome.results]
    return {"results": results} if results else {}


def _json_result(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"name": result.name}
    found |= {"log": result.log} if result.log else {}
    found["state"] = result.state.value
    found |= {"errors": result.errors} if result.errors else {}
    found |= {"suggestions": result.suggestions} if result.suggestions else {}
    return {**found, "creationTimestamp": None}


def _lines(outcome: Outcome) -> Iterator[str]:
    spec = outcome.spec
    yield from (_RULE, f"Image:      {spec.image}")
    if spec.entrypoint:
        yield f"Entrypoint: [{' '.join(spec.entrypoint)}]"
    if spec.labels:
        yield "Labels:"
        yield from (f'\t"{key}":"{value}"' for key, value in sorted(spec.labels.items()))
    if outcome.results:
        yield "Results:"
    for result in outcome.results:
        yield f"\tName: {result.name}" if result.name else "\tName:"
        yield f"\tState: {result.state}"
        yield ""
        yield from _section("Suggestions", result.suggestions)
        yield from _section("Errors", result.errors)
        yield from _section("Log", _log_lines(result.log))
    yield ""


def _log_lines(log: str) -> list[str]:
    """The lines of a log, the last ones if they are many: these are what a failed test says."""
    lines = log.splitlines()
    left_out = len(lines) - MAX_LOG_LINES
    if left_out <= 0:
        return lines
    return [f"{left_out:,} lines are left out: -o json, and --test-output DIR, have all", *lines[left_out:]]


def _section(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield f"\t{title}:"
        yield from (f"\t\t{line}" for text in texts for line in text.splitlines() or [""])


def _add_suite(root: Element, outcome: Outcome, name: str) -> None:
    counts = {
        "tests": len(outcome.results),
        "skipped": 0,
        "failures": sum(each.state == State.FAIL for each in outcome.results),
        "errors": sum(each.state == State.ERROR for each in outcome.results),
    }
    suite = _element(root, "testsuite", {"name": name, **{key: str(value) for key, value in counts.items()}})
    properties = _element(suite, "properties")
    values = {"spec.image": outcome.spec.image, "spec.entrypoint": " ".join(outcome.spec.entrypoint)}
    labels = {f"labels.{key}": value for key, value in sorted(outcome.spec.labels.items())}
    for key, value in {**values, **labels}.items():
        _element(properties, "property", {"name": key, "value": value})
    for result in outcome.results:
        case = _element(suite, "testcase", {"name": result.name, "time": f"{outcome.seconds:.3f}"})
        text = "\n".join((*result.errors, *result.suggestions))
        if result.state == State.FAIL:
            _element(case, "failure", {"type": "", "message": text})
        elif result.state == State.ERROR:
            _element(case, "error", {"type": "", "message": text})
        output = result.log if result.state != State.PASS else "\n".join(part for part in (result.log, text) if part)
        if output:
            _element(case, "system-out").text = _NOT_IN_XML.sub(REPLACEMENT, output)


def _element(parent: Element, name: str, attributes: Mapping[str, str] | None = None) -> Element:
    safe = {key: _NOT_IN_XML.sub(REPLACEMENT, value) for key, value in (attributes or {}).items()}
    return SubElement(parent, name, safe)
