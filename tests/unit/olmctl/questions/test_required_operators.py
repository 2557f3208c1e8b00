"""Which dependencies are deleted with the last Operator that requires them."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.questions.operator_state import dependencies
from olmctl.questions.required_operators import RequiredOperators
from olmkit.api.operator_status import RequiredPackage
from olmkit.api.operators import INSTALLED_FOR_LABEL
from olmkit.api.ownership import OPERATOR_CONTROLLER
from olmkit.errors import OlmError

INSTALLED_UID = "installed"
DEPLOYMENTS = ({"metadata": {"name": "d", "ownerReferences": [{"uid": INSTALLED_UID}]}},)


def operator(
    name: str, *requires: str, is_dependency: bool = False, is_deleting: bool = False, is_installed: bool = False
) -> dict[str, Any]:
    uid = INSTALLED_UID if is_installed else name
    metadata: dict[str, Any] = {"name": name, "uid": uid}
    if is_dependency:
        entry = {"manager": OPERATOR_CONTROLLER, "operation": "Apply", "fieldsV1": {"f:spec": {}}}
        metadata |= {"labels": {INSTALLED_FOR_LABEL: ""}, "managedFields": [entry]}
    if is_deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    listed = [
        RequiredPackage(
            package=each, version="1.0.0", bundle=f"{each}.v1", operator=each, installed=True, requirement="so"
        )
        for each in requires
    ]
    return {"metadata": metadata, "status": {"dependencies": [each.dump() for each in listed]}}


def dependency(name: str, *requires: str, is_deleting: bool = False) -> dict[str, Any]:
    return operator(name, *requires, is_dependency=True, is_deleting=is_deleting)


A_TO_C = (operator("a", "b"), dependency("b", "c"), dependency("c"))
DELETING_B = (operator("a", "b"), dependency("b", "c", is_deleting=True), dependency("c"))
CYCLE = (operator("a", "b"), dependency("b", "c"), dependency("c", "b"))


@pytest.mark.parametrize(
    ("operators", "in_use", "deleted"),
    [
        pytest.param((operator("a"),), (), [], id="an Operator without dependencies goes alone"),
        pytest.param(A_TO_C, (), ["b", "c"], id="dependencies of dependencies go too"),
        pytest.param((*A_TO_C, operator("d", "c")), (), ["b"], id="one that another Operator requires stays"),
        pytest.param((*A_TO_C, operator("d", "b")), (), [], id="what a dependency that stays requires stays too"),
        pytest.param(A_TO_C, ("b",), [], id="what a dependency in use requires stays too"),
        pytest.param(A_TO_C, ("c",), ["b"], id="one in use stays, and not what requires it"),
        pytest.param(CYCLE, (), ["b", "c"], id="a cycle of dependencies goes as a whole"),
        pytest.param((*CYCLE, operator("d", "c")), (), [], id="a cycle that another Operator requires stays as a whole"),
        pytest.param((operator("a", "b"), operator("b", "c"), dependency("c")), (), [], id="what a person installed stays"),
        pytest.param((*A_TO_C, operator("d", "c", is_deleting=True)), (), ["b", "c"], id="one that is deleted keeps none"),
        pytest.param((*A_TO_C, dependency("e", "c")), (), ["b"], id="a dependency of others that still runs keeps its own"),
        pytest.param((operator("a", "a", "gone"),), (), [], id="itself and an Operator that does not exist do not count"),
        pytest.param((dependency("a", "b"), dependency("b", "a")), (), ["b"], id="a dependency that is deleted by a person"),
        pytest.param((operator("a", "b"), dependency("b", is_deleting=True)), ("b",), ["b"], id="use keeps none that is deleted"),
        pytest.param((operator("a", "b"), operator("b", is_deleting=True)), (), ["b"], id="what a person has deleted goes too"),
        pytest.param(
            (*DELETING_B, operator("d", "b", is_installed=True)), ("b",), [], id="what is installed keeps what is deleted"
        ),
        pytest.param((*DELETING_B, operator("d", "b")), ("b",), ["b"], id="what is not installed keeps what is not deleted"),
    ],
)  # fmt: skip
def test_what_is_deleted_with_an_operator(
    operators: tuple[dict[str, Any], ...], in_use: tuple[str, ...], deleted: list[str]
) -> None:
    assert RequiredOperators(operators, DEPLOYMENTS).deleted_with("a", in_use) == deleted


def test_who_requires_an_operator() -> None:
    required = RequiredOperators([*A_TO_C, operator("d", "c")])
    assert (required.requiring("c"), required.requiring("a")) == (["b", "d"], [])
    assert required.required_by(["a"]) == ["b", "c"]


def test_a_package_without_an_operator_requires_nothing() -> None:
    listed = {"package": "b", "version": "1.0.0", "bundle": "b.v1", "installed": False, "requirement": "a requires b"}
    found = {"metadata": {"name": "a"}, "status": {"dependencies": [listed]}}
    assert [(each.package, each.operator) for each in dependencies(found)] == [("b", None)]
    assert RequiredOperators([found]).required_by(["a"]) == []


def test_a_status_of_another_version_of_the_api_is_an_error() -> None:
    with pytest.raises(OlmError, match=r"status\.dependencies of Operator a cannot be read"):
        dependencies({"metadata": {"name": "a"}, "status": {"dependencies": ["b"]}})
