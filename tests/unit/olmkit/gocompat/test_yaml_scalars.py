"""Scalars of YAML as in go-yaml v2. The tables of scalars are in test_yaml_composer."""

from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.gocompat import yaml_scalars


@settings(deadline=None)
@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12) | st.from_regex(r"[-+0-9._exob]{1,8}")
)
def test_any_plain_scalar_is_a_value_that_json_can_hold(text: str) -> None:
    """Whatever stands there; only not-a-number and infinity are refused."""
    if text.strip("+-").lower() not in (".nan", ".inf"):
        assert orjson.loads(orjson.dumps(yaml_scalars.resolve(text))) is not ...
