"""Missing permissions as a sentence, in the status, and as roles."""

from __future__ import annotations

from olmkit.api.impersonation import Account
from olmkit.api.permissions import MAX_MISSING_BYTES, MAX_MISSING_RULES
from rukpak.permissions.missing import bindings, missing_rules, roles, sentence
from rukpak.permissions.rules import Right

ROLES = [Right("", "apps", "deployments", "", verb) for verb in ("get", "patch")]
NAMED = [Right("a", "", "secrets", name, "get") for name in "xy"]
PATH = Right("", "", "", "", "get", "/metrics")


def test_a_sentence_names_the_first_rules() -> None:
    text = "get /metrics; get secrets x, y in namespace a; get, patch deployments.apps in the whole cluster"
    assert sentence([*ROLES, *NAMED, PATH]) == text
    assert sentence([*ROLES, *NAMED, PATH, Right("b", "", "pods", "", "watch")]).endswith("; and 1 more")


def test_the_status_has_rules_to_paste() -> None:
    rules, truncated = missing_rules([*ROLES, *NAMED, PATH])
    assert not truncated
    assert [one.dump() for one in rules] == [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"]},
        {"namespace": "a", "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["x", "y"], "verbs": ["get"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]


def test_the_status_is_bounded() -> None:
    many = [Right(f"n{number}", "", "pods", "", "get") for number in range(MAX_MISSING_RULES + 1)]
    rules, truncated = missing_rules(many)
    assert (len(rules), truncated) == (MAX_MISSING_RULES, True)
    long = [Right(f"n{each}", "", "pods", f"{each}{number:0250}", "get") for each in "ab" for number in range(200)]
    rules, truncated = missing_rules(long)
    assert (len(rules), truncated) == (1, True)
    assert len(rules[0].model_dump_json()) < MAX_MISSING_BYTES


def test_roles_have_the_rules_of_their_namespace() -> None:
    cluster, inside = roles([*ROLES, *NAMED], "ship")
    assert (cluster["kind"], cluster["metadata"]) == ("ClusterRole", {"name": "ship"})
    assert (inside["kind"], inside["metadata"]) == ("Role", {"name": "ship", "namespace": "a"})
    assert inside["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["x", "y"], "verbs": ["get"]}
    ]


def test_each_role_is_bound_to_the_account() -> None:
    made = list(roles([*ROLES, *NAMED], "ship"))
    cluster, inside = bindings(made, Account("team", "installer"))
    assert (cluster["kind"], inside["kind"]) == ("ClusterRoleBinding", "RoleBinding")
    assert [each["metadata"] for each in (cluster, inside)] == [each["metadata"] for each in made]
    assert inside["subjects"] == [{"kind": "ServiceAccount", "namespace": "team", "name": "installer"}]
    assert inside["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ship"}
