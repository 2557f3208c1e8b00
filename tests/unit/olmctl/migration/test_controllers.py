"""The controllers of OLM v0: which Deployments they are, and when they are started again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from olmctl.commands import CommandError
from olmctl.migration.controllers import DEPLOYMENTS, require_stopped, start, stop
from olmctl.migration.marks import MARK
from olmctl.migration.v0 import SERVICE_VERSIONS, SUBSCRIPTIONS
from olmctl.questions.session import Session
from olmkit.api import operators
from olmkit.api.meta import Kind
from olmkit.api.operators import REPLICAS_ANNOTATION
from tests.unit.olmctl.migration.v0_objects import Object, subscription, version


class Cluster:
    """A client, and the session that has it, of a cluster with these objects; patches are applied to the replicas."""

    def __init__(self, objects: Mapping[Kind, list[Object]]) -> None:
        self._objects = objects

    @property
    def client(self) -> Cluster:
        return self

    time = client

    def deadline(self, seconds: float) -> float:
        return asyncio.get_running_loop().time() + seconds

    async def list(self, kind: Kind, *_: Any, **__: Any) -> tuple[list[Object], str]:
        return self._objects.get(kind, []), ""

    async def patch(self, kind: Kind, name: str, patch: Object, namespace: str) -> None:
        for each in self._objects[kind]:
            if (each["metadata"]["name"], each["metadata"]["namespace"]) == (name, namespace):
                each["spec"]["replicas"] = patch["spec"]["replicas"]


def deployment(namespace: str, name: str = "olm-operator", replicas: int = 1, **annotations: str) -> Object:
    metadata = {"name": name, "namespace": namespace, "uid": "uid", "resourceVersion": "1", "labels": {"app": name}}
    return {"metadata": {**metadata, "annotations": annotations}, "spec": {"replicas": replicas}}


BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")


def binding(namespace: str, role: str = "system:controller:operator-lifecycle-manager") -> Object:
    account = {"kind": "ServiceAccount", "name": "olm-operator-serviceaccount", "namespace": namespace}
    return {"metadata": {"name": "any"}, "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [account]}


OPERATOR = {"metadata": {"name": "lamp"}, "spec": {"install": {"namespace": "lamps"}}}
COPY = version(labels={MARK: "lamp", "olm.copiedFrom": "other"})
MARKED = version(labels={MARK: "lamp"})
OTHER = subscription(status={"installedCSV": "lamp.v2.0.0"})


@pytest.mark.parametrize(
    ("marked", "subscriptions", "suite", "is_started"),
    [
        pytest.param(MARKED, [subscription()], [], False, id="its Subscription is there"),
        pytest.param(MARKED, [], [OPERATOR], False, id="its Operator is there"),
        pytest.param(MARKED, [], [], True, id="neither is there"),
        pytest.param(MARKED, [subscription(namespace="b")], [], True, id="a Subscription of another namespace"),
        pytest.param(MARKED, [subscription("b")], [], True, id="a Subscription of another package"),
        pytest.param(MARKED, [OTHER], [], True, id="a Subscription of another ClusterServiceVersion"),
        pytest.param(version(namespace="b", labels={MARK: "lamp"}), [], [OPERATOR], True, id="an Operator elsewhere"),
        pytest.param(COPY, [subscription()], [], True, id="a copy"),
    ],
)
def test_a_mark_that_anybody_has_written_does_not_keep_the_controllers_stopped(
    marked: Object,
    subscriptions: list[Object],
    suite: list[Object],
    is_started: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stopped = deployment("olm", replicas=0, **{REPLICAS_ANNOTATION: "2"})
    objects = {
        DEPLOYMENTS: [stopped],
        BINDINGS: [binding("olm")],
        SERVICE_VERSIONS: [marked],
        SUBSCRIPTIONS: subscriptions,
        operators.KIND: suite,
    }
    asyncio.run(start(cast(Session, Cluster(objects))))
    assert stopped["spec"]["replicas"] == (2 if is_started else 0)
    is_named = "lamp is not finished (ClusterServiceVersion lamps/lamp.v1.0.0)" in capsys.readouterr().err
    assert is_named != is_started


def test_a_deployment_of_a_tenant_that_has_the_name_of_a_controller_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own, foreign = deployment("olm"), deployment("tenant", replicas=3)
    bindings = [binding("olm"), binding("tenant", "view")]
    session = cast(Session, Cluster({DEPLOYMENTS: [own, foreign], BINDINGS: bindings}))
    with pytest.raises(CommandError, match=r"the controllers of OLM v0 run \(olm/olm-operator\)"):
        asyncio.run(require_stopped(session))
    asyncio.run(stop(session, 1))
    assert (own["spec"]["replicas"], foreign["spec"]["replicas"]) == (0, 3)
    asyncio.run(require_stopped(session))
    assert "not of OLM v0, and left as it is: Deployment tenant/olm-operator" in capsys.readouterr().err
