"""Which names are taken for misspelt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operator_controller.resolve.similar_names import MAX_SUGGESTIONS, similar_names


@pytest.mark.parametrize(
    ("asked", "known", "similar"),
    [
        pytest.param("snapsheduler", ["quay", "snapscheduler"], ["snapscheduler"], id="a letter is missing"),
        pytest.param("argocd-operator", ["party-operator", "quay-operator"], [], id="a shared suffix is no likeness"),
        pytest.param("argocd-operator", ["argocd"], ["argocd"], id="with the word operator too many"),
        pytest.param("party", ["party-operator"], ["party-operator"], id="without the word operator"),
        pytest.param("argcd-operator", ["argocd-operator"], ["argocd-operator"], id="a letter before a shared suffix"),
        pytest.param("ack-foo-controller", ["ack-efs-controller"], [], id="shared words on both sides are no likeness"),
        pytest.param(
            "cert-manger", ["cert-manager", "cert-utils"], ["cert-manager"], id="a letter behind a shared word"
        ),
        pytest.param("kiali", ["kiali-ossm", "a-kiali"], ["kiali-ossm"], id="a whole beginning is a likeness"),
        pytest.param("hello", ["hello2", "hello1"], ["hello1", "hello2"], id="those that are as much alike by name"),
        pytest.param("aa", ["aa4", "aa3", "aa2", "aa1"], ["aa1", "aa2", "aa3"], id="of many three"),
        pytest.param("a", ["a" * 254], [], id="a name that no package can have is not compared"),
        pytest.param("operator", ["operator-x", "x-operator"], [], id="a name of nothing but the word operator"),
        pytest.param("x", [], [], id="nothing is known"),
    ],
)
def test_what_may_have_been_meant(asked: str, known: list[str], similar: list[str]) -> None:
    assert similar_names(asked, known) == similar


names = st.from_regex(r"[a-c]{1,4}(-([a-c]{1,3}|operator)){0,2}", fullmatch=True)


@given(names, st.lists(names, max_size=8))
def test_suggestions_are_known_names_in_one_order(asked: str, known: list[str]) -> None:
    similar = similar_names(asked, known)
    assert len(similar) <= MAX_SUGGESTIONS
    assert set(similar) <= set(known)
    assert similar == similar_names(asked, reversed(known))
