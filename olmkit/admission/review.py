"""The AdmissionReview v1 of the API server as values, and the answer to it.

Called by olmkit.admission.server; validators take an AdmissionRequest and return a Denial or None. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.api.meta import Object

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
_FORBIDDEN = 403


class BadReview(Exception):
    """The body is no AdmissionReview that can be answered; the message says why."""


@dataclass(frozen=True)
class AdmissionRequest:
    """A write that somebody requests."""

    uid: str
    """Identifies the request; not the uid of the object."""
    obj: Object | None = None
    """The object as it would be stored; None for a deletion."""
    old: Object | None = None
    """The object as it is stored; None for a creation."""


@dataclass(frozen=True)
class Denial:
    """Why a write is refused. kubectl prints `Error from server (REASON): admission webhook "…" denied the request: MESSAGE`,
    with the reason in place of a message that is empty."""

    reason: str
    message: str = ""


def parse_review(body: bytes) -> AdmissionRequest:
    """The request of a review. Raises BadReview."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview("the body is not JSON") from error
    if not isinstance(review, dict) or (review.get("apiVersion"), review.get("kind")) != (API_VERSION, KIND):
        raise BadReview(f"the body is no {KIND} of {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise BadReview("the review has no request with a uid")
    return AdmissionRequest(request["uid"], _object(request, "object"), _object(request, "oldObject"))


def answer(request: AdmissionRequest, denial: Denial | None) -> bytes:
    """The review with the answer to the request."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": denial is None}
    if denial is not None:
        status = {"status": "Failure", "code": _FORBIDDEN, "reason": denial.reason}
        response["status"] = {**status, "message": denial.message} if denial.message else status
    return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def _object(request: dict[str, Any], key: str) -> Object | None:
    found = request.get(key)
    if found is None:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise BadReview(f"{key} is no object with metadata")
    return found
