"""Reading of audit logs: what was refused by RBAC, and which permissions were used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.audit.requests import Request, read_logs, summarize

CATALOGD = "system:serviceaccount:olm-suite-system:catalogd"
PACKAGES = "catalogd.operatorframework.io"
REVIEW = {"kind": "SubjectAccessReview", "spec": {"user": CATALOGD}}


def event(verb: str, code: int = 200, *, decision: str = "allow", message: str = "", **fields: Any) -> dict[str, Any]:
    """A request for the Package `p`."""
    return {
        "user": {"username": CATALOGD},
        "verb": verb,
        "requestURI": "/apis/x?watch=1",
        "objectRef": {"resource": "packages", "apiGroup": PACKAGES, "name": "p"},
        "annotations": {"authorization.k8s.io/decision": decision},
        "responseStatus": {"code": code, "message": message},
        **fields,
    }


def package(verb: str) -> Request:
    return Request("catalogd", verb, PACKAGES, "packages", name="p")


def reviewed(path: str, *, allowed: bool) -> dict[str, Any]:
    spec = {"user": CATALOGD, "nonResourceAttributes": {"path": path, "verb": "get"}}
    answer = {"kind": "SubjectAccessReview", "spec": spec, "status": {"allowed": allowed}}
    return event(
        "create",
        201,
        objectRef={"resource": "subjectaccessreviews", "apiGroup": "authorization.k8s.io"},
        responseObject=answer,
    )


ASKED = Request("catalogd", "create", "authorization.k8s.io", "subjectaccessreviews")


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        pytest.param(event("get"), {package("get")}, id="what is read"),
        pytest.param(event("get", 404), {package("get")}, id="an object that is missing was permitted to be read"),
        pytest.param(event("patch"), {package("patch")}, id="an apply to an object that is there"),
        pytest.param(
            event("patch", 201), {package("patch"), package("create")}, id="an apply that creates needs both verbs"
        ),
        pytest.param(
            event(
                "patch", objectRef={"resource": "catalogs", "subresource": "status", "apiGroup": PACKAGES, "name": "c"}
            ),
            {Request("catalogd", "patch", PACKAGES, "catalogs/status", name="c")},
            id="a subresource",
        ),
        pytest.param(
            event("get", objectRef=None), {Request("catalogd", "get", path="/apis/x")}, id="a path without its query"
        ),
        pytest.param(
            reviewed("/replication/v1", allowed=True),
            {ASKED, Request("catalogd", "get", path="/replication/v1")},
            id="a path that a review allows",
        ),
        pytest.param(reviewed("/catalogs/c", allowed=False), {ASKED}, id="a path that a review does not allow"),
        pytest.param(event("patch", 403, message="admission webhook denied"), set(), id="what admission denies"),
        pytest.param(
            event("get", impersonatedUser={"username": "system:serviceaccount:ns:a", "groups": ["g"]}),
            {
                Request("catalogd", "impersonate", "", "serviceaccounts", "ns", "a"),
                Request("catalogd", "impersonate", "", "groups", name="g"),
            },
            id="of an impersonated account the impersonation counts",
        ),
        pytest.param(
            event("get", 403, decision="forbid", impersonatedUser={"username": "jane", "extra": {"k": ["v"]}}),
            {
                Request("catalogd", "impersonate", "", "users", name="jane"),
                Request("catalogd", "impersonate", "authentication.k8s.io", "userextras/k", name="v"),
            },
            id="whatever the other account may do",
        ),
    ],
)
def test_used_permissions(logged: dict[str, Any], expected: set[Request]) -> None:
    found = summarize([logged])
    assert set(found.allowed) == expected
    assert found.refused == {}


@pytest.mark.parametrize(
    ("code", "decision", "message"),
    [
        pytest.param(403, "forbid", "", id="the request"),
        pytest.param(
            403, "allow", 'p is forbidden: User "x" cannot create resource "packages"', id="the creation by an apply"
        ),
        pytest.param(
            403, "allow", "you can't set finalizers on: , <nil>", id="an owner reference that blocks the deletion"
        ),
        pytest.param(403, "allow", 'serviceaccounts "a" is forbidden: User "x" cannot impersonate', id="impersonation"),
    ],
)
def test_refusals(code: int, decision: str, message: str) -> None:
    found = summarize([event("patch", code, decision=decision, message=message)])
    assert set(found.allowed) == set()
    assert found.refused == {package("patch"): message}


def test_the_last_line_may_be_cut(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text('{"user":{"username":"x"},"verb":"get","requestURI":"/version"}\n{"user":')
    assert read_logs(tmp_path).allowed == {Request("x", "get", path="/version")}
