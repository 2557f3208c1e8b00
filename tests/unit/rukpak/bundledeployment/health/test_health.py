"""Whether an object is well, by the rules of kstatus."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak.bundledeployment.health.health import has_health, health
from rukpak.bundledeployment.health.health_result import Health
from tests.unit.rukpak.builders import Body, obj


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Body:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def live(api_version: str, kind: str, spec: Body | None = None, /, **status: Any) -> Body:
    """An object of generation 2 whose controller has seen it, unless the status says otherwise."""
    body = obj(api_version, kind, "x", "n", spec=spec or {}, status=status)
    body["metadata"]["generation"] = 2
    return body


def deployment(wanted: int | None = None, /, **status: Any) -> Body:
    spec = {} if wanted is None else {"replicas": wanted}
    return live("apps/v1", "Deployment", spec, **{"observedGeneration": 2, **status})


def stateful_set(spec: Body, **status: Any) -> Body:
    return live("apps/v1", "StatefulSet", spec, **{"observedGeneration": 2, **status})


def boat(**status: Any) -> Body:
    return live("example.com/v1", "Boat", **status)


def daemon_set(**status: Any) -> Body:
    numbers = dict.fromkeys(
        (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberReady",
        ),
        2,
    )
    return live("apps/v1", "DaemonSet", **{"observedGeneration": 2, **numbers, **status})


KINDS_WITH_HEALTH = [
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "Service"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("example.com", "Boat"),
    ("policy", "PodDisruptionBudget"),
]
RUNNING = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
CRD = "apiextensions.k8s.io/v1"
CRASHING = {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
LATE = "waiting for its controller to observe the latest change"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(obj("v1", "ConfigMap", "c"), id="a kind without a rule"),
        pytest.param(obj("example.com/v1", "Deployment", "d"), id="a kind of that name in another group"),
        pytest.param(deployment(**RUNNING, conditions=[condition("Available", "True")]), id="a Deployment"),
        pytest.param(deployment(0, replicas=0), id="a Deployment that is scaled to nothing"),
        pytest.param(
            stateful_set({"replicas": 2}, readyReplicas=2, replicas=2, updateRevision="a", currentRevision="a"),
            id="a StatefulSet",
        ),
        pytest.param(stateful_set({"updateStrategy": {"type": "OnDelete"}}), id="a StatefulSet that people update"),
        pytest.param(
            stateful_set(
                {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
                readyReplicas=3,
                replicas=3,
                updatedReplicas=1,
            ),
            id="a partition",
        ),
        pytest.param(daemon_set(), id="a DaemonSet"),
        pytest.param(live("apps/v1", "ReplicaSet", {"replicas": 1}, availableReplicas=1), id="a ReplicaSet"),
        pytest.param(live("v1", "Pod", phase="Succeeded"), id="a Pod that has done its work"),
        pytest.param(
            live("v1", "Pod", phase="Running", conditions=[condition("Ready", "True")]), id="a Pod that is ready"
        ),
        pytest.param(
            live("apiregistration.k8s.io/v1", "APIService", conditions=[condition("Available", "True")]),
            id="an APIService",
        ),
        pytest.param(
            live(
                CRD,
                "CustomResourceDefinition",
                conditions=[condition("Established", "True"), condition("NamesAccepted", "True")],
            ),
            id="a CRD",
        ),
        pytest.param(live("batch/v1", "Job", startTime="2026-01-01T00:00:00Z"), id="a Job that runs"),
        pytest.param(live("batch/v1", "Job", conditions=[condition("Complete", "True")]), id="a Job that is done"),
        pytest.param(live("batch/v1", "Job", {"suspend": True}), id="a Job that is suspended"),
        pytest.param(live("v1", "Service", {"type": "ClusterIP"}), id="a Service"),
        pytest.param(
            live("v1", "Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": [{"ip": "192.0.2.1"}]}),
            id="a Service with a load balancer",
        ),
        pytest.param(live("v1", "PersistentVolumeClaim", phase="Bound"), id="a claim"),
        pytest.param(live("policy/v1", "PodDisruptionBudget", currentHealthy=1, desiredHealthy=1), id="a budget"),
        pytest.param(boat(conditions=[condition("Ready", "True")]), id="a custom resource"),
        pytest.param(boat(conditions=[condition("Issued", "False")]), id="a condition that kstatus does not know"),
        pytest.param(boat(conditions="none"), id="a custom resource with conditions of its own form"),
        pytest.param(
            live("networking.k8s.io/v1", "Ingress", conditions=[condition("Ready", "False")]),
            id="a kind of Kubernetes without a rule",
        ),
    ],
)
def test_well(body: Body) -> None:
    assert health(body) == Health("True")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            deployment(conditions=[condition("Progressing", "False", "ProgressDeadlineExceeded", "timed out")]),
            "makes no progress: ProgressDeadlineExceeded: timed out",
            id="stuck",
        ),
        pytest.param(
            live("v1", "Pod", phase="Failed", reason="Evicted", message="no room"),
            "failed: Evicted: no room",
            id="a Pod that failed",
        ),
        pytest.param(
            live(CRD, "CustomResourceDefinition", conditions=[condition("NamesAccepted", "False", "PluralConflict")]),
            "its names are not accepted: PluralConflict",
            id="a CRD whose names are taken",
        ),
        pytest.param(
            live("batch/v1", "Job", conditions=[condition("Failed", "True", "BackoffLimitExceeded")]),
            "failed: BackoffLimitExceeded",
            id="a Job that failed",
        ),
        pytest.param(
            live("v1", "PersistentVolumeClaim", phase="Lost"), "lost its volume", id="a claim that lost its volume"
        ),
        pytest.param(
            live("v1", "Pod", phase="Running", containerStatuses=[CRASHING]),
            "container c waits: CrashLoopBackOff: back-off",
            id="a container that crashes",
        ),
        pytest.param(
            boat(conditions=[condition("Stalled", "True", "NoWater", "dry")]),
            "is stalled: NoWater: dry",
            id="a custom resource that is stalled",
        ),
    ],
)
def test_failed(body: Body, message: str) -> None:
    is_late = "ProgressDeadlineExceeded" in message
    assert health(body) == Health("False", message, is_late=is_late)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(deployment(**{**RUNNING, "observedGeneration": 1}), LATE, id="a change that was not observed"),
        pytest.param(live("apps/v1", "Deployment"), "waiting for the Deployment controller", id="a new Deployment"),
        pytest.param(deployment(2, updatedReplicas=1), "1 of 2 replicas are updated", id="rolling out"),
        pytest.param(deployment(updatedReplicas=1), "0 of 1 replicas are available", id="none available"),
        pytest.param(
            deployment(1, updatedReplicas=1, availableReplicas=2, replicas=2),
            "1 old replica is not replaced yet",
            id="old ones",
        ),
        pytest.param(
            deployment(**RUNNING, conditions=[condition("Available", "False", "MinimumReplicasUnavailable")]),
            "is not available: MinimumReplicasUnavailable",
            id="not available",
        ),
        pytest.param(
            deployment(conditions=[condition("ReplicaFailure", "True", "FailedCreate", "forbidden")]),
            "cannot create its pods: FailedCreate: forbidden",
            id="pods that are refused",
        ),
        pytest.param(
            stateful_set({"replicas": 2}, readyReplicas=1), "1 of 2 replicas are ready", id="a StatefulSet that starts"
        ),
        pytest.param(
            stateful_set({}, readyReplicas=1, replicas=2),
            "1 old replica is not replaced yet",
            id="a StatefulSet that shrinks",
        ),
        pytest.param(
            stateful_set({}, readyReplicas=1, replicas=1, updateRevision="b", currentRevision="a"),
            "is being rolled out",
            id="a StatefulSet that rolls out",
        ),
        pytest.param(
            stateful_set({"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}}, readyReplicas=3),
            "0 of 1 replicas are updated",
            id="a partition",
        ),
        pytest.param(daemon_set(numberReady=1), "1 of 2 pods are ready", id="a DaemonSet"),
        pytest.param(live("apps/v1", "DaemonSet"), "waiting for the DaemonSet controller", id="a new DaemonSet"),
        pytest.param(live("apps/v1", "ReplicaSet"), "0 of 1 replicas are available", id="a ReplicaSet"),
        pytest.param(
            live("apps/v1", "ReplicaSet", conditions=[condition("ReplicaFailure", "True", "FailedCreate")]),
            "cannot create its pods: FailedCreate",
            id="a ReplicaSet whose pods are refused",
        ),
        pytest.param(
            live(
                "v1",
                "Pod",
                phase="Pending",
                conditions=[condition("PodScheduled", "False", "Unschedulable", "no node")],
            ),
            "is not running: Unschedulable: no node",
            id="a Pod without a node",
        ),
        pytest.param(live("v1", "Pod", phase="Pending"), "is not running", id="a Pod that starts"),
        pytest.param(
            live("v1", "Pod", phase="Running", conditions=[condition("Ready", "False", "ContainersNotReady")]),
            "is not ready: ContainersNotReady",
            id="a Pod that is not ready",
        ),
        pytest.param(
            live(
                "v1",
                "Pod",
                phase="Pending",
                containerStatuses=[
                    {"name": "a", "state": {"waiting": {"reason": "PodInitializing"}}},
                    {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}},
                ],
            ),
            "container c waits: ImagePullBackOff: no such image",
            id="a container that waits",
        ),
        pytest.param(
            live(
                "apiregistration.k8s.io/v1",
                "APIService",
                conditions=[condition("Available", "False", "MissingEndpoints")],
            ),
            "is not available: MissingEndpoints",
            id="an APIService",
        ),
        pytest.param(live(CRD, "CustomResourceDefinition"), "is not established", id="a new CRD"),
        pytest.param(live("batch/v1", "Job"), "has not started", id="a new Job"),
        pytest.param(
            live("v1", "Service", {"type": "LoadBalancer"}),
            "its load balancer has no address yet",
            id="a load balancer",
        ),
        pytest.param(
            live("v1", "PersistentVolumeClaim", phase="Pending"), "is not bound to a volume yet", id="a claim"
        ),
        pytest.param(
            live("policy/v1", "PodDisruptionBudget", currentHealthy=1, desiredHealthy=2),
            "1 of at least 2 pods are healthy",
            id="a budget",
        ),
        pytest.param(
            boat(conditions=[condition("Ready", "False", "Pending", "not issued")]),
            "is not ready: Pending: not issued",
            id="a custom resource that is not ready",
        ),
        pytest.param(
            boat(conditions=[condition("Ready", "True"), condition("Reconciling", "True")]),
            "is being reconciled",
            id="a custom resource that is reconciled",
        ),
        pytest.param(boat(observedGeneration=1), LATE, id="a custom resource whose controller is late"),
    ],
)
def test_in_progress(body: Body, message: str) -> None:
    found = health(body)
    assert (found.status, found.message) == ("Unknown", message)


FINISHED = condition("Progressing", "True", "NewReplicaSetAvailable")
ROLLING = condition("Progressing", "True", "ReplicaSetUpdated")


@pytest.mark.parametrize(
    ("spec", "conditions", "expected"),
    [
        pytest.param({}, [ROLLING], None, id="a rollout: Kubernetes itself reports the end of its deadline"),
        pytest.param({}, [FINISHED], timedelta(minutes=10), id="a rollout that ended, and pods that went away since"),
        pytest.param({"progressDeadlineSeconds": 30}, [FINISHED], timedelta(seconds=30), id="a deadline of its own"),
        pytest.param({"progressDeadlineSeconds": 2**31 - 1}, [], None, id="a Deployment that is never given up"),
    ],
)
def test_how_long_progress_of_a_deployment_is_ordinary(
    spec: Body, conditions: list[Body], expected: timedelta | None
) -> None:
    body = live("apps/v1", "Deployment", spec, observedGeneration=2, updatedReplicas=1, conditions=conditions)
    assert health(body) == Health("Unknown", "0 of 1 replicas are available", expected)


@pytest.mark.parametrize("kind", KINDS_WITH_HEALTH)
def test_what_is_being_deleted_is_not_well(kind: tuple[str, str]) -> None:
    group, name = kind
    body = obj(f"{group}/v1" if group else "v1", name, "x")
    body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert health(body) == Health("False", "is being deleted")


@settings(deadline=None)
@given(
    st.sampled_from(KINDS_WITH_HEALTH),
    st.dictionaries(
        st.sampled_from(["replicas", "observedGeneration", "availableReplicas", "currentHealthy"]), st.integers(0, 3)
    ),
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(["Available", "Ready", "Failed"]),
                "status": st.sampled_from(["True", "False", "Unknown"]),
            }
        ),
        max_size=3,
    ),
)
def test_any_status_has_an_answer(kind: tuple[str, str], numbers: dict[str, int], conditions: list[Body]) -> None:
    group, name = kind
    status: dict[str, Any] = {**numbers, "conditions": conditions}
    found = health(live(f"{group}/v1" if group else "v1", name, **status))
    assert (found.status == "True") == (found.message == "")


SHORT = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 1, "conditions": [FINISHED]}


@pytest.mark.parametrize(
    ("body", "serves"),
    [
        pytest.param(deployment(3, **SHORT), True, id="two of three replicas are new, or were lost"),
        pytest.param(
            deployment(1, **SHORT | {"availableReplicas": 3}), True, id="two of three replicas are to be deleted"
        ),
        pytest.param(deployment(3, **SHORT | {"availableReplicas": 0}), False, id="no replica is available"),
        pytest.param(deployment(3, **SHORT | {"conditions": [ROLLING]}), False, id="a rollout"),
        pytest.param(deployment(3, **SHORT | {"updatedReplicas": 1}), False, id="the other replicas are old ones"),
        pytest.param(
            deployment(3, **SHORT | {"observedGeneration": 1}), True, id="its controller has not observed a change yet"
        ),
        pytest.param(
            stateful_set({"replicas": 3}, readyReplicas=1, updateRevision="a", currentRevision="a"),
            True,
            id="a StatefulSet that is scaled",
        ),
        pytest.param(
            stateful_set({"replicas": 3}, readyReplicas=1, updateRevision="b", currentRevision="a"),
            False,
            id="a StatefulSet that rolls out",
        ),
        pytest.param(
            daemon_set(numberReady=1, currentNumberScheduled=1, updatedNumberScheduled=1), True, id="a new node"
        ),
        pytest.param(daemon_set(updatedNumberScheduled=1), False, id="a DaemonSet that rolls out"),
        pytest.param(boat(conditions=[condition("Ready", "False")]), False, id="a custom resource"),
    ],
)
def test_a_workload_serves_while_only_the_number_of_its_pods_differs(body: Body, serves: bool) -> None:
    found = health(body)
    assert (found.status, found.is_serving) == ("Unknown", serves)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param(("apps", "Deployment"), True, id="a kind with a rule"),
        pytest.param(("example.com", "Boat"), True, id="custom resources"),
        pytest.param(("", "ConfigMap"), False, id="a kind of the core group"),
        pytest.param(("rbac.authorization.k8s.io", "Role"), False, id="a kind of Kubernetes"),
    ],
)
def test_which_kinds_are_read_whole(kind: tuple[str, str], expected: bool) -> None:
    assert has_health(kind) == expected
