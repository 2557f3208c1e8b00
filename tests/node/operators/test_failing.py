"""Operators whose pods never become ready: the Operator says why, in the words of the pod."""

from __future__ import annotations

from devcluster.images import Content
from devcluster.operators.crashing import LAST_LINE
from devcluster.watch import Object, condition
from tests.e2e.stage import ClusterStage

SECONDS = 240.0


def message(found: Object) -> str:
    return str(condition(found, "Ready")["message"])


def install(stage: ClusterStage, content: Content, package: str) -> str:
    stage.ready_catalog(stage.publish(content, [package]).reference)
    return stage.operator(package)


def test_a_container_that_crashes(stage: ClusterStage, content: Content) -> None:
    operator = install(stage, content, "crashing")
    found = stage.operator_when(operator, "CrashLoopBackOff", lambda o: "CrashLoopBackOff" in message(o), SECONDS)
    assert condition(found, "Ready")["status"] == "False"
    assert LAST_LINE in message(found)


def test_an_image_that_does_not_exist(stage: ClusterStage, content: Content) -> None:
    operator = install(stage, content, "unpullable")
    found = stage.operator_when(operator, "ImagePullBackOff", lambda o: "ImagePullBackOff" in message(o), SECONDS)
    assert condition(found, "Ready")["status"] == "False"
