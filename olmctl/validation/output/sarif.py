"""Findings as SARIF 2.1.0, which GitHub, GitLab and editors show at the lines of the files. Pure."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import orjson

from olmctl.validation.finding import Finding
from olmctl.validation.result import Result
from olmctl.validation.rules import description
from olmkit.errors import encodable

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def write(results: Sequence[Result]) -> str:
    """The document, with one run for all bundles."""
    findings = [(encodable(result.bundle), _encodable(finding)) for result in results for finding in result.findings]
    rules: dict[str, Finding] = {}
    for _, finding in findings:
        rules.setdefault(_rule_id(finding), finding)
    indexes = {rule: index for index, rule in enumerate(rules)}
    driver = {
        "name": "olm bundle validate",
        "rules": [_rule(rule, finding) for rule, finding in rules.items()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The directory in which olm was started."}}},
        "results": [_result(bundle, finding, indexes[_rule_id(finding)]) for bundle, finding in findings],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def _encodable(finding: Finding) -> Finding:
    """The finding without lone surrogates, which JSON does not have: a file name that is no UTF-8 has some."""
    names = ("message", "field", "file", "rule", "hint", "validator")
    texts: dict[str, Any] = {name: encodable(getattr(finding, name)) for name in names}
    return replace(finding, **texts)


def _rule_id(finding: Finding) -> str:
    return finding.rule or finding.validator or "bundle"


def _rule(rule: str, finding: Finding) -> dict[str, Any]:
    text = description(rule)
    made: dict[str, Any] = {
        "id": rule,
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": finding.level},
        "properties": {
            "tags": list(dict.fromkeys([finding.validator or "bundle", *(["extra"] if finding.extra else [])]))
        },
    }
    if finding.hint:
        made["help"] = {"text": finding.hint}
    return made


def _result(bundle: str, finding: Finding, index: int) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(bundle, finding.file)}
    if finding.line:
        physical["region"] = {"startLine": finding.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.field:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.field}]
    text = finding.message if not finding.hint else f"{finding.message}\n{finding.hint}"
    identity = "\0".join((bundle, _rule_id(finding), finding.file, finding.message))
    return {
        "ruleId": _rule_id(finding),
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"olmFinding/v1": hashlib.sha256(identity.encode(errors="replace")).hexdigest()},
        "properties": {"bundle": bundle, "validator": finding.validator, "errorType": finding.error_type},
    }


def _artifact(bundle: str, file: str) -> dict[str, Any]:
    """The file below the bundle as it was named: a path relative to the directory of the start, or an absolute one."""
    path = posixpath.normpath(posixpath.join(bundle, file)) if bundle else file
    text = quote(path, safe="/@+~!$&'(),;=", errors="replace")
    if path.startswith("/"):
        return {"uri": f"file://{text}"}
    return {"uri": text, "uriBaseId": "SRCROOT"}
