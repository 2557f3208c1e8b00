"""The health rules of workloads: Deployments, StatefulSets, DaemonSets, ReplicaSets, Pods and Jobs.

The rules are those of kstatus, and one more: a workload that is scaled, or that lost some of its pods, serves while others of the
same revision are ready. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from olmkit.api.names import pluralize
from rukpak.bundledeployment.health.health_result import (
    HEALTHY,
    PROGRESS_DEADLINE,
    Health,
    Obj,
    because,
    failed,
    find_condition,
    progress,
)

_NO_DEADLINE_SECONDS = 2**31 - 1
"""The value of progressDeadlineSeconds with which a Deployment has no deadline."""
_FAILED_WAIT_REASONS = ("CrashLoopBackOff", "InvalidImageName")
"""Reasons of a waiting container that kstatus counts as failed."""
_ROLLED_OUT = "NewReplicaSetAvailable"
"""The reason of the condition Progressing of a Deployment from the end of a rollout to the next one."""


def _count(number: int, wanted: int, what: str, deadline: timedelta | None = PROGRESS_DEADLINE) -> Health:
    return progress(f"{number} of {wanted} replicas {what}", deadline)


def _old_replicas(number: int, deadline: timedelta | None = PROGRESS_DEADLINE) -> Health:
    return progress(f"{pluralize(number, 'old replica')} {'is' if number == 1 else 'are'} not replaced yet", deadline)


def replica_failure(status: Obj) -> str:
    """Explain why a Deployment or ReplicaSet with this status cannot create its pods; empty if nothing is known against it."""
    failure = find_condition(status, "ReplicaFailure")
    return f"cannot create its pods{because(failure)}" if failure.get("status") == "True" else ""


def _deployment(obj: Obj, status: Obj) -> Health:
    spec = obj.get("spec") or {}
    wanted = spec.get("replicas", 1)
    progressing = find_condition(status, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return failed(f"makes no progress{because(progressing)}", is_late=True)
    deadline = _deadline(spec, progressing)
    if failure := replica_failure(status):
        return progress(failure, deadline)
    if status.get("observedGeneration") is None:
        return progress("waiting for the Deployment controller")
    for number, what in (
        (status.get("updatedReplicas", 0), "are updated"),
        (status.get("availableReplicas", 0), "are available"),
    ):
        if number < wanted:
            return _count(number, wanted, what, deadline)
    if status.get("replicas", 0) > wanted:
        return _old_replicas(status["replicas"] - wanted, deadline)
    available = find_condition(status, "Available")
    if available.get("status", "True") == "True":
        return HEALTHY
    return progress(f"is not available{because(available)}", deadline)


def _deadline(spec: Obj, progressing: Obj) -> timedelta | None:
    """None while Kubernetes itself checks the deadline of a rollout; it does not after the rollout has ended."""
    seconds = spec.get("progressDeadlineSeconds", PROGRESS_DEADLINE.total_seconds())
    is_rolling_out = bool(progressing) and progressing.get("reason") != _ROLLED_OUT
    return None if is_rolling_out or seconds >= _NO_DEADLINE_SECONDS else timedelta(seconds=seconds)


def _stateful_set(obj: Obj, status: Obj) -> Health:
    spec = obj.get("spec") or {}
    wanted = spec.get("replicas", 1)
    if ((spec.get("updateStrategy") or {}).get("type")) == "OnDelete":
        return HEALTHY
    if status.get("readyReplicas", 0) < wanted:
        return _count(status.get("readyReplicas", 0), wanted, "are ready")
    if status.get("replicas", 0) > wanted:
        return _old_replicas(status["replicas"] - wanted)
    partition = ((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("partition") or 0
    if partition:
        updated = status.get("updatedReplicas", 0)
        return HEALTHY if updated >= wanted - partition else _count(updated, wanted - partition, "are updated")
    if status.get("updateRevision") != status.get("currentRevision"):
        return progress("is being rolled out")
    return HEALTHY


def _daemon_set(obj: Obj, status: Obj) -> Health:
    if status.get("observedGeneration") is None:
        return progress("waiting for the DaemonSet controller")
    wanted = status.get("desiredNumberScheduled", 0)
    for field, what in (
        ("currentNumberScheduled", "scheduled"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ):
        if status.get(field, 0) < wanted:
            return progress(f"{status.get(field, 0)} of {wanted} pods are {what}")
    return HEALTHY


def _replica_set(obj: Obj, status: Obj) -> Health:
    wanted = (obj.get("spec") or {}).get("replicas", 1)
    if failure := replica_failure(status):
        return progress(failure)
    available = status.get("availableReplicas", 0)
    return HEALTHY if available >= wanted else _count(available, wanted, "are available")


def _pod(obj: Obj, status: Obj) -> Health:
    phase = status.get("phase")
    if phase == "Succeeded":
        return HEALTHY
    if phase == "Failed":
        return failed(f"failed{because(status)}")
    waiting = _waiting_container(status)
    if waiting is not None:
        return waiting
    ready = find_condition(status, "Ready")
    if phase == "Running" and ready.get("status") == "True":
        return HEALTHY
    if phase == "Running":
        return progress(f"is not ready{because(ready)}")
    scheduled = find_condition(status, "PodScheduled")
    return progress(f"is not running{because(scheduled) if scheduled.get('status') == 'False' else ''}")


def _waiting_container(status: Obj) -> Health | None:
    """The health that the first container with a problem gives the Pod."""
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            text = f"container {container.get('name', '')} waits{because(waiting)}"
            return failed(text) if waiting["reason"] in _FAILED_WAIT_REASONS else progress(text)
    return None


def _job(obj: Obj, status: Obj) -> Health:
    failure = find_condition(status, "Failed")
    if failure.get("status") == "True":
        return failed(f"failed{because(failure)}")
    if find_condition(status, "Complete").get("status") == "True" or (obj.get("spec") or {}).get("suspend"):
        return HEALTHY
    return HEALTHY if status.get("startTime") else progress("has not started")


def is_serving(kind: str, status: Obj) -> bool:
    """Report whether pods of one revision are ready and no others run, as its controller observed it last."""
    serves = _SERVES.get(kind)
    return serves is not None and serves(status)


def _deployment_serves(status: Obj) -> bool:
    is_complete = find_condition(status, "Progressing").get("reason") == _ROLLED_OUT
    is_uniform = status.get("updatedReplicas", 0) == status.get("replicas", 0)
    return is_complete and is_uniform and status.get("availableReplicas", 0) > 0


def _stateful_set_serves(status: Obj) -> bool:
    return status.get("updateRevision") == status.get("currentRevision") and status.get("readyReplicas", 0) > 0


def _daemon_set_serves(status: Obj) -> bool:
    is_uniform = status.get("updatedNumberScheduled", 0) == status.get("currentNumberScheduled", 0)
    return bool(is_uniform and status.get("numberReady", 0) > 0)


_SERVES: dict[str, Callable[[Obj], bool]] = {
    "DaemonSet": _daemon_set_serves,
    "Deployment": _deployment_serves,
    "StatefulSet": _stateful_set_serves,
}
WORKLOAD_RULES: dict[tuple[str, str], Callable[[Obj, Obj], Health]] = {
    ("", "Pod"): _pod,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
}
