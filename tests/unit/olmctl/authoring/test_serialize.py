"""Blobs as text: opm's order and formats, and that reading the text gives the same values."""

from __future__ import annotations

import io
import json
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmctl.authoring.serialize import Format, serialize, written_place
from olmkit.fbc import documents
from olmkit.fbc.blobs import Blob, parse_blob
from tests.examples import example_count

TAKEN_FOR_OTHERS = (
    "y No on ~ null 1 1.5 1e3 0o17 017 0x1F 1_000 .inf .NaN +.5 = << 2024-01-01 12:30:45 - # !x *x &x % @ ` ' \""
)


def blobs_of(*values: dict[str, Any]) -> list[Blob]:
    return [
        parse_blob(document)
        for document in documents.read_documents(io.BytesIO(b"\n".join(orjson.dumps(v) for v in values)))
    ]


def test_a_package_comes_before_its_channels_bundles_others_and_deprecations_and_packages_by_name() -> None:
    values = [
        {"schema": "olm.deprecations", "package": "b"},
        {"schema": "z.own", "package": "b", "name": "1"},
        {"schema": "a.own", "package": "b", "name": "2"},
        {"schema": "olm.bundle", "package": "b", "name": "b.v10"},
        {"schema": "olm.bundle", "package": "b", "name": "b.v1"},
        {"schema": "olm.channel", "package": "b", "name": "stable"},
        {"schema": "olm.channel", "package": "b", "name": "alpha"},
        {"schema": "olm.package", "name": "b"},
        {"schema": "olm.package", "name": "a"},
        {"schema": "unknown"},
    ]
    found = [(each.schema, each.package, each.name) for each in sorted(blobs_of(*values), key=written_place)]
    assert found == [
        ("unknown", "", ""),
        ("olm.package", "", "a"),
        ("olm.package", "", "b"),
        ("olm.channel", "b", "alpha"),
        ("olm.channel", "b", "stable"),
        ("olm.bundle", "b", "b.v1"),
        ("olm.bundle", "b", "b.v10"),
        ("a.own", "b", "2"),
        ("z.own", "b", "1"),
        ("olm.deprecations", "b", ""),
    ]


def test_json_has_an_indent_of_four_and_the_fields_in_opms_order() -> None:
    value = {
        "zzz": 1,
        "relatedImages": [{"image": "i", "name": ""}],
        "properties": [{"value": {"version": "1", "packageName": "p"}, "type": "olm.package"}],
        "image": "<i>",
        "schema": "olm.bundle",
        "package": "p",
        "name": "p.v1",
        "empty": [],
    }
    assert serialize(value, "json").decode() == (
        """{
    "schema": "olm.bundle",
    "name": "p.v1",
    "package": "p",
    "image": "<i>",
    "properties": [
        {
            "type": "olm.package",
            "value": {
                "packageName": "p",
                "version": "1"
            }
        }
    ],
    "relatedImages": [
        {
            "name": "",
            "image": "i"
        }
    ],
    "empty": [],
    "zzz": 1
}
"""
    )


def test_yaml_documents_begin_with_dashes_and_have_sorted_keys() -> None:
    value = {
        "schema": "olm.package",
        "name": "p",
        "defaultChannel": "",
        "description": "one\ntwo\n",
        "list": [{"b": 1, "a": 2}],
    }
    assert serialize(value, "yaml").decode() == (
        '---\ndefaultChannel: ""\ndescription: |\n  one\n  two\nlist:\n- a: 2\n  b: 1\nname: p\nschema: olm.package\n'
    )


@pytest.mark.parametrize(
    "word",
    [*TAKEN_FOR_OTHERS.split(), "", "- a", "a: b", "a #b", " a", "a ", "\t"],
)
def test_strings_that_yaml_would_read_as_another_type_stay_strings(word: str) -> None:
    value = {"schema": "s", "value": word, "list": [word], f"key {word}": 1, word or "k": 2}
    assert read_again(value, "yaml") == value


def test_numbers_keep_their_digits_in_both_forms() -> None:
    line = b'{"a":123456789012345678901234567890,"b":1e-7,"c":2.5,"d":1e+21,"e":-1,"schema":"s"}'
    (found,) = (parse_blob(document) for document in documents.read_documents(io.BytesIO(line)))
    for form in get_args(Format):
        (again,) = (parse_blob(d) for d in documents.read_documents(io.BytesIO(serialize(found.value, form))))
        assert again.line == line + b"\n", form


STRINGS = st.text(st.characters(codec="utf-8")) | st.text("\n \t-#:|>'\"\\a\u2028\u0085\ufeff\r", max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=example_count(200))
@given(VALUES)
@pytest.mark.parametrize("form", get_args(Format))
def test_what_is_written_is_read_again(form: Format, value: Any) -> None:
    whole = {"schema": "s", "value": value}
    assert read_again(whole, form) == whole


def read_again(value: dict[str, Any], form: Format) -> Any:
    (document,) = documents.read_documents(io.BytesIO(serialize(value, form)))
    return json.loads(orjson.dumps(document.value))
