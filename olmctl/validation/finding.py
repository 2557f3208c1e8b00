"""A finding about a bundle, and the messages of findings as upstream's validators write them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from olmctl.validation.go_values import format_value

Level = Literal["error", "warning"]
ERROR: Final[Level] = "error"
WARNING: Final[Level] = "warning"

BUNDLE_NOT_VALID = "BundleNotValid"
CSV_NOT_VALID = "CSVFileNotValid"
FIELD_NOT_FOUND = "FieldNotFound"
OPERATION_FAILED = "OperationFailed"
PARSE_ERROR = "ParseError"
VALIDATION_FAILED = "ValidationFailed"

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a finding: a file of the bundle, and the path of a value in it, as far as they are known."""

    file: str = ""
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `message` is the whole text as upstream prints it, with its level and value; of format faults and faults of
    the load the bare text."""

    level: Level
    message: str
    validator: str = ""
    """The validator that found it: load, format, objects, bundle, csv, crd, or the name of another one."""
    error_type: str = ""
    """Upstream's type of the error, such as CSVFileNotValid; empty if it has none."""
    field: str = ""
    value: str = ""
    file: str = ""
    """The file, relative to the root of the bundle: manifests/a.yaml; empty if the finding is about no file."""
    line: int = 0
    """The line in the file, from 1; 0 if it is unknown."""
    rule: str = ""
    """The id of the rule, in kebab case, which stays the same."""
    extra: bool = False
    """True for a finding that upstream's validators do not have."""
    hint: str = ""
    """One sentence about how to correct it."""


def detailed(level: Level, detail: str, field: str = "", value: Any = _ABSENT) -> str:
    """The message of a finding as upstream writes it. A value of None is none; the empty string is a value."""
    shown = "" if value is _ABSENT or value is None else f"Value {format_value(value)}"
    parts = ", ".join(each for each in (f"Field {field}" if field else "", shown) if each)
    name = "Error" if level == ERROR else "Warning"
    return f"{name}: {parts}: {detail}" if detail and parts else f"{name}: {parts or f': {detail}'}"


def csv_message(level: Level, csv_name: str, text: str) -> str:
    """The message of a finding of type CSVFileNotValid."""
    return detailed(level, f"({csv_name}) {text}", value="")
