"""The lowest version of Kubernetes that serves the APIs and has the fields that a bundle uses. Pure.

Facts of the Kubernetes documentation: the release in which an API version is served, and from which a field takes effect without
a feature gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from olmctl.project.collection import DEPLOYMENT, MUTATING, VALIDATING, Collection, Typed

_APIS: Final[Mapping[str, int]] = {
    "admissionregistration.k8s.io/v1": 16,
    "apiextensions.k8s.io/v1": 16,
    "autoscaling/v2": 23,
    "batch/v1 CronJob": 21,
    "discovery.k8s.io/v1": 21,
    "events.k8s.io/v1": 19,
    "flowcontrol.apiserver.k8s.io/v1": 29,
    "networking.k8s.io/v1 Ingress": 19,
    "networking.k8s.io/v1 IngressClass": 19,
    "node.k8s.io/v1": 20,
    "policy/v1": 21,
    "resource.k8s.io/v1": 34,
    "scheduling.k8s.io/v1": 14,
    "storage.k8s.io/v1 CSIDriver": 18,
    "storage.k8s.io/v1 CSIStorageCapacity": 24,
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy": 30,
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": 30,
}
"""The minor release of version 1 since which an API, or one kind of it, is served."""
_POD_FIELDS: Final[Mapping[str, int]] = {"schedulingGates": 27, "hostUsers": 33, "resourceClaims": 34}
_CONTAINER_FIELDS: Final[Mapping[str, int]] = {"resizePolicy": 33, "startupProbe": 18, "restartPolicyRules": 35}
_SECURITY_FIELDS: Final[Mapping[str, int]] = {"seccompProfile": 19, "appArmorProfile": 30}
_RULES_IN_SCHEMAS = "x-kubernetes-validations"
_SCHEMA_RULES, _SELECTABLE_FIELDS, _MATCH_CONDITIONS, _SIDECARS, _GRPC_PROBES = 25, 31, 28, 29, 24
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")

Need = tuple[int, str]
"""A minor release, and what needs it."""


def minimum(collection: Collection) -> Need | None:
    """The highest of all needs; None if nothing is known to need a version."""
    return max(needs(collection), key=lambda need: need[0], default=None)


def version_text(need: Need) -> str:
    """The version for minKubeVersion."""
    return f"1.{need[0]}.0"


def needs(collection: Collection) -> Iterator[Need]:
    """Everything that needs a version of Kubernetes."""
    typed = (each.manifest for kind in collection.typed for each in collection.of(kind))
    for manifest in (*typed, *(crd.manifest for crd in collection.crds), *collection.others):
        for api in (manifest.api_version, f"{manifest.api_version} {manifest.kind}"):
            if api in _APIS:
                yield _APIS[api], f"{manifest.kind} of {manifest.api_version}"
    for crd in collection.crds:
        yield from _of_definition(crd)
    for deployment in collection.of(DEPLOYMENT):
        yield from _of_pod(deployment)
    for kind in (VALIDATING, MUTATING):
        for configuration in collection.of(kind):
            if any(webhook.get("matchConditions") for webhook in configuration.value.get("webhooks") or []):
                yield _MATCH_CONDITIONS, f"matchConditions of {configuration.name}"


def _of_definition(crd: Typed) -> Iterator[Need]:
    for version in crd.spec.get("versions") or []:
        if version.get("selectableFields"):
            yield _SELECTABLE_FIELDS, f"selectableFields of {crd.name}"
        if _has_key(version.get("schema"), _RULES_IN_SCHEMAS):
            yield _SCHEMA_RULES, f"{_RULES_IN_SCHEMAS} of {crd.name}"


def _has_key(value: Any, key: str) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if key in each:
                return True
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return False


def _of_pod(deployment: Typed) -> Iterator[Need]:
    pod, where = deployment.spec["template"]["spec"], f"of the Deployment {deployment.name}"
    yield from _of_fields(pod, _POD_FIELDS, where)
    yield from _of_fields(pod.get("securityContext"), _SECURITY_FIELDS, where)
    for container in (*(pod.get("containers") or []), *(pod.get("initContainers") or [])):
        yield from _of_fields(container, _CONTAINER_FIELDS, where)
        yield from _of_fields(container.get("securityContext"), _SECURITY_FIELDS, where)
        if any("grpc" in (container.get(probe) or {}) for probe in _PROBES):
            yield _GRPC_PROBES, f"a probe by gRPC {where}"
    if any(container.get("restartPolicy") for container in pod.get("initContainers") or []):
        yield _SIDECARS, f"restartPolicy of an init container {where}"


def _of_fields(value: Any, fields: Mapping[str, int], where: str) -> Iterable[Need]:
    return [(release, f"{name} {where}") for name, release in fields.items() if name in (value or {})]
