"""What is asked before the objects of OLM v0 of a package are deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from olmctl.commands import CommandError
from olmctl.migration.marks import MARK, REMOVING, is_being_removed
from olmctl.migration.removal import Removal, check_gone, unfinished
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.bundledeployments import OWNER_UID_LABEL
from olmkit.errors import NotFound
from tests.unit.olmctl.migration.v0_objects import Object, olm, subscription, version


class ReadOnly:
    """A client, and the session that has it, of a cluster with this Operator; a write fails the test."""

    def __init__(self, operator: Object | None) -> None:
        self._operator = operator

    @property
    def client(self) -> ReadOnly:
        return self

    time = client

    def deadline(self, seconds: float) -> float:
        return asyncio.get_running_loop().time() + seconds

    async def pages(self, *_: Any, **__: Any) -> AsyncGenerator[tuple[list[Object], str], None]:
        yield ([self._operator] if self._operator else []), ""

    async def list(self, *_: Any, **__: Any) -> tuple[list[Object], str]:
        return [], ""

    async def get(self, kind: Any, *_: Any) -> Object:
        if kind != operators.KIND or self._operator is None:
            raise NotFound(404, "NotFound", "")
        return self._operator


def operator_of(installed: str, ready: str, stalled: str = "False") -> Object:
    """The Operator of namespace tenant, with this version and these conditions."""
    conditions = [
        {"type": "Ready", "status": ready, "reason": "Any", "message": "OLM v0 has its objects"},
        {"type": "Stalled", "status": stalled, "reason": "Any", "message": ""},
    ]
    return {
        "metadata": {"name": "lamp", "generation": 1},
        "spec": {"install": {"namespace": "tenant"}},
        "status": {"observedGeneration": 1, "installed": {"version": installed}, "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        pytest.param(None, "there is no Operator lamp: nothing of OLM v0 is deleted", id="no Operator"),
        pytest.param(
            {"spec": {"install": {"namespace": "lamps"}}},
            "Operator lamp is for namespace lamps, and ClusterServiceVersion tenant/lamp.v1.0.0 is not there",
            id="an Operator for another namespace",
        ),
        pytest.param(
            operator_of("1.1.0", "True"),
            "Operator lamp has version 1.1.0, and ClusterServiceVersion tenant/lamp.v1.0.0 is version 1.0.0",
            id="an Operator with another version",
        ),
        pytest.param(
            operator_of("", "False", "True"), "lamp: OLM v0 has its objects", id="an Operator that is stalled"
        ),
    ],
)
def test_a_mark_that_anybody_has_written_deletes_nothing(operator: Object | None, words: str) -> None:
    marked = version("lamp", "tenant", labels={MARK: "lamp"})
    marked["metadata"]["annotations"][MARK] = f"{REMOVING} olm/community"
    removal = Removal(cast(Session, ReadOnly(operator)), olm(versions=[marked]), "lamp", marked, 1)
    with pytest.raises(CommandError, match=words):
        asyncio.run(removal.run())


BUNDLE_DEPLOYMENT = {
    "metadata": {"name": "lamp", "uid": "uid-deployment", "ownerReferences": [{"uid": "uid-operator"}]}
}


class Continued(ReadOnly):
    """The same of a cluster with the BundleDeployment of the Operator, and a Deployment that has this owner."""

    def __init__(self, operator: Object, owner: str) -> None:
        super().__init__(operator)
        self._owner = owner

    async def get(self, kind: Any, *_: Any) -> Object:
        if kind.kind == "BundleDeployment":
            return BUNDLE_DEPLOYMENT
        if kind.kind == "Deployment":
            return {"metadata": {"name": "lamp", "namespace": "tenant", "labels": {OWNER_UID_LABEL: self._owner}}}
        return await super().get(kind)


@pytest.mark.parametrize(
    ("mark", "installed", "owner", "words"),
    [
        pytest.param("lamp", "1.1.0", "uid-deployment", "", id="it was upgraded since the deletion was interrupted"),
        pytest.param(
            "lamp", "1.1.0", "uid-other", "whose Deployment tenant/lamp it has not taken over", id="others' pods"
        ),
        pytest.param("lamp", "0.9.0", "uid-deployment", "has version 0.9.0", id="an older version"),
        pytest.param("", "1.1.0", "uid-deployment", "has version 1.1.0", id="nobody has begun a migration"),
    ],
)
def test_an_interrupted_deletion_continues_after_an_upgrade(mark: str, installed: str, owner: str, words: str) -> None:
    deployments = {"install": {"spec": {"deployments": [{"name": "lamp"}]}}}
    marked = version("lamp", "tenant", labels={MARK: "lamp"}, **deployments)
    marked["metadata"]["annotations"][MARK] = f"{REMOVING} olm/community"
    operator = operator_of(installed, "True")
    operator["metadata"] |= {"uid": "uid-operator", "labels": {MARK: mark} if mark else {}}
    removal = Removal(cast(Session, Continued(operator, owner)), olm(versions=[marked]), "lamp", marked, 1)
    if not words:
        return asyncio.run(removal.require_ready(operator))
    with pytest.raises(CommandError, match=words):
        asyncio.run(removal.require_ready(operator))
    return None


def test_nothing_is_deleted_of_a_package_that_olm_v0_has_upgraded_meanwhile() -> None:
    marked = version("lamp", "tenant", labels={MARK: "lamp"})
    upgraded = subscription("lamp", "tenant", {"installedCSV": "lamp.v1.1.0", "currentCSV": "lamp.v1.1.0"})
    found = olm(versions=[marked], subscriptions=[upgraded])
    removal = Removal(cast(Session, ReadOnly(operator_of("1.0.0", "True"))), found, "lamp", marked, 1)
    words = (
        r"Subscription tenant/lamp has lamp\.v1\.1\.0 installed, and not lamp\.v1\.0\.0: nothing of OLM v0 is deleted"
    )
    with pytest.raises(CommandError, match=words):
        asyncio.run(removal.run())


def migrated(namespace: str = "lamps") -> Object:
    return {
        "metadata": {"name": "lamp", "labels": {MARK: "lamp"}},
        "spec": {"version": "1.0.0", "install": {"namespace": namespace}},
    }


MARKED = version(labels={MARK: "lamp"})
REMOVED = {**MARKED, "metadata": {**MARKED["metadata"], "annotations": {MARK: f"{REMOVING} olm/community"}}}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param({"versions": [REMOVED]}, ["lamp.v1.0.0"], id="its deletion was interrupted"),
        pytest.param({"versions": [MARKED]}, [], id="a mark that anybody has written"),
        pytest.param(
            {"versions": [REMOVED], "subscriptions": [subscription(status={})]},
            ["lamp.v1.0.0"],
            id="a new Subscription",
        ),
        pytest.param(
            {"versions": [MARKED], "operators": [migrated()]},
            ["lamp.v1.0.0"],
            id="others have deleted its Subscription",
        ),
        pytest.param(
            {"versions": [], "operators": [migrated()]}, [""], id="others have deleted its ClusterServiceVersion too"
        ),
        pytest.param(
            {"versions": [version()], "operators": [migrated()]},
            [],
            id="one that may be its own is there, without a mark",
        ),
        pytest.param(
            {"versions": [], "subscriptions": [subscription()], "operators": [migrated()]},
            [],
            id="its Subscription is there",
        ),
    ],
)
def test_what_continues_without_a_subscription(given: Any, found: list[str]) -> None:
    versions = unfinished(olm(**{"subscriptions": [], **given}))
    assert [each["metadata"]["name"] for each in versions.values()] == found
    assert all(name == "lamp" for name in versions)
    assert all(is_being_removed(each) for each in versions.values() if not each["metadata"]["name"])


def with_uid(found: Object, uid: str) -> Object:
    found["metadata"]["uid"] = uid
    return found


@pytest.mark.parametrize(
    ("listed", "is_refused"),
    [
        pytest.param([], False, id="it is gone"),
        pytest.param([with_uid(subscription("lamp"), "1")], False, id="it waits for its finalizers"),
        pytest.param([with_uid(subscription("fan"), "2")], False, id="another package has one"),
        pytest.param([with_uid(subscription("lamp"), "2")], True, id="git has brought it back"),
    ],
)
def test_a_subscription_that_is_created_again_ends_the_deletion(listed: list[Object], is_refused: bool) -> None:
    deleted = [with_uid(subscription("lamp"), "1")]
    if not is_refused:
        return check_gone("lamp", listed, deleted)
    words = "Subscription lamps/lamp was created again, and OLM v0 would install lamp for it: have what applies it"
    with pytest.raises(CommandError, match=words):
        check_gone("lamp", listed, deleted)
    return None
