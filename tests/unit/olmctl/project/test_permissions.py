"""What becomes of roles and bindings."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.project.permissions import split_permissions, with_kept
from tests.project_input import ACCOUNT, binding, collection, deployment, role

NAMESPACED = {"kind": "RoleBinding"}


def summary(*objects: str, extra: tuple[str, ...] = ()) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Permissions and cluster permissions as account: verbs, and the files as `kind name subjects`."""
    found = split_permissions(collection(*objects), extra)
    return (
        _verbs(found.permissions),
        _verbs(found.cluster_permissions),
        [_described(each.value) for each in found.files],
    )


def _verbs(entries: list[dict[str, Any]]) -> dict[str, str]:
    return {each["serviceAccountName"]: " ".join(rule["verbs"][0] for rule in each["rules"]) for each in entries}


def _described(body: dict[str, Any]) -> str:
    subjects = (each["name"] for each in body.get("subjects") or [])
    return " ".join((body["kind"], body["metadata"]["name"], *subjects))


@pytest.mark.parametrize(
    ("objects", "permissions", "cluster_permissions", "files"),
    [
        pytest.param(
            (ACCOUNT, role("a"), binding("a", "a", "kettle")),
            {},
            {"kettle": "get"},
            [],
            id="a ClusterRole of the account",
        ),
        pytest.param(
            (role("a", kind="Role", namespace="tea"), binding("a", "a", "kettle", role_kind="Role", **NAMESPACED)),
            *({"kettle": "get"}, {}, []),
            id="a Role of the account",
        ),
        pytest.param(
            (role("a"), binding("a", "a", "kettle", **NAMESPACED)),
            *({"kettle": "get"}, {}, []),
            id="a ClusterRole that is bound in a namespace",
        ),
        pytest.param(
            (role("a"), role("b", verb="list"), binding("z", "b", "kettle"), binding("c", "a", "kettle")),
            *({}, {"kettle": "list get"}, []),
            id="the rules of several roles are in the order of the bindings",
        ),
        pytest.param(
            (role("a"), binding("a", "a", "kettle"), binding("a", "a", "kettle")),
            *({}, {"kettle": "get"}, []),
            id="a binding that the input has twice counts once",
        ),
        pytest.param(
            (role("a"), binding("a", "a", "other"), ACCOUNT.replace("kettle", "other")),
            *({}, {}, ["ClusterRole a", "ClusterRoleBinding a other", "ServiceAccount other"]),
            id="an account of no Deployment keeps its files",
        ),
        pytest.param(
            (role("a"), binding("a", "a", "kettle", "other", "user:ada")),
            *({}, {"kettle": "get"}, ["ClusterRole a", "ClusterRoleBinding a other ada"]),
            id="a binding with other subjects is split, and keeps its role",
        ),
        pytest.param(
            (role("a"), binding("a", "a", "kettle"), binding("b", "a", "other")),
            *({}, {"kettle": "get"}, ["ClusterRole a", "ClusterRoleBinding b other"]),
            id="a role that another binding needs is a file too",
        ),
        pytest.param(
            (binding("a", "view", "kettle"),),
            *({}, {}, ["ClusterRoleBinding a kettle"]),
            id="a binding of a role that is not in the input",
        ),
        pytest.param((role("a"),), {}, {}, ["ClusterRole a"], id="a role that nothing binds"),
        pytest.param(
            (role("a"), binding("a", "a", "user:kettle")),
            *({}, {}, ["ClusterRole a", "ClusterRoleBinding a kettle"]),
            id="a user with the name of the account",
        ),
        pytest.param(
            (
                role("a", kind="Role", namespace="tea"),
                role("a", kind="Role", namespace="cups", verb="list"),
                binding("a", "a", "kettle", role_kind="Role", **NAMESPACED),
            ),
            *({"kettle": "list"}, {}, ["Role a"]),
            id="of roles with one name that of the namespace, else the last one",
        ),
    ],
)
def test_roles(
    objects: tuple[str, ...], permissions: dict[str, str], cluster_permissions: dict[str, str], files: list[str]
) -> None:
    assert summary(deployment(), *objects) == (permissions, cluster_permissions, files)


def test_a_deployment_without_an_account_has_the_default_one() -> None:
    assert summary(deployment(account=""), role("a"), binding("a", "a", "default"))[1] == {"default": "get"}


def test_an_extra_account_has_its_permissions_in_the_csv_sorted_by_name() -> None:
    objects = (role("a"), binding("a", "a", "kettle", "extra"), ACCOUNT.replace("kettle", "extra"))
    assert summary(deployment(), *objects, extra=("extra",)) == ({}, {"extra": "get", "kettle": "get"}, [])


def test_rules_that_a_role_collects_are_named() -> None:
    collecting = role("a").replace("rules:", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules:")
    found = split_permissions(collection(deployment(), collecting, binding("a", "a", "kettle")), ())
    assert [note.partition(": ")[2] for note in found.notes] == [
        "ClusterRole a: its aggregationRule is left out, because a ClusterServiceVersion has only rules"
    ]


def test_permissions_of_the_base_stay_for_accounts_to_which_nothing_is_bound() -> None:
    found = [{"serviceAccountName": "b", "rules": [1]}]
    base = [{"serviceAccountName": name, "rules": rules} for name, rules in (("c", [2]), ("b", [3]), ("a", []))]
    assert with_kept(found, base) == [*found, base[0]]
