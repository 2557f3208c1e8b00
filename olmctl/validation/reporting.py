"""Makes the findings of one validator: with the message of upstream, and the place in the file. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olmctl.validation.finding import CSV_NOT_VALID, ERROR, Finding, Level, csv_message, detailed
from olmctl.validation.go_values import format_value
from olmctl.validation.loaded_bundle import Document
from olmctl.validation.places import line_of

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Rule:
    """A rule: its id, the type of its findings, and how to correct one."""

    id: str
    error_type: str
    hint: str = ""
    level: Level = ERROR


@dataclass(frozen=True)
class Reporter:
    """The findings of one validator about one document, or about no document."""

    validator: str
    document: Document | None = None

    def found(self, rule: Rule, detail: str, path: Path = (), **parts: Any) -> Finding:
        """A finding with upstream's message. `parts` are `field` and `value` as the message has them, and `hint` instead of the
        rule's."""
        hint = parts.pop("hint", rule.hint)
        message = detailed(rule.level, detail, **parts)
        return self._finding(rule, message, path, hint, parts)

    def csv_found(self, rule: Rule, text: str, path: Path = (), hint: str = "") -> Finding:
        """A finding of type CSVFileNotValid."""
        name = self.document.name if self.document else ""
        message = csv_message(rule.level, name, text)
        return self._finding(rule, message, path, hint or rule.hint, {})

    def bare(self, rule: Rule, text: str, path: Path = ()) -> Finding:
        """A finding whose message is the bare text."""
        return self._finding(rule, text, path, rule.hint, {})

    def _finding(self, rule: Rule, message: str, path: Path, hint: str, parts: dict[str, Any]) -> Finding:
        document = self.document
        value = parts.get("value")
        return Finding(
            level=rule.level,
            message=message,
            validator=self.validator,
            error_type=rule.error_type,
            field=parts.get("field") or "",
            value="" if value is None else format_value(value),
            file=document.file if document else "",
            line=line_of(document.data, path) if document else 0,
            rule=rule.id,
            hint=hint,
        )


def csv_rule(rule_id: str, hint: str, level: Level = ERROR) -> Rule:
    """A rule whose findings have the type CSVFileNotValid."""
    return Rule(rule_id, CSV_NOT_VALID, hint, level)
