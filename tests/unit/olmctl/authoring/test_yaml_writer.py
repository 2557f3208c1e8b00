"""The YAML of a document equals what pyyaml writes of it as nodes, whatever its text."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from olmctl.authoring import yaml_writer
from olmkit.gocompat.yaml_dumper import UNLIMITED_WIDTH
from tests.examples import example_count

TEXT = (
    st.text(st.characters(codec="utf-8"))
    | st.text("\n \t-#:|>'\"\\\a\u2028\u0085\ufeff\ry1.e_/=[~\u00e9\u2019\ufffe", max_size=14)
    | st.from_regex(r"[0-9]{1,4}[.:eT_ -][0-9.e_: -]{0,14}", fullmatch=True)
    | st.from_regex(r"[a-z#: ]{0,6}\n[a-z#: \n-]{0,8}", fullmatch=True)
    | st.text("a", min_size=120, max_size=130)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=14,
)


def written_by_pyyaml(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=yaml_writer._Dumper, explicit_start=True, allow_unicode=True, width=UNLIMITED_WIDTH
    )
    return text


@settings(max_examples=example_count(300))
@given(VALUES, TEXT)
def test_any_value(value: Any, text: str) -> None:
    document = {"s": value, "text": text, text: [[{"a": value}], value]}
    assert yaml_writer.yaml_document(document) == written_by_pyyaml(document)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("one\ntwo", id="lines"),
        pytest.param("one\n\n  two\n", id="an empty and an indented line"),
        pytest.param("one\n\n", id="an empty line at the end, which marks the end of the document"),
        pytest.param("one \ntwo", id="a blank at the end of a line"),
        pytest.param("a: b #c", id="marks"),
        pytest.param("1.2.3", id="a version"),
        pytest.param("2024-11-11T15:19:44Z", id="a time"),
        pytest.param("k" * 129, id="a long key"),
    ],
)
def test_texts_in_all_places(text: str) -> None:
    document = {"a": text, "b": [text, [text, {"c": text}], {text: [text]}], "d": {"e": {"f": [text]}}}
    assert yaml_writer.yaml_document(document) == written_by_pyyaml(document)
