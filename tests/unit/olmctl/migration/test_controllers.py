"""The controllers of OLM v0: which Deployments they are, and when they are started again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from olmctl.commands import CommandError
from olmctl.migration.controller_set import DEPLOYMENTS
from olmctl.migration.controllers import (
    CONTROLLERS,
    is_noted,
    note_begun,
    note_ended,
    packages_between,
    start,
)
from olmctl.migration.marks import MARK, REMOVING
from olmctl.migration.v0 import SERVICE_VERSIONS, SUBSCRIPTIONS
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.meta import Kind
from olmkit.api.operators import MIGRATIONS_ANNOTATION, REPLICAS_ANNOTATION
from olmkit.errors import Conflict
from tests.unit.olmctl.migration.v0_objects import Object, subscription, version

ACCOUNT = "olm/controllers"


class Cluster:
    """A client, and the session that has it, of a cluster with these objects, in which these service accounts may update
    ClusterServiceVersions; patches are applied to the replicas and the annotations."""

    def __init__(self, objects: Mapping[Kind, list[Object]], *accounts: str) -> None:
        self._objects = objects
        self._users = {f"system:serviceaccount:{each.replace('/', ':')}" for each in accounts or (ACCOUNT,)}

    @property
    def client(self) -> Cluster:
        return self

    time = client

    def deadline(self, seconds: float) -> float:
        return asyncio.get_running_loop().time() + seconds

    async def list(self, kind: Kind, *_: Any, field_selector: str = "", **__: Any) -> tuple[list[Object], str]:
        name = field_selector.removeprefix("metadata.name=")
        return [each for each in self._objects.get(kind, []) if name in ("", each["metadata"]["name"])], ""

    async def create(self, kind: Kind, body: Object) -> Object:
        assert kind.kind == "SubjectAccessReview"
        attributes = {"group": "operators.coreos.com", "resource": "clusterserviceversions", "verb": "update"}
        assert body["spec"]["resourceAttributes"] == attributes
        return {"status": {"allowed": body["spec"]["user"] in self._users}}

    async def patch(self, kind: Kind, name: str, patch: Object, namespace: str) -> None:
        for each in self._objects[kind]:
            if (each["metadata"]["name"], each["metadata"]["namespace"]) == (name, namespace):
                each["spec"].update(patch.get("spec") or {})
                each["metadata"]["annotations"].update(patch["metadata"]["annotations"])


def deployment(namespace: str, name: str = "olm-operator", replicas: int = 1, **annotations: str) -> Object:
    metadata = {"name": name, "namespace": namespace, "uid": "uid", "resourceVersion": "1", "labels": {"app": name}}
    template = {"spec": {"serviceAccountName": "controllers"}}
    return {"metadata": {**metadata, "annotations": annotations}, "spec": {"replicas": replicas, "template": template}}


COPY = {**version(labels={MARK: "lamp", "olm.copiedFrom": "other"})}
COPY["metadata"] = {**COPY["metadata"], "uid": "uid-copy"}
MARKED = version(labels={MARK: "lamp"})


@pytest.mark.parametrize(
    ("found", "begun", "is_started"),
    [
        pytest.param(MARKED, "uid-lamp", False, id="its migration has begun"),
        pytest.param(MARKED, "uid-a,uid-lamp", False, id="another one has begun too"),
        pytest.param(MARKED, "uid-a", True, id="only another one has begun, and is gone"),
        pytest.param(MARKED, "", True, id="none has begun"),
        pytest.param(COPY, "uid-lamp", True, id="a copy"),
        pytest.param(version(), "uid-lamp=lamps/lamp", False, id="it has begun, and others have removed its mark"),
    ],
)
def test_a_mark_that_anybody_has_written_does_not_keep_the_controllers_stopped(
    found: Object, begun: str, is_started: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = deployment("olm", replicas=0, **{REPLICAS_ANNOTATION: "2", MIGRATIONS_ANNOTATION: begun})
    asyncio.run(start(cast(Session, Cluster({DEPLOYMENTS: [stopped], SERVICE_VERSIONS: [found]}))))
    assert stopped["spec"]["replicas"] == (2 if is_started else 0)
    assert (stopped["metadata"]["annotations"][MIGRATIONS_ANNOTATION] is None) == is_started
    is_named = "lamp is not finished (ClusterServiceVersion lamps/lamp.v1.0.0)" in capsys.readouterr().err
    assert is_named != is_started


def test_what_has_begun_and_ended_is_noted_on_the_controllers_that_were_stopped() -> None:
    own, by_hand = deployment("olm"), deployment("olm", "catalog-operator", 0)
    session = cast(Session, Cluster({DEPLOYMENTS: [own, by_hand]}))
    asyncio.run(CONTROLLERS.stop(session, 1))
    asyncio.run(note_begun(session, MARKED, "lamp"))
    assert own["metadata"]["annotations"] == {REPLICAS_ANNOTATION: "1", MIGRATIONS_ANNOTATION: "uid-lamp=lamps/lamp"}
    assert asyncio.run(is_noted(session, MARKED))
    asyncio.run(note_ended(session, MARKED, "lamp"))
    assert own["metadata"]["annotations"] == {REPLICAS_ANNOTATION: "1", MIGRATIONS_ANNOTATION: ""}
    assert by_hand["metadata"]["annotations"] == {}


def operator(label: str = "lamp", namespace: str = "lamps") -> Object:
    return {"metadata": {"name": "lamp", "labels": {MARK: label}}, "spec": {"install": {"namespace": namespace}}}


CONTINUES = "`olm migrate v0 lamp` continues"
UNDONE = f"{CONTINUES}, `olm migrate v0 lamp --undo` gives it back"
GONE = f"lamp is not finished (the ClusterServiceVersion of Subscription lamps/lamp is gone): {CONTINUES}"
THERE = f"lamp is not finished (ClusterServiceVersion lamps/lamp.v1.0.0): {UNDONE}"
LATE = f"lamp is not finished (ClusterServiceVersion lamps/lamp.v1.0.0): {CONTINUES}"
DELETED = {**MARKED, "metadata": {**MARKED["metadata"], "annotations": {MARK: f"{REMOVING} "}}}


@pytest.mark.parametrize(
    ("objects", "begun", "held"),
    [
        pytest.param(
            {operators.KIND: [operator()], SERVICE_VERSIONS: [MARKED]}, "", [THERE], id="its Operator has the mark"
        ),
        pytest.param(
            {operators.KIND: [operator()], SERVICE_VERSIONS: [DELETED]}, "", [LATE], id="what OLM v0 has is deleted"
        ),
        pytest.param(
            {operators.KIND: [operator("bulb")], SERVICE_VERSIONS: [MARKED]}, "", [], id="the Operator of another one"
        ),
        pytest.param(
            {operators.KIND: [operator()], SERVICE_VERSIONS: [COPY]}, "", [], id="a copy, and nothing to install again"
        ),
        pytest.param(
            {SUBSCRIPTIONS: [subscription()]}, "uid-lamp=lamps/lamp", [GONE], id="noted, and its version is deleted"
        ),
        pytest.param(
            {SUBSCRIPTIONS: [subscription()], operators.KIND: [operator()]},
            "",
            [GONE],
            id="its Operator is there alone",
        ),
        pytest.param(
            {SUBSCRIPTIONS: [subscription(namespace="others")]}, "uid-lamp=lamps/lamp", [], id="another Subscription"
        ),
        pytest.param({}, "uid-lamp=lamps/lamp", [], id="everything of OLM v0 is gone"),
    ],
)
def test_what_is_between_both(objects: Mapping[Kind, list[Object]], begun: str, held: list[str]) -> None:
    stopped = deployment("olm", replicas=0, **{REPLICAS_ANNOTATION: "1", MIGRATIONS_ANNOTATION: begun})
    assert asyncio.run(packages_between(cast(Session, Cluster(objects)), [stopped])) == held


def test_controllers_that_others_have_started_again_keep_their_notes() -> None:
    own = deployment("olm", replicas=2, **{REPLICAS_ANNOTATION: "1", MIGRATIONS_ANNOTATION: "uid-lamp=lamps/lamp"})
    asyncio.run(CONTROLLERS.stop(cast(Session, Cluster({DEPLOYMENTS: [own]})), 1))
    assert own["spec"]["replicas"] == 0
    assert own["metadata"]["annotations"] == {REPLICAS_ANNOTATION: "2", MIGRATIONS_ANNOTATION: "uid-lamp=lamps/lamp"}


class Changed(Cluster):
    """The same, in which others have written to each Deployment before the first patches, this note at the same time."""

    def __init__(self, objects: Mapping[Kind, list[Object]], note: str = "", conflicts: int = 2) -> None:
        super().__init__(objects)
        self._note, self._conflicts = note, conflicts

    async def patch(self, kind: Kind, name: str, patch: Object, namespace: str) -> None:
        if self._conflicts:
            self._conflicts -= 1
            for each in self._objects[kind] if self._note else ():
                each["metadata"]["annotations"][MIGRATIONS_ANNOTATION] = self._note
            raise Conflict(409, "Conflict", "the object has been modified")
        await super().patch(kind, name, patch, namespace)


def test_controllers_are_stopped_and_started_while_others_write_to_them() -> None:
    own = deployment("olm")
    asyncio.run(CONTROLLERS.stop(cast(Session, Changed({DEPLOYMENTS: [own]})), 1))
    assert own["spec"]["replicas"] == 0
    asyncio.run(start(cast(Session, Changed({DEPLOYMENTS: [own]}))))
    assert own["spec"]["replicas"] == 1
    with pytest.raises(CommandError, match="are changed by others again and again"):
        asyncio.run(CONTROLLERS.stop(cast(Session, Changed({DEPLOYMENTS: [own]}, conflicts=1000)), 1))


def test_controllers_are_not_started_when_another_migration_has_begun_meanwhile() -> None:
    own = deployment("olm", replicas=0, **{REPLICAS_ANNOTATION: "1", MIGRATIONS_ANNOTATION: ""})
    cluster = Changed({DEPLOYMENTS: [own], SERVICE_VERSIONS: [version()]}, "uid-lamp=lamps/lamp", 1)
    asyncio.run(start(cast(Session, cluster)))
    assert own["spec"]["replicas"] == 0


def test_a_deployment_of_a_tenant_that_has_the_name_of_a_controller_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own, foreign = deployment("olm"), deployment("tenant", replicas=3)
    session = cast(Session, Cluster({DEPLOYMENTS: [own, foreign]}))
    with pytest.raises(CommandError, match=r"the controllers of OLM v0 run \(olm/olm-operator\)"):
        asyncio.run(CONTROLLERS.require_stopped(session))
    asyncio.run(CONTROLLERS.stop(session, 1))
    assert (own["spec"]["replicas"], foreign["spec"]["replicas"]) == (0, 3)
    asyncio.run(CONTROLLERS.require_stopped(session))
    assert "not of OLM v0, and left as it is: Deployment tenant/olm-operator" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("deployments", "accounts", "words"),
    [
        pytest.param(
            [deployment("olm")], ["other/any"], "Deployment olm/olm-operator runs, and may be", id="all are missing"
        ),
        pytest.param(
            [deployment("olm"), deployment("other", "catalog-operator")],
            [ACCOUNT],
            "Deployment other/catalog-operator runs, and may be",
            id="that of one of the two is missing",
        ),
        pytest.param([deployment("olm", replicas=0)], ["other/any"], "", id="it is stopped"),
    ],
)
def test_a_controller_whose_permissions_are_missing_is_not_taken_for_one_of_a_tenant(
    deployments: list[Object], accounts: list[str], words: str
) -> None:
    own = [each for each in deployments if each["metadata"]["namespace"] == "olm"]
    session = cast(Session, Cluster({DEPLOYMENTS: deployments}, *accounts))
    if accounts == [ACCOUNT]:
        for each in own:
            each["spec"]["replicas"] = 0
    if not words:
        return asyncio.run(CONTROLLERS.require_stopped(session))
    with pytest.raises(CommandError, match=words):
        asyncio.run(CONTROLLERS.require_stopped(session))
    return None
