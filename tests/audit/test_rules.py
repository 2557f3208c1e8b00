"""Rules and the requests that need them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.requests import Request
from tests.audit.rules import grants, roles_of_people, unused

LEASES = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["a"], "verbs": ["update"]}
PATHS = {"nonResourceURLs": ["/catalogs", "/catalogs/*"], "verbs": ["get"]}


def bound(rule: dict[str, Any], namespace: str = "") -> list[dict[str, Any]]:
    """A role with the rule, and its binding to the account `a`."""
    prefix = "" if namespace else "Cluster"
    metadata = {"name": "r", **({"namespace": namespace} if namespace else {})}
    subjects = [{"kind": "ServiceAccount", "name": "a"}]
    return [
        {"kind": f"{prefix}Role", "metadata": metadata, "rules": [rule]},
        {
            "kind": f"{prefix}RoleBinding",
            "metadata": metadata,
            "roleRef": {"kind": f"{prefix}Role", "name": "r"},
            "subjects": subjects,
        },
    ]


def lease(**changes: str) -> Request:
    fields = {"verb": "update", "namespace": "ns", "name": "a", "account": "a", **changes}
    return Request(group="coordination.k8s.io", resource="leases", **fields)


@pytest.mark.parametrize(
    ("rule", "namespace", "request_", "permitted"),
    [
        pytest.param(LEASES, "ns", lease(), True, id="the object that is named"),
        pytest.param(LEASES, "", lease(), True, id="a ClusterRole is for all namespaces"),
        pytest.param(LEASES, "other", lease(), False, id="a Role is for its namespace"),
        pytest.param(LEASES, "ns", lease(name="b"), False, id="another object"),
        pytest.param(LEASES, "ns", lease(verb="get"), False, id="another verb"),
        pytest.param(LEASES, "ns", lease(account="b"), False, id="another account"),
        pytest.param(
            {**LEASES, "resources": ["leases/status"]}, "ns", lease(), False, id="a subresource is another resource"
        ),
        pytest.param({**LEASES, "apiGroups": [""]}, "ns", lease(), False, id="another group"),
        pytest.param(PATHS, "", Request("a", "get", path="/catalogs/c"), True, id="a path"),
        pytest.param(PATHS, "", Request("a", "get", path="/replication"), False, id="another path"),
    ],
)
def test_a_rule_permits_a_request(rule: dict[str, Any], namespace: str, request_: Request, *, permitted: bool) -> None:
    (grant,) = grants(bound(rule, namespace), ["a"])
    assert grant.permits(request_) is permitted
    assert unused([grant], [request_]) == ([] if permitted else [grant])


def test_a_wildcard_is_never_unused() -> None:
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    assert unused(grants(bound(everything), ["a"]), []) == []


def test_roles_of_people_are_bound_to_no_account_of_the_suite() -> None:
    objects = bound(PATHS)
    assert roles_of_people(objects, ["a"]) == set()
    assert roles_of_people(objects, ["b"]) == {"r"}
