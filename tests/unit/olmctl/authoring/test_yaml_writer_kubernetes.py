"""Scalars as the writer of Kubernetes has them."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.authoring.yaml_writer import kubernetes_document
from olmkit.gocompat import documents


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("2024-01-01", '"2024-01-01"', id="a date"),
        pytest.param("2024-05-09T14:22:29Z", '"2024-05-09T14:22:29Z"', id="a time"),
        pytest.param("1:20", '"1:20"', id="a number of base 60"),
        pytest.param("8080:80", "8080:80", id="no number of base 60"),
        pytest.param("yes", '"yes"', id="a word"),
        pytest.param("[]", "'[]'", id="a text that cannot be plain"),
        pytest.param("a\nb\n", "|\n  a\n  b", id="several lines"),
        pytest.param("a\n\n", "|+\n  a\n", id="empty lines at the end"),
        pytest.param("word " * 20 + "end", "word " * 15 + "word\n  " + "word " * 4 + "end", id="a long line"),
        pytest.param(0.1, "0.1", id="a small number"),
        pytest.param(0.00001, "1e-05", id="a very small number"),
        pytest.param(1234567.5, "1.2345675e+06", id="a large number"),
        pytest.param(1e21, "1e+21", id="a very large number"),
        pytest.param(5, "5", id="a whole number"),
        pytest.param(None, "null", id="null"),
    ],
)
def test_a_scalar(value: Any, expected: str) -> None:
    assert kubernetes_document({"a": value}) == f"a: {expected}\n"


def test_the_text_is_read_as_the_same_object_also_with_unusual_keys() -> None:
    body = {"1:20": "1:20", "2024-01-01": "2024-01-01", "x" * 200: [{"y": 1.5}], "a\nb": "12:30:45"}
    assert documents.read(kubernetes_document(body).encode()) == [body]
