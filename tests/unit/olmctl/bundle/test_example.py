"""The first custom resource to try, among the examples of a publisher, which may be anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmctl.bundle.example import Example, first_example, own_examples
from tests.unit.olmctl.bundle.bundles import widgets

WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
OTHER = {"apiVersion": "other.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
WITH_SPEC = {**WIDGET, "metadata": {"name": "b"}, "spec": {}}
NUMBER = {"size": {"type": "integer"}}
STRICT = {"type": "object", "properties": {"spec": {"type": "object", "properties": NUMBER, "required": ["size"]}}}
SIZED = {**WIDGET, "metadata": {"name": "c"}, "spec": {"size": 1}}
CLOSED = {"type": "object", "properties": {"spec": {"type": "object", "properties": NUMBER}}}
UNKNOWN = {**WIDGET, "metadata": {"name": "d"}, "spec": {"size": 1, "colour": "red"}}
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
        pytest.param(
            (),
            {"examples": [UNKNOWN, SIZED], "schema": CLOSED},
            Example(SIZED, "default"),
            id="the first whose fields are all known",
        ),
        pytest.param((), {"examples": [UNKNOWN], "schema": CLOSED}, None, id="none with a field that kubectl refuses"),
        pytest.param((), {}, None, id="no examples"),
    ],
)
def test_the_first_example(watched: tuple[str, ...], given: dict[str, Any], expected: Example | None) -> None:
    bundle = widgets(**given).registry
    assert bundle is not None
    assert first_example(bundle, watched, "own") == expected


def test_an_example_of_a_deprecated_version_comes_last() -> None:
    bundle = widgets(examples=[{**SIZED, "apiVersion": "example.com/v1alpha1"}, SIZED]).registry
    assert bundle is not None
    (definition,) = bundle.crds
    (version,) = definition["spec"]["versions"]
    old = {**version, "name": "v1alpha1", "storage": False, "deprecated": True}
    crd = {**definition, "spec": {**definition["spec"], "versions": [old, version]}}
    both = replace(bundle, crds=(crd,))
    assert len(own_examples(both)) == 2
    assert first_example(both, (), "own") == Example(SIZED, "default")
