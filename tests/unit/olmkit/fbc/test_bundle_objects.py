"""The CSV among the objects of a bundle is found, and no other object is decoded."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from olmkit.fbc.bundle_objects import find_csv

CSV = '{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","spec":{"a":1}}'
CRD = '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"b":"ClusterServiceVersion"}}'
LATE = '{"metadata":{"name":"%s"},"kind":"ClusterServiceVersion","spec":{"a":1}}' % ("x" * 1000)


def value(text: str | bytes) -> dict[str, Any]:
    return {"data": base64.b64encode(text.encode() if isinstance(text, str) else text).decode()}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CSV, id="as opm writes it"),
        pytest.param(CSV.replace(",", " ,\n  ").replace(":{", " : {"), id="with other spaces"),
        pytest.param(LATE, id="whose kind comes late"),
        pytest.param("# made by hand\nspec: {a: 1}\nkind: ClusterServiceVersion\n", id="in YAML"),
    ],
)
def test_a_csv_is_found_behind_other_objects(text: str) -> None:
    found = find_csv([value(CRD), value("kind: Service\n"), value(text), value(CSV.replace("1", "2"))])
    assert found is not None
    assert found["spec"] == {"a": 1}


def test_a_csv_with_an_integer_beyond_float64_is_found() -> None:
    found = find_csv([value(CSV.replace("{", '{"x":%s,' % ("1" * 400), 1))])
    assert found is not None
    assert found["spec"] == {"a": 1}


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(value(CRD), id="another kind that speaks of it"),
        pytest.param(value('{"kind":"List","items":["ClusterServiceVersion"]}'), id="a list that speaks of it"),
        pytest.param(value("ClusterServiceVersion: ["), id="what is no YAML"),
        pytest.param(value('{"kind":"ClusterServiceVersion"'), id="what is not valid JSON"),
        pytest.param(value('["ClusterServiceVersion"]'), id="what is no mapping"),
        pytest.param(value(b"\xff\x00ClusterServiceVersion"), id="what is no text"),
        pytest.param({"data": "Q2x1c3Rlcg=Q"}, id="what is no base64"),
        pytest.param({"data": "é"}, id="what is no ASCII"),
        pytest.param({"data": 5}, id="a number"),
        pytest.param("text", id="no mapping at all"),
        pytest.param({}, id="no data"),
    ],
)
def test_other_objects_are_ignored(held: Any) -> None:
    assert find_csv([held]) is None
    assert find_csv([held, value(CSV)]) is not None


def test_a_csv_whose_text_is_not_wanted_is_not_parsed() -> None:
    def wanted(text: bytes) -> bool:
        return b"minKubeVersion" in text

    assert find_csv([value(CSV)], wanted) is None
    assert find_csv([value(CSV.replace('"a"', '"minKubeVersion"'))], wanted) is not None
