"""What the accounts of the suite asked of API servers, as their audit logs say, and what was refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]

CREATED, FORBIDDEN = 201, 403
_DECISION = "authorization.k8s.io/decision"
_BY_AUTHORIZER = re.compile(r'User "[^"]*" cannot |you can\'t (set finalizers on|delete)|not currently held')
"""In the message of a 403 although the request itself was allowed: RBAC refused a part of it, as the creation by an apply."""


@dataclass(frozen=True, order=True)
class Request:
    """One request, without what differs between requests for the same rule. `resource` has its subresource.

    A request for a path has `path` alone. `name` and `namespace` are empty where the request has none.
    """

    account: str
    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True)
class AuditLogs:
    """The requests that were allowed, and those that RBAC refused, each with the message."""

    allowed: frozenset[Request]
    refused: Mapping[Request, str]
    count: int


def read_logs(directory: Path) -> AuditLogs:
    """The requests in all logs of a directory. A last line may be cut, because the API server was killed."""
    return summarize(event for path in sorted(directory.glob("*.log")) for event in _events(path))


def _events(path: Path) -> Iterator[Event]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


def summarize(events: Iterable[Event]) -> AuditLogs:
    """The requests of these events of `audit.k8s.io`."""
    allowed, refused, count = set[Request](), dict[Request, str](), 0
    for event in events:
        count += 1
        if (message := _refusal(event)) is not None:
            refused[_request(event)] = message
        else:
            allowed.update(_allowed(event))
    return AuditLogs(frozenset(allowed), refused, count)


def _refusal(event: Event) -> str | None:
    """The message of the refusal by RBAC; None if there was none, or if it concerns the account that is impersonated."""
    status = event.get("responseStatus") or {}
    if status.get("code") != FORBIDDEN or "impersonatedUser" in event:
        return None
    message = str(status.get("message", ""))
    is_refused = _DECISION in event.get("annotations", {}) and event["annotations"][_DECISION] != "allow"
    return message if is_refused or _BY_AUTHORIZER.search(message) else None


def _allowed(event: Event) -> Iterator[Request]:
    """The permissions that the event shows to be used."""
    code = (event.get("responseStatus") or {}).get("code", 0)
    if code == FORBIDDEN and "impersonatedUser" not in event:
        return  # by admission: no rule was of use
    if "impersonatedUser" in event:
        yield from _impersonated(event)
        return
    request = _request(event)
    yield request
    if request.verb in ("patch", "update") and code == CREATED:
        # An apply that creates an object needs the permission to create it. RBAC cannot name an object in that.
        yield Request(request.account, "create", request.group, request.resource, request.namespace, request.name)
    yield from _reviewed(event)


def _request(event: Event) -> Request:
    account = _account(event["user"]["username"])
    found = event.get("objectRef")
    if not found or not found.get("resource"):
        return Request(account, event["verb"], path=event["requestURI"].partition("?")[0])
    resource = "/".join(filter(None, (found["resource"], found.get("subresource"))))
    where = (found.get("namespace", ""), found.get("name", ""))
    return Request(account, event["verb"], found.get("apiGroup", ""), resource, *where)


def _impersonated(event: Event) -> Iterator[Request]:
    """The permissions to impersonate that the request needed."""
    account, user = _account(event["user"]["username"]), event["impersonatedUser"]
    name, groups = user["username"], user.get("groups") or ()
    if name.startswith("system:serviceaccount:"):
        namespace, _, account_name = name.removeprefix("system:serviceaccount:").partition(":")
        yield Request(account, "impersonate", "", "serviceaccounts", namespace, account_name)
    else:
        yield Request(account, "impersonate", "", "users", name=name)
    for group in groups:
        yield Request(account, "impersonate", "", "groups", name=group)
    for key, values in (user.get("extra") or {}).items():
        for value in values:
            yield Request(account, "impersonate", "authentication.k8s.io", f"userextras/{key}", name=value)


def _reviewed(event: Event) -> Iterator[Request]:
    """The path that a SubjectAccessReview allows to one of the accounts: a controller asks before it answers a request."""
    answer = event.get("responseObject") or {}
    spec = answer.get("spec") or {}
    asked = spec.get("nonResourceAttributes")
    if answer.get("kind") == "SubjectAccessReview" and asked and (answer.get("status") or {}).get("allowed"):
        yield Request(_account(spec.get("user", "")), asked["verb"], path=asked["path"])


def _account(username: str) -> str:
    """The name of a ServiceAccount; the name of any other user as it is."""
    return username.rpartition(":")[2] if username.startswith("system:serviceaccount:olm-suite-system:") else username
