"""Whether an installed object is healthy, in progress, or failed. Called by rukpak.bundledeployment.transforms. Pure.

The rules are those of kstatus, which `kubectl wait` and GitOps tools follow, for a fixed set of kinds; objects of other kinds
count as healthy. Health is read from the objects, not from their apply. Whether progress has exceeded its deadline is
evaluated by rukpak.bundledeployment.progress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from olmkit.api.names import pluralize

Obj = Mapping[str, Any]
PROGRESS_DEADLINE = timedelta(minutes=10)
"""The deadline for kinds without one of their own: the default of Kubernetes for a Deployment."""
_NO_DEADLINE_SECONDS = 2**31 - 1
"""The value of progressDeadlineSeconds with which a Deployment has no deadline."""
_FAILED_WAIT_REASONS = ("CrashLoopBackOff", "InvalidImageName")
"""Reasons of a waiting container that kstatus counts as failed."""


class Health(NamedTuple):
    """`status`: "True" healthy, "False" failed, "Unknown" in progress; `message`: why it is not healthy.

    `deadline`: how long it may be in progress; None if its own status reports when its deadline is exceeded.
    """

    status: str
    message: str = ""
    deadline: timedelta | None = None


HEALTHY = Health("True")


def _failed(message: str) -> Health:
    return Health("False", message)


def _progress(message: str, deadline: timedelta | None = PROGRESS_DEADLINE) -> Health:
    return Health("Unknown", message, deadline)


def health(obj: Obj) -> Health:
    """The health of an object as read; HEALTHY if its kind has no rule."""
    rule = _RULES.get((_group(obj), obj.get("kind", "")))
    if rule is None:
        return HEALTHY
    metadata = obj.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        return _failed("is being deleted")
    status = obj.get("status") or {}
    observed = status.get("observedGeneration")
    if observed is not None and observed != metadata.get("generation"):
        return _progress("waiting for its controller to observe the latest change")
    return rule(obj, status)


def _group(obj: Obj) -> str:
    group: str = obj.get("apiVersion", "").rpartition("/")[0]
    return group


def _condition(status: Obj, name: str) -> Obj:
    for condition in status.get("conditions") or ():
        if condition.get("type") == name:
            found: Obj = condition
            return found
    return {}


def _because(condition: Obj) -> str:
    """`: reason: message` of a condition, without what it lacks."""
    return "".join(f": {condition[field]}" for field in ("reason", "message") if condition.get(field))


def _count(number: int, wanted: int, what: str, deadline: timedelta | None = PROGRESS_DEADLINE) -> Health:
    return _progress(f"{number} of {wanted} replicas {what}", deadline)


def _old_replicas(number: int, deadline: timedelta | None = PROGRESS_DEADLINE) -> Health:
    return _progress(f"{pluralize(number, 'old replica')} {'is' if number == 1 else 'are'} still there", deadline)


def _deployment(obj: Obj, status: Obj) -> Health:
    spec = obj.get("spec") or {}
    wanted = spec.get("replicas", 1)
    progressing = _condition(status, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return _failed(f"makes no progress{_because(progressing)}")
    deadline = _deadline(spec, progressing)
    failure = _condition(status, "ReplicaFailure")
    if failure.get("status") == "True":
        return _progress(f"cannot create its pods{_because(failure)}", deadline)
    if status.get("observedGeneration") is None:
        return _progress("waiting for the Deployment controller")
    for number, what in (
        (status.get("updatedReplicas", 0), "are updated"),
        (status.get("availableReplicas", 0), "are available"),
    ):
        if number < wanted:
            return _count(number, wanted, what, deadline)
    if status.get("replicas", 0) > wanted:
        return _old_replicas(status["replicas"] - wanted, deadline)
    available = _condition(status, "Available")
    if available.get("status", "True") == "True":
        return HEALTHY
    return _progress(f"is not available{_because(available)}", deadline)


def _deadline(spec: Obj, progressing: Obj) -> timedelta | None:
    """None while Kubernetes itself checks the deadline of a rollout; it does not after the rollout has ended."""
    seconds = spec.get("progressDeadlineSeconds", PROGRESS_DEADLINE.total_seconds())
    is_rolling_out = bool(progressing) and progressing.get("reason") != "NewReplicaSetAvailable"
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
        return _progress("is being rolled out")
    return HEALTHY


def _daemon_set(obj: Obj, status: Obj) -> Health:
    if status.get("observedGeneration") is None:
        return _progress("waiting for the DaemonSet controller")
    wanted = status.get("desiredNumberScheduled", 0)
    for field, what in (
        ("currentNumberScheduled", "scheduled"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ):
        if status.get(field, 0) < wanted:
            return _progress(f"{status.get(field, 0)} of {wanted} pods are {what}")
    return HEALTHY


def _replica_set(obj: Obj, status: Obj) -> Health:
    wanted = (obj.get("spec") or {}).get("replicas", 1)
    failure = _condition(status, "ReplicaFailure")
    if failure.get("status") == "True":
        return _progress(f"cannot create its pods{_because(failure)}")
    available = status.get("availableReplicas", 0)
    return HEALTHY if available >= wanted else _count(available, wanted, "are available")


def _pod(obj: Obj, status: Obj) -> Health:
    phase = status.get("phase")
    if phase == "Succeeded":
        return HEALTHY
    if phase == "Failed":
        return _failed(f"failed{_because(status)}")
    waiting = _waiting_container(status)
    if waiting is not None:
        return waiting
    ready = _condition(status, "Ready")
    if phase == "Running" and ready.get("status") == "True":
        return HEALTHY
    if phase == "Running":
        return _progress(f"is not ready{_because(ready)}")
    scheduled = _condition(status, "PodScheduled")
    return _progress(f"is not running{_because(scheduled) if scheduled.get('status') == 'False' else ''}")


def _waiting_container(status: Obj) -> Health | None:
    """The health that the first container with a problem gives the Pod."""
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            text = f"container {container.get('name', '')} waits{_because(waiting)}"
            return _failed(text) if waiting["reason"] in _FAILED_WAIT_REASONS else _progress(text)
    return None


def _api_service(obj: Obj, status: Obj) -> Health:
    available = _condition(status, "Available")
    return HEALTHY if available.get("status") == "True" else _progress(f"is not available{_because(available)}")


def _definition(obj: Obj, status: Obj) -> Health:
    accepted = _condition(status, "NamesAccepted")
    if accepted.get("status") == "False":
        return _failed(f"its names are not accepted{_because(accepted)}")
    established = _condition(status, "Established")
    if established.get("status") == "True":
        return HEALTHY
    return _progress(f"is not established{_because(established)}")


def _job(obj: Obj, status: Obj) -> Health:
    failed = _condition(status, "Failed")
    if failed.get("status") == "True":
        return _failed(f"failed{_because(failed)}")
    if _condition(status, "Complete").get("status") == "True" or (obj.get("spec") or {}).get("suspend"):
        return HEALTHY
    return HEALTHY if status.get("startTime") else _progress("has not started")


def _service(obj: Obj, status: Obj) -> Health:
    spec = obj.get("spec") or {}
    if spec.get("type") == "LoadBalancer" and not (status.get("loadBalancer") or {}).get("ingress"):
        return _progress("its load balancer has no address yet")
    return HEALTHY


def _claim(obj: Obj, status: Obj) -> Health:
    phase = status.get("phase")
    if phase == "Bound":
        return HEALTHY
    return _failed("lost its volume") if phase == "Lost" else _progress("is not bound to a volume yet")


def _budget(obj: Obj, status: Obj) -> Health:
    healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    return HEALTHY if healthy >= wanted else _progress(f"{healthy} of at least {wanted} pods are healthy")


_RULES: dict[tuple[str, str], Callable[[Obj, Obj], Health]] = {
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    ("policy", "PodDisruptionBudget"): _budget,
}
HEALTH_KINDS = frozenset(_RULES)
"""(group, kind) of the kinds that have a rule."""
