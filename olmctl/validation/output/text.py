"""Results as text for people: a line for each finding, as compilers print them, and a line about how to correct it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from olmctl.terminal import clean, shorten
from olmctl.terminal_output import coloured
from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.result import Result
from olmkit.api.names import pluralize

MAX_CHARACTERS = 1000
"""Characters of a finding that are printed."""
MAX_FINDINGS = 1000
"""Findings about one bundle that are printed."""
_CSV_NAME = re.compile(r"\([^()\s]*\) ")
_PATTERN = re.compile(r",? *regex used for validation is '[^']*'")
"""The part of Kubernetes' texts about names that follows its examples."""
_COLOURS = {ERROR: "red", WARNING: "yellow"}


def lines(result: Result, *, with_warnings: bool = True) -> Iterator[str]:
    """The findings about one bundle, errors first, and its summary."""
    levels = (ERROR, WARNING) if with_warnings else (ERROR,)
    findings = _unique(result.findings)
    shown = [finding for level in levels for finding in findings if finding.level == level]
    for finding in shown[:MAX_FINDINGS]:
        yield from _finding_lines(result, finding)
    if len(shown) > MAX_FINDINGS:
        yield f"{clean(result.bundle)}: {len(shown) - MAX_FINDINGS:,} more findings are left out: -o json lists all"
    verdict = coloured("passed", "green") if result.passed else coloured("failed", "red")
    counts = _counts(findings)
    yield f"{clean(result.bundle)}: {verdict}{f' ({counts})' if counts else ''}"


def summary(results: Sequence[Result]) -> str:
    """One line about all bundles."""
    failed = sum(not each.passed for each in results)
    counts = _counts(finding for each in results for finding in _unique(each.findings))
    passed = f"{len(results) - failed} passed, {failed} failed"
    return f"{pluralize(len(results), 'bundle')}: {passed}{f'; {counts}' if counts else ''}"


def _unique(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without those that another validator has made before, with the same words about the same place."""
    found: dict[tuple[object, ...], Finding] = {}
    for each in findings:
        found.setdefault((each.level, each.file, each.line, each.rule, each.message), each)
    return list(found.values())


def _counts(findings: Iterable[Finding]) -> str:
    levels = [each.level for each in findings]
    counted = ((level, levels.count(level)) for level in (ERROR, WARNING))
    return ", ".join(pluralize(count, level) for level, count in counted if count)


def _finding_lines(result: Result, finding: Finding) -> Iterator[str]:
    place = clean(f"{result.bundle.rstrip('/')}/{finding.file}" if finding.file else result.bundle)
    line = f":{finding.line}" if finding.line else ""
    rule = f" [{finding.rule}]" if finding.rule else ""
    text = shorten(_PATTERN.sub("", clean(sentence(finding))), MAX_CHARACTERS)
    yield f"{place}{line}: {coloured(finding.level, _COLOURS[finding.level])}: {text}{rule}"
    if finding.hint:
        yield f"    {clean(finding.hint)}"


def sentence(finding: Finding) -> str:
    """The message without what upstream's form says twice: the level, an empty value, the name of the CSV, the field."""
    text = finding.message.removeprefix("Error: ").removeprefix("Warning: ")
    if finding.field:
        rest = text.removeprefix(f"Field {finding.field}").removeprefix(f", Value {finding.value}").removeprefix(": ")
        return rest if rest.startswith(finding.field) else f"{finding.field}: {rest}"
    if text.startswith("Value : "):
        return _CSV_NAME.sub("", text.removeprefix("Value : "), count=1)
    return text.removeprefix("Value ").removeprefix(": ")
