"""What is said about a pod that does not run."""

from typing import Any

import pytest

from rukpak.bundledeployment.health.pod_problems import MAX_DETAIL_CHARACTERS, Crash, PodProblem, pod_problem
from tests.unit.rukpak.builders import Body, obj

ENDED = {"exitCode": 1, "reason": "Error"}
PULL = 'failed to pull and unpack image "registry.example.com/ship:v1": not found'


def pod(*containers: Body, phase: str = "Running", init: tuple[Body, ...] = (), **status: Any) -> Body:
    body = obj("v1", "Pod", "engine-x", "ship")
    body["status"] = {"phase": phase, "containerStatuses": list(containers), **status}
    if init:
        body["status"]["initContainerStatuses"] = list(init)
    return body


def container(name: str = "main", restarts: int = 3, last: Body | None = None, **state: Body) -> Body:
    ended = {} if last is None else {"lastState": {"terminated": last}}
    return {"name": name, "image": "registry.example.com/ship:v1", "restartCount": restarts, "state": state, **ended}


def waiting(reason: str, message: str = "") -> Body:
    return container(restarts=0, waiting={"reason": reason, "message": message})


CRASH = "CrashLoopBackOff: container main exited with 1"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            pod(container(last=ENDED, waiting={"reason": "CrashLoopBackOff", "message": "back-off 40s"})),
            CRASH,
            id="a container that waits for its restart",
        ),
        pytest.param(pod(container(last=ENDED, running={})), CRASH, id="a container that was just started again"),
        pytest.param(pod(container(terminated=ENDED)), CRASH, id="a container that just ended"),
        pytest.param(
            pod(container(restarts=0, terminated={"exitCode": 2})),
            "container main exited with 2",
            id="a container that ended for the first time",
        ),
        pytest.param(
            pod(container(last={"exitCode": 137, "reason": "OOMKilled"}, running={})),
            "CrashLoopBackOff: container main exited with 137 (OOMKilled)",
            id="a container that needs more memory",
        ),
        pytest.param(
            pod(container(running={}), init=(container("prepare", last=ENDED, waiting={}),)),
            "CrashLoopBackOff: container prepare exited with 1",
            id="an init container that crashes",
        ),
        pytest.param(
            pod(waiting("ErrImagePull", PULL), phase="Pending"),
            f"ImagePullBackOff: container main cannot pull registry.example.com/ship:v1: {PULL}",
            id="an image that cannot be pulled",
        ),
        pytest.param(
            pod(
                waiting("ImagePullBackOff", f'Back-off pulling image "x": ErrImagePull: {PULL}'),
                phase="Pending",
            ),
            f"ImagePullBackOff: container main cannot pull registry.example.com/ship:v1: {PULL}",
            id="the same while the kubelet waits before it tries again",
        ),
        pytest.param(
            pod(waiting("CreateContainerConfigError", 'secret "key" not found'), phase="Pending"),
            'container main waits: CreateContainerConfigError: secret "key" not found',
            id="a Secret that does not exist",
        ),
        pytest.param(
            pod(
                phase="Pending",
                conditions=[
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}
                ],
            ),
            "is not running: Unschedulable: no node",
            id="no node has room",
        ),
    ],
)
def test_the_problem_of_a_pod(body: Body, text: str) -> None:
    found = pod_problem(body)
    assert found is not None
    assert found.explained().sentence == f"pod engine-x: {text}"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(pod(phase="Running", conditions=[{"type": "Ready", "status": "True"}]), id="it is ready"),
        pytest.param(pod(phase="Succeeded"), id="it has done its work"),
        pytest.param(
            {
                **pod(container(last=ENDED)),
                "metadata": {**pod()["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"},
            },
            id="it is being deleted",
        ),
        pytest.param(
            pod({**container(last=ENDED, running={}), "ready": True}, conditions=[{"type": "Ready", "status": "True"}]),
            id="its container crashed and is ready again",
        ),
    ],
)
def test_a_pod_without_a_problem(body: Body) -> None:
    assert pod_problem(body) is None


def test_the_last_line_is_one_printable_line() -> None:
    problem = PodProblem("x", "crashes", Crash("x", "ship", "main", 1))
    assert (
        problem.explained("cannot open \x1b[31mthe hatch\n").sentence
        == r"pod x: crashes, its last line: cannot open \x1b[31mthe hatch"
    )
    assert len(problem.explained("a" * 5000).sentence) < MAX_DETAIL_CHARACTERS + 40


def test_another_restart_is_another_crash_whose_last_line_is_read() -> None:
    first, second = (pod_problem(pod(container(restarts=count, last=ENDED))) for count in (1, 2))
    assert first is not None
    assert second is not None
    assert first.crash != second.crash
