"""The validators capabilities and categories: two annotations of a ClusterServiceVersion.

Reads nothing but the file of categories that the environment variable OPERATOR_BUNDLE_CATEGORIES names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from olmctl.validation.finding import ERROR, Finding
from olmctl.validation.loaded_bundle import LoadedBundle
from olmctl.validation.optional.csv_findings import Reporter, Values, text_of
from olmkit.gocompat.text import quoted

CATEGORIES_VARIABLE = "OPERATOR_BUNDLE_CATEGORIES"
CAPABILITIES: Final = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot")
CATEGORIES: Final = (
    "AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Database", "Developer Tools",
    "Integration & Delivery", "Logging & Tracing", "Modernization & Migration", "Monitoring", "Networking", "Observability",
    "OpenShift Optional", "Security", "Storage", "Streaming & Messaging",
)  # fmt: skip


class _NoCategories(ValueError):
    """The file of categories cannot be read; the message is Go's."""


def capabilities(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of capabilities."""
    if report := Reporter.of("capabilities", bundle):
        yield from capability_findings(report)


def categories(bundle: LoadedBundle, values: Values) -> Iterator[Finding]:
    """The findings of categories."""
    if report := Reporter.of("categories", bundle):
        yield from category_findings(report)


def capability_findings(report: Reporter) -> Iterator[Finding]:
    """A finding if the annotation `capabilities` has no known level."""
    annotations = report.csv.annotations
    if "capabilities" not in annotations:
        return
    level = text_of(annotations["capabilities"])
    if level not in CAPABILITIES:
        text = f"csv.Metadata.Annotations.Capabilities {quoted(level)} is not a valid capabilities level"
        hint = f"Use one of {', '.join(CAPABILITIES)}."
        yield report.invalid(ERROR, "capabilities", text, ("metadata", "annotations", "capabilities"), hint)


def category_findings(report: Reporter) -> Iterator[Finding]:
    """A finding for each category of the annotation `categories` that is not in the set."""
    annotations, path = report.csv.annotations, ("metadata", "annotations", "categories")
    if "categories" not in annotations:
        return
    known, kind = frozenset(CATEGORIES), "standard"
    if file := os.environ.get(CATEGORIES_VARIABLE):
        try:
            known, kind = _custom_categories(Path(file)), "custom"
        except _NoCategories as error:
            text = f"could not extract custom categories from categories map[string]struct {{}}(nil): {error}"
            hint = f'Let {CATEGORIES_VARIABLE} name a file with {{"categories": [...]}}, or unset it.'
            yield report.invalid(ERROR, "categories-file", text, path, hint)
            return
    hint = f"Use some of {', '.join(sorted(known))}."
    for category in text_of(annotations["categories"]).split(","):
        if category.strip() not in known:
            text = f'csv.Metadata.Annotations["categories"] value {quoted(category)} is not in the set of {kind} categories'
            yield report.invalid(ERROR, "categories", text, path, hint)


def _custom_categories(file: Path) -> frozenset[str]:
    try:
        data = file.read_bytes()
    except OSError as error:
        problem = (error.strerror or "").lower()
        raise _NoCategories(f"reading category file: open {file.absolute()}: {problem}") from None
    try:
        document: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _NoCategories(f"unmarshaling category file: {error}") from None
    found = document.get("categories") or [] if isinstance(document, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _NoCategories("unmarshaling category file: json: cannot unmarshal into Go struct field categories")
    return frozenset(found)
