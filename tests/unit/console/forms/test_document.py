"""From a form back to the document: what is written, what stays, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.forms.descriptors import PREFIX, read
from console.forms.document import as_sent, fewer_rows, fill, hidden, restored, rows_of, with_row, without_row
from console.forms.field import Form
from console.forms.schema_form import NOTHING, State, schema_form
from tests.forms import find, sent

Document = dict[str, Any]
TEXT = {"type": "string"}
PORT = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "port": {"type": "integer", "maximum": 9}}}
SCHEMA: Document = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 5},
                "name": {**TEXT, "maxLength": 5, "pattern": "^[a-z]+$"},
                "ratio": {"type": "number", "exclusiveMaximum": True, "maximum": 1},
                "on": {"type": "boolean"},
                "off": {"type": "boolean", "default": True},
                "mode": {**TEXT, "enum": ["A", "B"]},
                "level": {"type": "integer", "enum": [1, 2]},
                "cpu": {"x-kubernetes-int-or-string": True},
                "password": TEXT,
                "ports": {"type": "array", "items": PORT},
                "tags": {"type": "array", "items": TEXT},
                "labels": {"type": "object", "additionalProperties": TEXT},
                "tls": {
                    "type": "object",
                    "required": ["ca", "on"],
                    "properties": {"ca": TEXT, "on": {"type": "boolean"}, "key": TEXT},
                },
                "any": {"x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}
DESCRIPTORS = read(
    {"specDescriptors": [{"path": "password", "x-descriptors": [f"{PREFIX}com.tectonic.ui:password"]}]}, "spec"
)
BASE: Document = {"size": 2, "unknown": {"kept": [1, {"x": None}]}}


def form_of(document: Document, state: State = NOTHING) -> Form:
    return schema_form(SCHEMA, DESCRIPTORS, document, document, state)


def filled(spec: Document, texts: dict[str, list[str]], state: State = NOTHING) -> tuple[Document, dict[str, str]]:
    document = {"spec": spec}
    form = form_of(document, state)
    result = fill(form, document, {**sent(form), **texts})
    return result.document["spec"], dict(result.problems)


CHANGES = [
    pytest.param({}, {"/spec/size": ["3"]}, {"size": 3}, id="a number"),
    pytest.param({"name": "a"}, {"/spec/name": [""]}, {}, id="an emptied field is removed"),
    pytest.param({}, {"/spec/ratio": ["0.5"]}, {"ratio": 0.5}, id="a fraction"),
    pytest.param({}, {"/spec/ratio": ["0"]}, {"ratio": 0}, id="a whole number stays one"),
    pytest.param({}, {"/spec/on": ["false", "true"]}, {"on": True}, id="a switch that is turned on"),
    pytest.param({"on": True}, {"/spec/on": ["false"]}, {"on": False}, id="a switch that is turned off"),
    pytest.param({}, {"/spec/on": []}, {}, id="a switch that is not part of what was sent"),
    pytest.param({}, {"/spec/off": ["false"]}, {"off": False}, id="a switch that is on by default is turned off"),
    pytest.param({}, {"/spec/mode": ["B"]}, {"mode": "B"}, id="a choice"),
    pytest.param({"mode": "A"}, {"/spec/mode": [""]}, {}, id="a choice that is taken back"),
    pytest.param({}, {"/spec/level": ["2"]}, {"level": 2}, id="a choice has the type of the schema"),
    pytest.param({}, {"/spec/cpu": ["2"]}, {"cpu": 2}, id="a quantity of digits is a number"),
    pytest.param({"cpu": "1"}, {"/spec/cpu": ["2"]}, {"cpu": "2"}, id="a quantity that was text stays text"),
    pytest.param({}, {"/spec/cpu": ["500m"]}, {"cpu": "500m"}, id="a quantity with a unit"),
    pytest.param({}, {"/spec/password": ["p w"]}, {"password": "p w"}, id="a password"),
    pytest.param(
        {"password": "old"}, {"/spec/password": [""]}, {"password": "old"}, id="a password that is not written stays"
    ),
    pytest.param({"tags": ["a", "b"]}, {"/spec/tags/0": [""]}, {"tags": ["b"]}, id="an emptied item goes"),
    pytest.param({"tags": ["a"]}, {"/spec/tags/0": [""]}, {}, id="with the last item the list goes"),
    pytest.param({"tags": []}, {}, {"tags": []}, id="an empty list stays"),
    pytest.param({"labels": {"a": "1"}}, {"/spec/labels/0:key": ["b"]}, {"labels": {"b": "1"}}, id="a key is renamed"),
    pytest.param({"labels": {"a": "1"}}, {"/spec/labels/0:key": [""]}, {}, id="a row whose key is emptied goes"),
    pytest.param(
        {"labels": {"a/b.c": "1"}}, {"/spec/labels/0": ["2"]}, {"labels": {"a/b.c": "2"}}, id="keys have signs"
    ),
    pytest.param({"any": {"x": 1}}, {"/spec/any": ["x: [1, 2]\r\n"]}, {"any": {"x": [1, 2]}}, id="YAML"),
    pytest.param({"any": {"x": 1}}, {"/spec/any": [""]}, {}, id="emptied YAML"),
    pytest.param(
        {},
        {"/spec/tls/ca": ["c"], "/spec/tls/on": ["false"]},
        {"tls": {"ca": "c", "on": False}},
        id="a group begins, and its required boolean is chosen",
    ),
    pytest.param(
        {"tls": {"ca": "c", "on": True}},
        {"/spec/nothing": ["x"]},
        {"tls": {"ca": "c", "on": True}},
        id="names that are no fields",
    ),
]


@pytest.mark.parametrize(("before", "texts", "after"), CHANGES)
def test_only_what_is_changed_is_written(before: Document, texts: dict[str, list[str]], after: Document) -> None:
    assert filled({**BASE, **before}, texts) == ({**BASE, **after}, {})


def test_rows_that_are_asked_for_become_items() -> None:
    state = State(rows_of({"/spec/ports:rows": ["2"], "/spec/labels:rows": ["1"], "/spec/tags:rows": ["3"]}), {})
    texts = {
        "/spec/ports/1/name": ["http"],
        "/spec/ports/1/port": ["8"],
        "/spec/labels/0:key": ["a"],
        "/spec/labels/0": [""],
        "/spec/tags/2": ["t"],
    }
    assert filled(BASE, texts, state) == (
        {**BASE, "ports": [{"name": "http", "port": 8}], "labels": {"a": ""}, "tags": ["t"]},
        {},
    )


REFUSED = [
    pytest.param({"/spec/size": ["x"]}, {"/spec/size": "must be a whole number"}, id="no number"),
    pytest.param({"/spec/size": ["1.5"]}, {"/spec/size": "must be a whole number"}, id="no whole number"),
    pytest.param({"/spec/size": ["0"]}, {"/spec/size": "must be at least 1"}, id="too small"),
    pytest.param({"/spec/size": ["9" * 18]}, {"/spec/size": "must be at most 5"}, id="too large"),
    pytest.param(
        {"/spec/size": ["9" * 10_000]}, {"/spec/size": "must be a whole number"}, id="no number of that length"
    ),
    pytest.param({"/spec/ratio": ["1"]}, {"/spec/ratio": "must be less than 1"}, id="an open bound"),
    pytest.param({"/spec/ratio": ["nan"]}, {"/spec/ratio": "must be a number"}, id="not a number"),
    pytest.param({"/spec/size": [""]}, {"/spec/size": "is required"}, id="required"),
    pytest.param({"/spec/name": ["A"]}, {"/spec/name": "must match ^[a-z]+$"}, id="a pattern"),
    pytest.param(
        {"/spec/name": ["toolong"]}, {"/spec/name": "must have at most 5 characters, and has 7"}, id="a length"
    ),
    pytest.param({"/spec/mode": ["C"]}, {"/spec/mode": "must be one of the values that are offered"}, id="no choice"),
    pytest.param({"/spec/any": ["a: [1"]}, {"/spec/any": "line 2: while parsing a flow sequence"}, id="no YAML"),
    pytest.param(
        {"/spec/tls/key": ["k"]},
        {"/spec/tls/ca": "is required", "/spec/tls/on": "is required"},
        id="required in a group that begins",
    ),
    pytest.param({"/spec/labels/0": ["x"]}, {"/spec/labels/0": "needs a key"}, id="a value without a key"),
]


@pytest.mark.parametrize(("texts", "problems"), REFUSED)
def test_what_the_schema_refuses_stands_at_its_field(texts: dict[str, list[str]], problems: dict[str, str]) -> None:
    found = filled(BASE, texts, State({"/spec/labels": 1}, {}))[1]
    assert list(found) == list(problems)
    for name, problem in problems.items():
        assert found[name].startswith(problem)


def test_a_key_that_is_there_twice_is_refused() -> None:
    texts = {"/spec/labels/1:key": ["a"]}
    assert filled({**BASE, "labels": {"a": "1", "b": "2"}}, texts)[1] == {"/spec/labels/1": "the key a is there twice"}


def test_a_form_with_problems_shows_what_was_written_but_no_password() -> None:
    form = form_of({"spec": BASE})
    texts = {"/spec/size": ["x"], "/spec/password": ["hunter2"]}
    shown = as_sent(form, texts, {"/spec/size": "must be a whole number", "/spec/password": "is wrong"})
    size, password = find(shown, "/spec/size"), find(shown, "/spec/password")
    assert (size.text, size.problem) == ("x", "must be a whole number")
    assert (password.text, password.problem, password.is_folded) == ("", "is wrong", False)


def test_passwords_leave_the_document_and_come_back() -> None:
    origin = {"spec": {**BASE, "password": "hunter2"}}
    form = form_of(origin)
    without = hidden(form, origin)
    assert without == {"spec": BASE}
    assert restored(form, without, origin) == origin
    assert restored(form, {"spec": {"password": "new"}}, origin) == {"spec": {"password": "new"}}


USERS = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "users": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT, "password": TEXT}}},
            },
        }
    },
}


def test_a_password_never_moves_to_another_item() -> None:
    used = read(
        {"specDescriptors": [{"path": "users[0].password", "x-descriptors": [f"{PREFIX}com.tectonic.ui:password"]}]},
        "spec",
    )
    origin: Document = {"spec": {"users": [{"name": "a", "password": "A"}, {"name": "b", "password": "B"}]}}
    form = schema_form(USERS, used, origin, origin, NOTHING)
    fewer = without_row(form, hidden(form, origin), "/spec/users/0")
    assert fewer == {"spec": {"users": [{"name": "b"}]}}
    again = schema_form(USERS, used, fewer, origin, NOTHING)
    assert restored(again, fewer, origin) == fewer
    same = hidden(form, origin)
    assert restored(form, same, origin) == origin


def test_rows_are_added_and_removed() -> None:
    document = {"spec": {"tags": ["a", "b"], "labels": {"x": "1"}}}
    form = form_of(document)
    assert with_row(form, {}, "/spec/tags") == {"/spec/tags": 3}
    assert with_row(form, {}, "/spec/labels") == {"/spec/labels": 2}
    assert with_row(form, {}, "/spec/size") == with_row(form, {}, "/spec/gone") == {}
    assert without_row(form, document, "/spec/tags/0") == {"spec": {"tags": ["b"], "labels": {"x": "1"}}}
    assert without_row(form, document, "/spec/labels/0")["spec"]["labels"] == {}
    assert without_row(form, document, "/spec/gone/0") == document
    assert fewer_rows({"/spec/tags": 3, "/spec/tags/1/x": 2, "/spec/labels": 1}, "/spec/tags/0") == {
        "/spec/tags": 2,
        "/spec/labels": 1,
    }


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
SPECS = st.dictionaries(st.sampled_from([*SCHEMA["properties"]["spec"]["properties"], "unknown"]), VALUES, max_size=6)


@given(SPECS | VALUES)
def test_a_form_that_nobody_changes_is_the_document_again(spec: Any) -> None:
    document = {"apiVersion": "a/v1", "spec": spec}
    form = form_of(document)
    again = fill(form, document, sent(form)).document
    assert again == document
