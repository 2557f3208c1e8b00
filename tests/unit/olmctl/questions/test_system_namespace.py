"""The namespace of the suite, as the ClusterRoleBinding of operator-controller has it."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.system_namespace import SystemNamespace, bound_namespace, second_suite_refusal

DEFAULT = "olm-suite-system"


def account(namespace: object, name: str = "operator-controller", kind: str = "ServiceAccount") -> dict[str, Any]:
    return {"kind": kind, "name": name, "namespace": namespace}


@pytest.mark.parametrize(
    ("binding", "name"),
    [
        pytest.param({"subjects": [account("olmv1-system")]}, "olmv1-system", id="that of its account"),
        pytest.param(
            {"subjects": [account("a", name="b"), account("c", kind="User"), account("d")]},
            "d",
            id="not those of other subjects",
        ),
        pytest.param({"subjects": [account("a/b"), account(""), account(None)]}, DEFAULT, id="not what is no name"),
        pytest.param({"subjects": None}, DEFAULT, id="the default without subjects"),
    ],
)
def test_the_namespace_that_a_binding_has(binding: dict[str, Any], name: str) -> None:
    assert bound_namespace(binding) == name


def test_an_assumed_namespace_is_said_to_be_one() -> None:
    assert SystemNamespace("a").text == "namespace a"
    hint = "(if the suite has another one, name it with --system-namespace)"
    assert SystemNamespace(is_assumed=True).text == f"namespace {DEFAULT} {hint}"


@pytest.mark.parametrize(("is_running", "state"), [(True, "is installed in"), (False, "has its permissions")])
def test_a_second_suite_is_refused_with_the_namespace_of_the_first(state: str, *, is_running: bool) -> None:
    text = second_suite_refusal("olmv1-system", is_running=is_running)
    assert text.startswith(f"olm-suite {state}")
    assert "`olm suite uninstall --system-namespace olmv1-system`" in text
