"""Findings as text for people."""

from __future__ import annotations

from dataclasses import replace

from olmctl.validation.finding import WARNING, Finding
from olmctl.validation.output.text import MAX_FINDINGS, lines, summary
from olmctl.validation.result import Result

FIRST = Finding(
    WARNING, "Warning: Value : (a) it is old", "csv", file="manifests/a.yaml", line=3, rule="old", hint="Renew it."
)
SAME = replace(FIRST, validator="good-practices", hint="Make it new.")
OTHER = replace(FIRST, line=4)


def test_many_findings_are_counted() -> None:
    found = tuple(replace(FIRST, line=line, hint="") for line in range(1, MAX_FINDINGS + 3))
    printed = list(lines(Result("b", found)))
    assert len(printed) == MAX_FINDINGS + 2
    assert printed[-2:] == ["b: 2 more findings are left out: -o json lists all", "b: passed (1002 warnings)"]


def test_what_two_validators_find_in_the_same_words_is_printed_once() -> None:
    result = Result("b", (FIRST, SAME, OTHER))
    assert list(lines(result)) == [
        "b/manifests/a.yaml:3: warning: it is old [old]",
        "    Renew it.",
        "b/manifests/a.yaml:4: warning: it is old [old]",
        "    Renew it.",
        "b: passed (2 warnings)",
    ]
    assert summary([result]) == "1 bundle: 1 passed, 0 failed; 2 warnings"
