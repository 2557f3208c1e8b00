"""Paths of objects: a name never leads to another object. And their owners."""

from __future__ import annotations

import pytest

from olmkit.api.meta import Kind, with_owner, without_owner
from olmkit.errors import NotFound

ROLES = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles")
SECRETS = Kind("", "v1", "Secret", "secrets", namespaced=True)


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("system:auth-delegator", "system:auth-delegator"),
        ("x/../../secrets", "x%2F..%2F..%2Fsecrets"),
        ("x?dryRun=All", "x%3FdryRun%3DAll"),
        ("x#y", "x%23y"),
        ("x%2Fy", "x%252Fy"),
    ],
)
def test_a_name_is_one_segment_of_a_path(name: str, segment: str) -> None:
    assert ROLES.path(name=name) == f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{segment}"
    assert SECRETS.path(name, name) == f"/api/v1/namespaces/{segment}/secrets/{segment}"


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_can_be_no_segment_is_refused(name: str) -> None:
    with pytest.raises(NotFound, match="is no name of an object"):
        ROLES.path(name=name)


@pytest.mark.parametrize(
    ("owners", "with_it", "without_it"),
    [
        pytest.param([], ["a"], [], id="an object without owners"),
        pytest.param(["b"], ["b", "a"], ["b"], id="other owners stay"),
        pytest.param(["a", "b"], ["b", "a"], ["b"], id="an owner is listed once"),
    ],
)
def test_the_owners_of_an_object(owners: list[str], with_it: list[str], without_it: list[str]) -> None:
    raw = {"metadata": {"ownerReferences": [{"uid": uid} for uid in owners]} if owners else {}}
    assert [each["uid"] for each in with_owner(raw, {"uid": "a"})] == with_it
    assert [each["uid"] for each in without_owner(raw, "a")] == without_it
