"""Evaluates whether an installed object is healthy, in progress, or failed. Pure.

The rules are those of kstatus, which `kubectl wait` and GitOps tools follow, for built-in kinds and for custom resources; objects
of other built-in kinds count as healthy. Health is read from the objects, not from their apply. Whether progress has exceeded its
deadline is evaluated by rukpak.bundledeployment.health.progress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rukpak.bundledeployment.health.health_result import (
    HEALTHY,
    Health,
    Obj,
    because,
    failed,
    find_condition,
    progress,
)
from rukpak.bundledeployment.health.workload_health import WORKLOAD_RULES, is_serving

_KUBERNETES_GROUPS = frozenset({"", "apps", "autoscaling", "batch", "policy"})
"""The API groups of Kubernetes whose names have no domain."""
_KUBERNETES_DOMAIN = ".k8s.io"


def has_health(group_kind: tuple[str, str]) -> bool:
    """Report whether objects of the (group, kind) may be unhealthy: those with a rule, and custom resources."""
    group, _ = group_kind
    return group_kind in _RULES or not (group in _KUBERNETES_GROUPS or group.endswith(_KUBERNETES_DOMAIN))


def health(obj: Obj) -> Health:
    """The health of an object as read; HEALTHY if it can have no other."""
    group_kind = (_group(obj), obj.get("kind", ""))
    if not has_health(group_kind):
        return HEALTHY
    metadata = obj.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        return failed("is being deleted")
    status = obj.get("status")
    status = status if isinstance(status, Mapping) else {}
    observed = status.get("observedGeneration")
    if observed is not None and observed != metadata.get("generation"):
        result = progress("waiting for its controller to observe the latest change")
    else:
        result = _RULES.get(group_kind, _custom_resource)(obj, status)
    if result.status == "Unknown" and group_kind in WORKLOAD_RULES:
        return result._replace(is_serving=is_serving(group_kind[1], status))
    return result


def _group(obj: Obj) -> str:
    group: str = obj.get("apiVersion", "").rpartition("/")[0]
    return group


def _custom_resource(_: Obj, status: Obj) -> Health:
    """The rule of kstatus for kinds that it does not know: three conditions that many controllers set."""
    conditions = status.get("conditions")
    if not isinstance(conditions, list) or not all(isinstance(each, Mapping) for each in conditions):
        return HEALTHY
    stalled, reconciling, ready = (find_condition(status, name) for name in ("Stalled", "Reconciling", "Ready"))
    if stalled.get("status") == "True":
        return failed(f"is stalled{because(stalled)}")
    if reconciling.get("status") == "True":
        return progress(f"is being reconciled{because(reconciling)}")
    if ready.get("status") in ("False", "Unknown"):
        return progress(f"is not ready{because(ready)}")
    return HEALTHY


def _api_service(obj: Obj, status: Obj) -> Health:
    available = find_condition(status, "Available")
    return HEALTHY if available.get("status") == "True" else progress(f"is not available{because(available)}")


def _definition(obj: Obj, status: Obj) -> Health:
    accepted = find_condition(status, "NamesAccepted")
    if accepted.get("status") == "False":
        return failed(f"its names are not accepted{because(accepted)}")
    established = find_condition(status, "Established")
    if established.get("status") == "True":
        return HEALTHY
    return progress(f"is not established{because(established)}")


def _service(obj: Obj, status: Obj) -> Health:
    spec = obj.get("spec") or {}
    if spec.get("type") == "LoadBalancer" and not (status.get("loadBalancer") or {}).get("ingress"):
        return progress("its load balancer has no address yet")
    return HEALTHY


def _claim(obj: Obj, status: Obj) -> Health:
    phase = status.get("phase")
    if phase == "Bound":
        return HEALTHY
    return failed("lost its volume") if phase == "Lost" else progress("is not bound to a volume yet")


def _budget(obj: Obj, status: Obj) -> Health:
    healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    return HEALTHY if healthy >= wanted else progress(f"{healthy} of at least {wanted} pods are healthy")


_RULES: dict[tuple[str, str], Callable[[Obj, Obj], Health]] = {
    **WORKLOAD_RULES,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("policy", "PodDisruptionBudget"): _budget,
}
