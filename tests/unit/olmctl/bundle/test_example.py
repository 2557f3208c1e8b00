"""The first custom resource to try, among the examples of a publisher, which may be anything."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.bundle.example import Example, first_example
from tests.unit.olmctl.bundle.bundles import widgets

WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
OTHER = {"apiVersion": "other.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
WITH_SPEC = {**WIDGET, "metadata": {"name": "b"}, "spec": {}}
STRICT = {"type": "object", "properties": {"spec": {"type": "object", "required": ["size"]}}}
SIZED = {**WIDGET, "metadata": {"name": "c"}, "spec": {"size": 1}}
PLACED = {**WIDGET, "metadata": {"name": "a", "namespace": "there"}}


@pytest.mark.parametrize(
    ("watched", "given", "expected"),
    [
        pytest.param((), {"examples": [WIDGET]}, Example(WIDGET, "default"), id="in any namespace, without a spec"),
        pytest.param(("",), {"examples": [OTHER, WIDGET]}, Example(WIDGET, "default"), id="the first of its own kinds"),
        pytest.param((), {"examples": [WIDGET, WITH_SPEC]}, Example(WITH_SPEC, "default"), id="the first with a spec"),
        pytest.param(("own",), {"examples": [WIDGET]}, Example(WIDGET, "own"), id="in the only namespace watched"),
        pytest.param(("b", "own"), {"examples": [WIDGET]}, Example(WIDGET, "own"), id="in the install namespace"),
        pytest.param(("b", "c"), {"examples": [WIDGET]}, Example(WIDGET, "b"), id="in the first namespace watched"),
        pytest.param((), {"examples": [PLACED]}, Example(PLACED), id="in the namespace that it names"),
        pytest.param((), {"examples": [WIDGET], "scope": "Cluster"}, Example(WIDGET), id="without a namespace"),
        pytest.param((), {"examples": WIDGET}, Example(WIDGET, "default"), id="a list is not needed"),
        pytest.param((), {"examples": [None, 1, [], {}, {**WIDGET, "metadata": []}]}, None, id="no custom resource"),
        pytest.param((), {"examples": [{**WIDGET, "metadata": {}}]}, None, id="one without a name"),
        pytest.param((), {"examples": "[" * 100_000}, None, id="JSON without an end"),
        pytest.param(
            (),
            {"examples": [WITH_SPEC, SIZED], "schema": STRICT},
            Example(SIZED, "default"),
            id="the first that fits its schema",
        ),
        pytest.param(
            (),
            {"examples": [WITH_SPEC, WIDGET], "schema": STRICT},
            Example(WIDGET, "default"),
            id="without a spec if none fits",
        ),
        pytest.param((), {"examples": [WITH_SPEC], "schema": STRICT}, None, id="none that the API server refuses"),
        pytest.param((), {}, None, id="no examples"),
    ],
)
def test_the_first_example(watched: tuple[str, ...], given: dict[str, Any], expected: Example | None) -> None:
    bundle = widgets(**given).registry
    assert bundle is not None
    assert first_example(bundle, watched, "own") == expected
