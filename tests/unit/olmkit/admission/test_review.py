"""What the API server sends to a webhook, and what it is answered."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from olmkit.admission.review import AdmissionRequest, BadReview, Denial, answer, parse_review

OBJECT = {"metadata": {"name": "ship"}, "spec": {}}


def review(**request: Any) -> bytes:
    named = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return orjson.dumps({**named, "request": {"uid": "u", "operation": "UPDATE", **request}})


def test_a_change_has_the_object_before_and_after_it() -> None:
    other = {**OBJECT, "spec": {"a": 1}}
    asked = parse_review(review(object=other, oldObject=OBJECT, userInfo={"username": "jane"}))
    assert asked == AdmissionRequest("u", other, OBJECT, user="jane")


def test_a_deletion_has_no_object_after_it() -> None:
    assert parse_review(review(operation="DELETE", object=None, oldObject=OBJECT)).obj is None


def test_a_deletion_of_what_nests_deeper_than_orjson_reads_is_read() -> None:
    body = review(operation="DELETE", oldObject={**OBJECT, "spec": {"a": "NESTED"}})
    nested = b'{"a":' * 1_100 + b"1" + b"}" * 1_100
    old = parse_review(body.replace(b'"NESTED"', nested)).old
    assert old is not None
    assert old["metadata"] == OBJECT["metadata"]


@pytest.mark.parametrize(
    ("options", "finalizers", "is_orphaning"),
    [
        pytest.param({"propagationPolicy": "Orphan"}, [], True, id="the policy says so"),
        pytest.param({"propagationPolicy": "Background"}, ["orphan"], False, id="a policy overrides the finalizer"),
        pytest.param({"propagationPolicy": "Foreground"}, [], False, id="in the foreground"),
        pytest.param({"orphanDependents": True}, [], True, id="the field of older clients says so"),
        pytest.param({"orphanDependents": False}, ["orphan"], False, id="it overrides the finalizer too"),
        pytest.param({}, ["orphan"], True, id="the finalizer of the object decides alone"),
        pytest.param(None, ["other"], False, id="nothing says so"),
    ],
)
def test_a_deletion_may_leave_the_dependents(options: object, finalizers: list[str], is_orphaning: bool) -> None:
    old = {"metadata": {"name": "ship", "finalizers": finalizers}}
    assert parse_review(review(operation="DELETE", oldObject=old, options=options)).orphans_dependents is is_orphaning


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(b"", "not JSON", id="nothing"),
        pytest.param(b"[]", "no AdmissionReview", id="a list"),
        pytest.param(b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}', "v1", id="an old version"),
        pytest.param(b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "no request", id="no request"),
        pytest.param(review(uid=None), "uid", id="a request that cannot be answered"),
        pytest.param(review(object="ship"), "object is no object", id="text in the place of the object"),
        pytest.param(review(oldObject=OBJECT, options=[]), "options", id="options of another type"),
        pytest.param(review(oldObject={}), "oldObject is no object", id="an object without metadata"),
    ],
)
def test_what_cannot_be_answered_is_named(body: bytes, problem: str) -> None:
    with pytest.raises(BadReview, match=problem):
        parse_review(body)


@pytest.mark.parametrize(
    ("denial", "wanted"),
    [
        pytest.param(None, {"uid": "u", "allowed": True}, id="allowed"),
        pytest.param(
            Denial("it is immutable"),
            {"uid": "u", "allowed": False, "status": {"status": "Failure", "code": 403, "reason": "it is immutable"}},
            id="a reason alone: kubectl prints it in both places",
        ),
        pytest.param(
            Denial("Forbidden", "in use"),
            {
                "uid": "u",
                "allowed": False,
                "status": {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "in use"},
            },
            id="a reason and a message",
        ),
    ],
)
def test_the_answer_has_the_uid_of_the_request(denial: Denial | None, wanted: dict[str, Any]) -> None:
    answered = orjson.loads(answer(AdmissionRequest("u"), denial))
    assert answered == {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": wanted}
