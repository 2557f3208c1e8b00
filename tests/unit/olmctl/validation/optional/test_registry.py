"""The validators that a selector selects."""

from __future__ import annotations

import pytest

from olmctl.validation.optional.registry import VALIDATORS, selected
from olmkit.gocompat.label_selectors import BadSelector

SUITE = ["operatorhubv2", "capabilities", "categories", "alpha-deprecated-apis", "good-practices"]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("suite=operatorframework", SUITE, id="the suite"),
        pytest.param("suite", SUITE, id="with a label"),
        pytest.param("!suite", ["operatorhub", "community", "multiarch"], id="without a label"),
        pytest.param("name=multiarch", ["multiarch"], id="a name"),
        pytest.param(" name == multiarch ", ["multiarch"], id="a name with blanks"),
        pytest.param("name in (community, multiarch)", ["community", "multiarch"], id="two names"),
        pytest.param(
            "suite,name notin (categories,good-practices)", [SUITE[0], SUITE[1], SUITE[3]], id="two requirements"
        ),
        pytest.param("name!=multiarch,!suite", ["operatorhub", "community"], id="not a name"),
    ],
)
def test_the_selected_validators(selector: str, names: list[str]) -> None:
    assert [each.name for each in selected(selector)] == names


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        pytest.param("name=new", "name=new", id="an unknown name"),
        pytest.param("suite=x,name in (b, a)", "name in (a,b),suite=x", id="sorted as Kubernetes prints it"),
        pytest.param("!name", "!name", id="without a name"),
    ],
)
def test_a_selector_of_nothing(selector: str, shown: str) -> None:
    with pytest.raises(BadSelector) as caught:
        selected(selector)
    assert str(caught.value) == f'selector "{shown}" does not match any validator labels'


@pytest.mark.parametrize("selector", ["=", "a=b=c", "name in", "name,", "(", "a b", "x" * 2000])
def test_a_selector_that_cannot_be_read(selector: str) -> None:
    with pytest.raises(BadSelector, match=r"requirement|at most"):
        selected(selector)


def test_each_validator_is_described() -> None:
    assert [each.name for each in VALIDATORS][:3] == SUITE[:3]
    assert all(each.description.endswith(".") for each in VALIDATORS)
