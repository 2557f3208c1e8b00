"""Layers of values, merged as helm merges files of values."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.charts.values import ValuesLayer, merged
from rukpak.format.errors import BadBundle


@pytest.mark.parametrize(
    ("layers", "values"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(["a: {b: 1, c: 2}", '{"a": {"c": 3}}'], {"a": {"b": 1, "c": 3}}, id="maps are merged"),
        pytest.param(["a: [1, 2]", "a: [3]"], {"a": [3]}, id="lists are replaced"),
        pytest.param(["a: {b: 1}", "a: 2"], {"a": 2}, id="a map gives way to another type"),
        pytest.param(["a: {b: 1}", "a: {b: null}"], {"a": {"b": None}}, id="null stays, and removes a default"),
        pytest.param(["", "# nothing"], {}, id="empty texts"),
        pytest.param(["on: yes"], {"true": True}, id="YAML as helm reads it"),
    ],
)
def test_layers_are_merged(layers: list[str], values: dict[str, Any]) -> None:
    assert merged([ValuesLayer(f"layer {number}", text) for number, text in enumerate(layers)]) == values


def test_values_of_secrets_are_masked_by_others_of_their_type() -> None:
    secret = "a: s3cret\nb: [1, 2.5, true, null]\nc: {d: x}"
    layers = [ValuesLayer("open", "a: shown\ne: f"), ValuesLayer("Secret x", secret, is_secret=True)]
    masked = merged(layers, is_masked=True)
    mask = "value-of-a-Secret"
    assert masked == {"a": mask, "b": [0, 0.5, True, None], "c": {"d": mask}, "e": "f"}


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        pytest.param(ValuesLayer("config.values", "- a"), "config.values is not one mapping of values", id="a list"),
        pytest.param(ValuesLayer("config.values", "a: 1\n---\nb: 2"), "is not one mapping", id="two documents"),
        pytest.param(ValuesLayer("config.values", "a: ["), "config.values is not valid YAML: ", id="no YAML"),
        pytest.param(
            ValuesLayer("Secret x", "pass: [word", is_secret=True),
            "Secret x is not valid YAML",
            id="no YAML in a Secret",
        ),
    ],
)
def test_layers_that_are_no_values(layer: ValuesLayer, message: str) -> None:
    with pytest.raises(BadBundle) as error:
        merged([layer])
    assert message in error.value.message
    assert error.value.reason == "InvalidConfiguration"
    assert not layer.is_secret or error.value.message == message
