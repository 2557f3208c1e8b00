"""The AdmissionReview v1 of the API server as values, and the answer to it.

Validators take an AdmissionRequest and return a Denial or None. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.api.meta import ORPHAN_FINALIZER, Object
from olmkit.gocompat import json_depth

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
    orphans_dependents: bool = False
    """True if it is a deletion after which the garbage collector leaves the dependents (propagationPolicy Orphan)."""
    user: str = ""
    """The user who sent it; "": the review does not say so."""


@dataclass(frozen=True)
class Denial:
    """The reason why a write is refused."""

    reason: str
    message: str = ""


def parse_review(body: bytes) -> AdmissionRequest:
    """The request of a review. Raises BadReview."""
    try:
        review = json_depth.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview("the body is not JSON") from error
    if not isinstance(review, dict) or (review.get("apiVersion"), review.get("kind")) != (API_VERSION, KIND):
        raise BadReview(f"the body is no {KIND} of {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str):
        raise BadReview("the review has no request with a uid")
    obj, old = _object(request, "object"), _object(request, "oldObject")
    user = optional_text(request, "", "userInfo", "username")
    return AdmissionRequest(request["uid"], obj, old, _orphans_dependents(request.get("options"), old), user)


def answer(request: AdmissionRequest, denial: Denial | None) -> bytes:
    """The review with the answer to the request."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": denial is None}
    if denial is not None:
        status = {"status": "Failure", "code": _FORBIDDEN, "reason": denial.reason}
        response["status"] = {**status, "message": denial.message} if denial.message else status
    return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def _orphans_dependents(options: Any, old: Object | None) -> bool:
    """Report whether a deletion leaves the dependents: by these DeleteOptions or, if they do not say so, by the finalizers of the
    object. Both are read as the API server reads them."""
    if options is not None and not isinstance(options, dict):
        raise BadReview("options is of the wrong type")
    policy, is_orphaning = (options or {}).get("propagationPolicy"), (options or {}).get("orphanDependents")
    if policy is not None or is_orphaning is not None:
        return policy == "Orphan" or is_orphaning is True
    return old is not None and ORPHAN_FINALIZER in (old["metadata"].get("finalizers") or ())


def _object(request: dict[str, Any], key: str) -> Object | None:
    found = request.get(key)
    if found is None:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise BadReview(f"{key} is no object with metadata")
    _require_types(found, key)
    return found


def _require_types(found: Object, key: str) -> None:
    """Raise BadReview unless what the validators read of every kind has the type that the API server gives it."""
    metadata = found["metadata"]
    lists = {name: metadata.get(name) or [] for name in ("managedFields", "ownerReferences", "finalizers")}
    mappings = {f"metadata.{name}": metadata.get(name) or {} for name in ("annotations", "labels")}
    for name, value in {**mappings, "spec": found.get("spec") or {}}.items():
        if not isinstance(value, dict):
            raise BadReview(f"{key} has {name} of the wrong type")
    for name, items in lists.items():
        item_type = str if name == "finalizers" else dict
        if not isinstance(items, list) or not all(isinstance(item, item_type) for item in items):
            raise BadReview(f"{key} has metadata.{name} of the wrong type")
    for owner in lists["ownerReferences"]:
        for name in ("kind", "name", "uid"):
            required_text(owner, name)
    optional_text(found, "", "metadata", "creationTimestamp")
    for entry in lists["managedFields"]:
        for name in ("manager", "operation", "time"):
            optional_text(entry, "", name)


def required_text(obj: Object, *path: str) -> str:
    """The text at the path of an object of a review, which anyone may have written. Raises BadReview if there is none."""
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, str):
        raise BadReview(f"the object has no text in {'.'.join(path)}")
    return value


def optional_text(obj: Object, default: str, *path: str) -> str:
    """The text at the path; the default where there is nothing. Raises BadReview for a value of another type."""
    value: Any = obj
    for step in path:
        if value is not None and not isinstance(value, dict):
            raise BadReview(f"the object has a value of the wrong type in {'.'.join(path)}")
        value = (value or {}).get(step)
    if value is not None and not isinstance(value, str):
        raise BadReview(f"the object has a value of the wrong type in {'.'.join(path)}")
    return default if value is None else value
