"""The risk of a permission, and the groups that people read."""

from __future__ import annotations

import pytest

from olmctl.diff.permissions import Permission
from olmctl.diff.risks import Risk, by_risk, risk_of

ACCOUNT = "ServiceAccount ns/a"


def given(verb: str, resource: str, group: str = "", *, namespace: str = "", name: str = "") -> Permission:
    return Permission(ACCOUNT, namespace, group, resource, name, verb)


RBAC, ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"


@pytest.mark.parametrize(
    ("permission", "risk"),
    [
        pytest.param(given("*", "*", "*"), Risk.CONTROL, id="everything"),
        pytest.param(given("*", "*"), Risk.CONTROL, id="everything of the core group"),
        pytest.param(given("escalate", "clusterroles", RBAC), Risk.CONTROL, id="escalate"),
        pytest.param(given("bind", "roles", RBAC), Risk.CONTROL, id="bind"),
        pytest.param(given("*", "clusterroles", RBAC), Risk.CONTROL, id="every verb on roles has escalate"),
        pytest.param(given("create", "clusterroles", RBAC), Risk.WRITES, id="roles are limited to what it has"),
        pytest.param(given("impersonate", "users"), Risk.CONTROL, id="impersonate"),
        pytest.param(given("create", "serviceaccounts/token"), Risk.CONTROL, id="tokens"),
        pytest.param(given("get", "secrets"), Risk.CONTROL, id="read secrets"),
        pytest.param(given("list", "*"), Risk.CONTROL, id="read everything, secrets too"),
        pytest.param(given("get", "*", "*"), Risk.CONTROL, id="read all groups"),
        pytest.param(given("get", "secrets", name="one"), Risk.READS, id="one secret by its name"),
        pytest.param(given("create", "secrets"), Risk.WRITES, id="make secrets"),
        pytest.param(given("create", "pods"), Risk.CONTROL, id="pods"),
        pytest.param(given("create", "pods/exec"), Risk.CONTROL, id="in pods"),
        pytest.param(given("patch", "deployments", "apps"), Risk.CONTROL, id="workloads"),
        pytest.param(given("create", "*", "batch"), Risk.CONTROL, id="all of a group with workloads"),
        pytest.param(given("update", "deployments/status", "apps"), Risk.WRITES, id="the status of workloads"),
        pytest.param(given("get", "pods"), Risk.READS, id="see pods"),
        pytest.param(given("delete", "pods"), Risk.WRITES, id="delete pods"),
        pytest.param(given("get", "nodes/proxy"), Risk.CONTROL, id="the proxy of nodes"),
        pytest.param(given("create", "validatingwebhookconfigurations", ADMISSION), Risk.CONTROL, id="webhooks"),
        pytest.param(given("get", "validatingwebhookconfigurations", ADMISSION), Risk.READS, id="see webhooks"),
        pytest.param(given("", "ClusterRole cluster-admin"), Risk.CONTROL, id="a role that is not in the bundle"),
        pytest.param(given("", "Role r", namespace="ns"), Risk.NAMESPACED, id="one of a namespace"),
        pytest.param(given("*", "*", "*", namespace="ns"), Risk.NAMESPACED, id="everything in a namespace"),
        pytest.param(given("watch", "things", "example.com"), Risk.READS, id="watch"),
        pytest.param(given("patch", "things", "example.com"), Risk.WRITES, id="patch"),
        pytest.param(given("*", "things", "example.com"), Risk.WRITES, id="every verb"),
        pytest.param(given("get", "/metrics"), Risk.READS, id="a path"),
        pytest.param(given("*", "/*"), Risk.CONTROL, id="all paths"),
    ],
)
def test_the_risk_of_a_permission(permission: Permission, risk: Risk) -> None:
    assert risk_of(permission) is risk


def test_the_riskiest_group_is_first_and_sentences_have_no_account() -> None:
    other = Permission("ServiceAccount ns/b", "ns", "", "configmaps", "", "get")
    found = by_risk(
        [given("get", "things", "example.com"), given("list", "things", "example.com"), given("get", "secrets"), other]
    )
    assert [(each.account, each.risk, each.sentences) for each in found] == [
        (ACCOUNT, Risk.CONTROL, ("get secrets in all namespaces",)),
        (ACCOUNT, Risk.READS, ("get, list things.example.com in all namespaces",)),
        ("ServiceAccount ns/b", Risk.NAMESPACED, ("get configmaps in namespace ns",)),
    ]
    assert found[0].title == "ServiceAccount ns/a can take control of the cluster"
