"""What pods of manifests lack of the restrictions that the suite promises: no root, no writes to the root file system, limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]

_CONTAINER = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
"""The security context of each container, whole."""
_POD = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "runAsGroup": 65532,
    "fsGroup": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""The security context of each pod, whole."""
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC")
_VOLUMES = {"name", "emptyDir", "secret", "configMap"}
_RESOURCES = {"requests": {"cpu", "memory", "ephemeral-storage"}, "limits": {"memory", "ephemeral-storage"}}
"""Without a limit of CPU, which would slow down a controller although the processor has nothing else to do."""


def faults(objects: Iterable[Object]) -> list[str]:
    """What is missing or too much, by container or pod."""
    return [f"{name}: {fault}" for each in objects for name, pod in _pods(each) for fault in _faults(pod)]


def pod_count(objects: Iterable[Object]) -> int:
    """The number of templates of pods."""
    return sum(1 for each in objects for _ in _pods(each))


def _pods(value: Any, name: str = "") -> Iterator[tuple[str, Object]]:
    """The specs of pods in an object, wherever they are: in a Deployment, or in one of a ClusterServiceVersion."""
    if isinstance(value, Mapping):
        metadata = value.get("metadata")
        name = str(value.get("name") or (metadata or {}).get("name") or name)
        if "containers" in value:
            yield name, value
        for each in value.values():
            yield from _pods(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _pods(each, name)


def _faults(pod: Object) -> Iterator[str]:
    if pod.get("securityContext") != _POD:
        yield f"securityContext of the pod is {pod.get('securityContext')}"
    yield from (f"{field} is {pod[field]}" for field in _HOST_FIELDS if pod.get(field))
    yield from (
        f"volume {each['name']} is of the node" for each in pod.get("volumes", ()) if not each.keys() <= _VOLUMES
    )
    if not pod.get("serviceAccountName"):
        yield "it has the default ServiceAccount"
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        if container.get("securityContext") != _CONTAINER:
            yield f"securityContext of {container['name']} is {container.get('securityContext')}"
        resources = container.get("resources", {})
        found = {key: set(resources.get(key, ())) for key in _RESOURCES}
        if found != _RESOURCES:
            yield f"resources of {container['name']} are {found}"
        yield from (f"{container['name']} has a hostPort" for port in container.get("ports", ()) if "hostPort" in port)
