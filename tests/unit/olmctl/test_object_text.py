"""Objects as JSON and YAML that control no terminal."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from olmctl.object_text import as_json, as_yaml

TEXTS = st.text(st.characters(codec="utf-8"))
VALUES: st.SearchStrategy[Any] = st.dictionaries(TEXTS, TEXTS | st.booleans() | st.integers(-(10**9), 10**9))


@given(VALUES)
def test_json_is_printable_and_reads_as_the_same_value(value: Any) -> None:
    text = as_json(value)
    assert (json.loads(text), text.replace("\n", "").isprintable()) == (value, True)


@given(VALUES)
def test_yaml_is_printable_and_reads_as_the_same_value(value: Any) -> None:
    text = as_yaml(value)
    assert (yaml.safe_load(text), text.replace("\n", "").isprintable()) == (value, True)
