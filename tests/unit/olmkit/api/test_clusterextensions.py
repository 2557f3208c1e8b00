"""Names and labels that follow from the name of a ClusterExtension, and selectors that select nothing."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.api.clusterextensions import CatalogSelector, operator_name, owner_labels

KIND = "olm.operatorframework.io/owner-kind"
NAME = "olm.operatorframework.io/owner-name"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("argocd", "argocd", id="a short name is the Operator's"),
        pytest.param("a.b.c", "a.b.c", id="also with dots"),
        pytest.param("n" * 45, "n" * 45, id="a name of 45 characters too"),
        pytest.param("n" * 46, f"{'n' * 36}-c043d3b9", id="a longer one is shortened, with a hash"),
        pytest.param("n" * 47, f"{'n' * 36}-686b2808", id="another one that begins alike has another hash"),
        pytest.param(f"{'n' * 35}.{'m' * 17}", f"{'n' * 35}-e6634270", id="a dot where it is cut is left out"),
    ],
)
def test_the_name_of_the_operator(name: str, expected: str) -> None:
    assert operator_name(name) == expected
    assert len(expected) <= 45


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("argocd", "argocd", id="a short name"),
        pytest.param("n" * 63, "n" * 63, id="a name that is a label value"),
        pytest.param("n" * 64, f"{'n' * 54}-ce068a19", id="a longer one is shortened"),
    ],
)
def test_the_labels_of_what_is_installed(name: str, value: str) -> None:
    assert owner_labels(name) == {KIND: "ClusterExtension", NAME: value}
    assert len(value) <= 63


def _one(operator: str, values: list[str] | None = None, key: str = "team") -> dict[str, Any]:
    one = {"key": key, "operator": operator} | ({} if values is None else {"values": values})
    return {"matchExpressions": [one]}


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        pytest.param({}, "", id="an empty one selects all"),
        pytest.param({"matchLabels": {"example.com/a": "b", "c": ""}}, "", id="labels"),
        pytest.param(_one("In", ["a", "b"]), "", id="one of several values"),
        pytest.param(_one("DoesNotExist"), "", id="no label"),
        pytest.param({"matchLabels": {"a b": "c"}}, '"a b" is no key of a label', id="a key with a blank"),
        pytest.param({"matchLabels": {"a": "b c"}}, '"b c" is no value of a label', id="a value with a blank"),
        pytest.param(_one("Exists", key="-"), '"-" is no key of a label', id="the key of an expression"),
        pytest.param(_one("In", ["a", "?"]), '"?" is no value of a label', id="the value of an expression"),
        pytest.param(
            _one("Near", ["a"]),
            '"Near" is no operator of a label selector: use In, NotIn, Exists, DoesNotExist',
            id="an unknown operator",
        ),
        pytest.param(_one("NotIn", []), "values must be set for the operator NotIn", id="no values"),
        pytest.param(_one("Exists", ["a"]), "values must be empty for the operator Exists", id="values of none"),
        pytest.param(_one("In", ["a"] * 65), "an expression may have 64 values", id="too many values"),
        pytest.param(
            {"matchLabels": {f"a{each}": "" for each in range(65)}},
            "matchLabels may have 64 entries, and matchExpressions 63",
            id="too many labels",
        ),
    ],
)
def test_what_is_wrong_with_a_selector(selector: dict[str, Any], problem: str) -> None:
    assert CatalogSelector.load(selector).problem() == problem
