"""Results as JSON: a line for each bundle. Pure."""

from __future__ import annotations

import orjson

from olmctl.validation.finding import Finding
from olmctl.validation.result import Result


def line(result: Result) -> str:
    """The result of one bundle, with a line end."""
    document = {
        "bundle": _encodable(result.bundle),
        "passed": result.passed,
        "outputs": [_output(each) for each in result.findings],
    }
    return orjson.dumps(document).decode() + "\n"


def _output(finding: Finding) -> dict[str, object]:
    return {
        "type": finding.level,
        "message": _encodable(finding.message),
        "validator": finding.validator,
        "errorType": finding.error_type,
        "field": _encodable(finding.field),
        "value": _encodable(finding.value),
        "file": _encodable(finding.file),
        "line": finding.line,
        "rule": finding.rule,
        "extra": finding.extra,
        "hint": finding.hint,
    }


def _encodable(text: str) -> str:
    """The text without halves of surrogate pairs, which the name of a file may have."""
    return text.encode(errors="surrogateescape").decode(errors="replace")
