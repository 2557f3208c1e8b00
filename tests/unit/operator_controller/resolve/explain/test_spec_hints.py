"""Suggestions for misspelt names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operator_controller.resolve.explain.spec_hints import MAX_SUGGESTIONS, similar_names


@pytest.mark.parametrize(
    ("requested", "known", "similar"),
    [
        pytest.param("snapsheduler", ["quay", "snapscheduler"], ["snapscheduler"], id="a letter is missing"),
        pytest.param("argocd-operator", ["party-operator", "quay-operator"], [], id="a common suffix is ignored"),
        pytest.param("argocd-operator", ["argocd"], ["argocd"], id="with the word operator in addition"),
        pytest.param("party", ["party-operator"], ["party-operator"], id="without the word operator"),
        pytest.param("argcd-operator", ["argocd-operator"], ["argocd-operator"], id="a letter before a common suffix"),
        pytest.param("ack-foo-controller", ["ack-efs-controller"], [], id="a common prefix and suffix are ignored"),
        pytest.param(
            "cert-manger", ["cert-manager", "cert-utils"], ["cert-manager"], id="a letter after a common prefix"
        ),
        pytest.param("kiali", ["kiali-ossm", "a-kiali"], ["kiali-ossm"], id="one name is a prefix of the other"),
        pytest.param("hello", ["hello2", "hello1"], ["hello1", "hello2"], id="equally similar names are sorted"),
        pytest.param("aa", ["aa4", "aa3", "aa2", "aa1"], ["aa1", "aa2", "aa3"], id="at most three"),
        pytest.param("a", ["a" * 254], [], id="a name that no package can have is not compared"),
        pytest.param("operator", ["operator-x", "x-operator"], [], id="a name that is the word operator"),
        pytest.param("ARGOCD-Operator", ["argocd-operator", "l5-operator"], ["argocd-operator"], id="another case"),
        pytest.param("x", [], [], id="no known names"),
    ],
)
def test_similar_names(requested: str, known: list[str], similar: list[str]) -> None:
    assert similar_names(requested, known) == similar


names = st.from_regex(r"[a-c]{1,4}(-([a-c]{1,3}|operator)){0,2}", fullmatch=True)


@given(names, st.lists(names, max_size=8))
def test_suggestions_are_known_names_in_a_fixed_order(requested: str, known: list[str]) -> None:
    similar = similar_names(requested, known)
    assert len(similar) <= MAX_SUGGESTIONS
    assert set(similar) <= set(known)
    assert similar == similar_names(requested, reversed(known))
