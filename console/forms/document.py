"""From the texts of a submitted form back to the document that it was made from. Pure.

One rule: a control whose text is the one that the document gave it changes nothing. So a form that nobody has changed leads to
the same document, whatever that has, and fields that the form does not show stay. A text that becomes empty removes its field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from console.forms import yaml_text
from console.forms.checks import number_problem, text_problem
from console.forms.field import Control, Field, Form
from console.forms.places import MISSING, Place, value_at, with_value
from console.forms.schema_form import MAX_ROWS, State
from olmctl.terminal import clean, shorten

Submitted = Mapping[str, Sequence[str]]
"""The texts of a form by the names of its inputs, in their order."""
ON: Final = "true"
ROWS_SUFFIX: Final = ":rows"
KEY_SUFFIX: Final = ":key"
REQUIRED: Final = "is required"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class Filled:
    """The document that a form leads to, and what is wrong by the names of fields."""

    document: dict[str, Any]
    problems: Mapping[str, str]


class _Problem(ValueError):
    """The message says what is wrong with a text."""


def rows_of(submitted: Submitted) -> dict[str, int]:
    """The rows of the lists and maps that a form had, by name."""
    found = {}
    for name, texts in submitted.items():
        if name.endswith(ROWS_SUFFIX) and texts and re.fullmatch("[0-9]{1,4}", texts[0]):
            found[name.removesuffix(ROWS_SUFFIX)] = min(int(texts[0]), MAX_ROWS)
    return found


def fill(form: Form, document: Mapping[str, Any], submitted: Submitted) -> Filled:
    """The document after the form. It is the form that the document and its rows led to."""
    filling = _Filling(submitted)
    result: dict[str, Any] = dict(document)
    for section in form.sections:
        step = section.place[0]
        value = filling.value(section, result.get(str(step), MISSING))
        if value is MISSING:
            result.pop(str(step), None)
        else:
            result[str(step)] = value
    return Filled(result, filling.problems)


class _Filling:
    """The way through one form."""

    def __init__(self, submitted: Submitted) -> None:
        self._submitted = submitted
        self.problems: dict[str, str] = {}

    def value(self, field: Field, value: Any) -> Any:
        """The value of a field after the form; MISSING for none."""
        if field.control == Control.GROUP:
            return self._group(field, value)
        if field.control == Control.LIST:
            return self._list(field, value)
        if field.control == Control.MAP:
            return self._map(field, value)
        return self._leaf(field, value)

    def _leaf(self, field: Field, value: Any) -> Any:
        texts = self._submitted.get(field.name)
        if not texts:
            return value  # not part of what was sent: disabled, or of another form
        text = texts[-1].replace("\r\n", "\n")
        if field.control in (Control.SWITCH, Control.CHECKBOX):
            text = ON if ON in texts else "false"
        if text == field.text.replace("\r\n", "\n"):
            if value is not MISSING and field.control != Control.YAML:
                self._check(field, field.text)
            return value
        if text == "" and field.control != Control.PASSWORD:
            return self._emptied(field)
        try:
            return parsed(field, text, value)
        except _Problem as problem:
            self.problems[field.name] = str(problem)
            return text if field.kind in ("string", "int-or-string") else value

    def _emptied(self, field: Field) -> Any:
        chosen = next((each for each in field.choices if each.text == ""), None)
        return MISSING if chosen is None else chosen.value

    def _check(self, field: Field, text: str) -> None:
        if field.kind == "string" and text and not field.choices and (problem := text_problem(field.limits, text)):
            self.problems[field.name] = problem

    def _group(self, field: Field, value: Any) -> Any:
        known: dict[str, Any] = value if isinstance(value, dict) else {}
        result: Any = dict(known)
        for child in field.children:
            step = str(child.place[-1])
            inner = self.value(child, known.get(step, MISSING))
            if inner is MISSING:
                result.pop(step, None)
            else:
                result[step] = inner
        if result == known:
            result = value  # also null, or nothing
        elif not result:
            result = MISSING
        if isinstance(result, dict) or field.is_required:
            self._check_required(field, result)
        return result

    def _check_required(self, field: Field, value: Any) -> None:
        found = value if isinstance(value, dict) else {}
        for child in field.children:
            is_missing = child.is_required and str(child.place[-1]) not in found and not child.default
            if is_missing and child.name not in self.problems and (child.is_leaf or child.control == Control.LIST):
                self.problems[child.name] = REQUIRED

    def _list(self, field: Field, value: Any) -> Any:
        known: list[Any] = value if isinstance(value, list) else []
        rows = [self.value(row, known[at] if at < len(known) else MISSING) for at, row in enumerate(field.children)]
        result = [each for each in rows if each is not MISSING]
        if result == known:
            return value
        return result or MISSING

    def _map(self, field: Field, value: Any) -> Any:
        known: dict[str, Any] = value if isinstance(value, dict) else {}
        result: dict[str, Any] = {}
        for index, row in enumerate(field.children):
            before = row.key if index < len(known) else None
            key = self._submitted.get(row.name + KEY_SUFFIX, (row.key or "",))[0]
            inner = self.value(row, MISSING if before is None else known.get(before, MISSING))
            if not key and before != key:
                if before is None and inner is not MISSING:
                    self.problems[row.name] = "needs a key"
                continue  # a row whose key is emptied is removed
            if key in result:
                self.problems[row.name] = f"the key {shorten(clean(key), 60)} is there twice"
            elif inner is not MISSING or row.kind == "string":
                result[key] = "" if inner is MISSING else inner
        if result == known:
            return value
        return result or MISSING


def parsed(field: Field, text: str, value: Any) -> Any:
    """The value that a text means for a field. `value`: what was there before. Raises _Problem."""
    if field.choices:
        chosen = next((each for each in field.choices if each.text == text), None)
        if chosen is None:
            raise _Problem("must be one of the values that are offered")
        return chosen.value
    if field.kind == "boolean":
        return text == ON
    if field.control == Control.YAML:
        return _yaml(text)
    if field.kind in ("integer", "number"):
        return _number(field, text.strip())
    if field.kind == "int-or-string" and _INTEGER.fullmatch(text) and not isinstance(value, str):
        return int(text)
    if problem := text_problem(field.limits, text):
        raise _Problem(problem)
    return text


def _yaml(text: str) -> Any:
    try:
        found = yaml_text.load(text)
    except yaml_text.BadYaml as error:
        raise _Problem(f"line {error.line}: {error.message}" if error.line else error.message) from error
    return MISSING if found is None and not text.strip().startswith(("null", "~")) else found


def _number(field: Field, text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        number: int | float = int(text)
    elif field.kind == "integer":
        raise _Problem("must be a whole number")
    elif _NUMBER.fullmatch(text):
        number = float(text)
    else:
        raise _Problem("must be a number")
    if number in (float("inf"), float("-inf")):
        raise _Problem("is too large")
    if problem := number_problem(field.limits, number):
        raise _Problem(problem)
    return number


def with_row(form: Form, rows: Mapping[str, int], name: str) -> dict[str, int]:
    """The rows after another one is asked for in the list or map of that name."""
    field = next((each for each in form.all() if each.name == name and not each.is_leaf), None)
    if field is None or not field.has_more:
        return dict(rows)
    return {**rows, name: len(field.children) + 1}


def without_row(form: Form, document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The document without the row of that name; as it is if there is no such row."""
    result: Any = dict(document)
    for field in form.all():
        if field.control not in (Control.LIST, Control.MAP):
            continue
        for row in field.children:
            if row.name == name and value_at(document, row.place) is not MISSING:
                result = with_value(document, row.place, MISSING)
    return dict(result)


def fewer_rows(rows: Mapping[str, int], name: str) -> dict[str, int]:
    """The rows after the one of that name is removed. Rows within it, and within those after it, are counted anew."""
    parent = name.rpartition("/")[0]
    kept = {key: count for key, count in rows.items() if not key.startswith(f"{parent}/")}
    if parent in kept:
        kept[parent] = max(0, kept[parent] - 1)
    return kept


def hidden(form: Form, document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without the values of passwords, which leave the server only where a person asks for them."""
    result: Any = dict(document)
    for place in password_places(form):
        result = with_value(result, place, MISSING)
    return dict(result) if isinstance(result, Mapping) else {}


def restored(form: Form, document: Mapping[str, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the passwords of the one that it began with, where it has none and the lists on the way are as long."""
    result: Any = dict(document)
    for place in password_places(form):
        known = value_at(origin, place)
        if known is not MISSING and value_at(result, place) is MISSING and _is_alike(result, origin, place):
            result = with_value(result, place, known)
    return dict(result) if isinstance(result, Mapping) else {}


def password_places(form: Form) -> tuple[Place, ...]:
    """The places of passwords."""
    return tuple(each.place for each in form.all() if each.control == Control.PASSWORD)


def _is_alike(document: Any, origin: Any, place: Place) -> bool:
    for length, step in enumerate(place):
        here, there = value_at(document, place[:length]), value_at(origin, place[:length])
        if here is MISSING:
            return False
        if isinstance(step, int) and (
            not isinstance(here, list) or not isinstance(there, list) or len(here) != len(there)
        ):
            return False
    return True


def state_of(submitted: Submitted, problems: Mapping[str, str] | None = None) -> State:
    """The state of a form that was sent."""
    return State(rows_of(submitted), problems or {})


def as_sent(form: Form, submitted: Submitted, problems: Mapping[str, str]) -> Form:
    """The form with these problems, and at them the texts that were sent, but for passwords."""

    def shown(field: Field) -> Field:
        texts = submitted.get(field.name)
        is_kept = field.is_leaf and field.control != Control.PASSWORD and texts and field.name in problems
        return replace(
            field,
            text=texts[-1] if is_kept and texts else field.text,
            problem=problems.get(field.name, field.problem),
            is_folded=field.is_folded and not any(each.name in problems for each in field.all()),
            children=tuple(map(shown, field.children)),
        )

    return replace(form, sections=tuple(map(shown, form.sections)))
