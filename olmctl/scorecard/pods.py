"""The pods of custom tests: what they are made of, and what their state says. Pure.

The bundle reaches a pod in as many ConfigMaps as it needs, whose files one volume puts together: its directories are mounted as
they are in the bundle, and no image with tools has to unpack an archive. Only a single file is bound to the limit of a
ConfigMap.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from olmctl.scorecard.configuration import TestSpec
from olmkit.api.meta import Object
from olmkit.stored_times import stored_time
from rukpak.format.objects import mapping, mappings

MAX_CONFIG_MAP_BYTES = 900_000
"""Bytes of the files in one ConfigMap; the API server takes 1 MiB with everything else of it."""
RUN_LABEL = "olm.operatorframework.io/scorecard"
"""The label of the pods and ConfigMaps of `olm bundle scorecard`, with the name of the run as its value."""
CONTAINER, GATHER = "scorecard-test", "scorecard-gather"
"""The container of a test, and the one that packs the files that it stores."""
BUNDLE_PATH = "/bundle"
LONGEST_ANNOTATION = "olm.operatorframework.io/scorecard-longest"
"""The annotation of the ConfigMaps of a run with the seconds that it takes at most. Without it they are kept."""
CREATED_BY = {"app.kubernetes.io/managed-by": "olm", "app.kubernetes.io/component": "scorecard"}
_SECONDS = re.compile("[0-9]{1,9}")
_FATAL_REASONS = frozenset(
    {"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError"}
)
"""Reasons for which a container waits that do not end by themselves."""


class FileTooLarge(ValueError):
    """A file of the bundle fits into no ConfigMap."""


@dataclass(frozen=True)
class Run:
    """One run of the tests. `restricted`: the namespace takes only pods of the restricted profile. `longest`: the seconds that it
    takes at most; 0: what it creates is kept."""

    name: str
    namespace: str
    service_account: str
    restricted: bool = False
    longest: int = 0

    @property
    def labels(self) -> dict[str, str]:
        """The labels of everything that the run creates."""
        return {**CREATED_BY, RUN_LABEL: self.name}

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of its ConfigMaps."""
        return {LONGEST_ANNOTATION: str(self.longest)} if self.longest else {}


@dataclass(frozen=True)
class BundleVolume:
    """The bundle for pods: its ConfigMaps, the volume that puts them together, and the mounts of its directories."""

    config_maps: Sequence[Object]
    volume: Object
    mounts: Sequence[Object]


def bundle_volume(run: Run, files: Mapping[str, bytes]) -> BundleVolume:
    """The ConfigMaps and the volume of a bundle. Raises FileTooLarge."""
    groups = list(_groups(files))
    maps, sources = [], []
    for number, paths in enumerate(groups):
        name = f"{run.name}-bundle-{number}"
        keys = {f"file-{index}": path for index, path in enumerate(paths)}
        maps.append(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": name,
                    "namespace": run.namespace,
                    "labels": run.labels,
                    "annotations": run.annotations,
                },
                "immutable": True,
                "binaryData": {key: base64.b64encode(files[path]).decode() for key, path in keys.items()},
            }
        )
        items = [{"key": key, "path": path} for key, path in keys.items()]
        sources.append({"configMap": {"name": name, "items": items}})
    # Each directory is mounted by itself: the volume has links and hidden directories at its top, which are no part of a bundle.
    tops = sorted({path.split("/")[0] for path in files})
    mounts = [{"name": "bundle", "mountPath": f"{BUNDLE_PATH}/{top}", "subPath": top, "readOnly": True} for top in tops]
    return BundleVolume(maps, {"name": "bundle", "projected": {"sources": sources}}, mounts)


def is_left(config_map: Object, now: str) -> bool:
    """Report whether a ConfigMap is one of a run that was killed: it is older than its run can be. `now` is the time of the
    cluster."""
    metadata = mapping(config_map.get("metadata"))
    longest = str(mapping(metadata.get("annotations")).get(LONGEST_ANNOTATION) or "")
    if not _SECONDS.fullmatch(longest):
        return False
    return stored_time(now) - stored_time(metadata["creationTimestamp"]) > timedelta(seconds=int(longest))


def _groups(files: Mapping[str, bytes]) -> Iterator[list[str]]:
    """The paths in groups that fit into one ConfigMap each."""
    group: list[str] = []
    size = 0
    for path, data in sorted(files.items()):
        if len(data) > MAX_CONFIG_MAP_BYTES:
            text = f"{path} has {len(data):,} bytes, and at most {MAX_CONFIG_MAP_BYTES:,} of one file reach a pod"
            raise FileTooLarge(text)
        if group and size + len(data) > MAX_CONFIG_MAP_BYTES:
            yield group
            group, size = [], 0
        group.append(path)
        size += len(data)
    if group:
        yield group


@dataclass(frozen=True)
class Storage:
    """A directory in which a test stores files, and the container that packs them: an image and the command that waits."""

    path: str
    image: str
    command: Sequence[str]

    def container(self, name: str, run: Run) -> Object:
        """The container. It reads files of any user, unless the namespace forbids that."""
        security: Object = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        if not run.restricted:
            security = {"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}}
        return {
            "name": name,
            "image": self.image,
            "command": list(self.command),
            "volumeMounts": [self.mount],
            "securityContext": security,
        }

    @property
    def mount(self) -> Object:
        """The mount of the volume of the files."""
        return {"name": "storage", "mountPath": self.path}


def pod_of(
    run: Run, name: str, spec: TestSpec, bundle: BundleVolume, seconds: float, storage: Storage | None = None
) -> Object:
    """The pod of a test, which is ended after `seconds` also if nobody watches it."""
    env = [{"name": "SCORECARD_NAMESPACE", "value": run.namespace}]
    volumes, mounts = [bundle.volume], list(bundle.mounts)
    if storage is not None:
        env.append({"name": "SCORECARD_STORAGE", "value": storage.path})
        volumes.append({"name": "storage", "emptyDir": {}})
        mounts.append(storage.mount)
    container: Object = {
        "name": CONTAINER,
        "image": spec.image,
        "env": env,
        "volumeMounts": mounts,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if spec.entrypoint:
        container["command"] = list(spec.entrypoint)
    security: Object = {
        "seccompProfile": {"type": "RuntimeDefault"},
        **({"runAsNonRoot": True} if run.restricted else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": run.namespace, "labels": run.labels},
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": run.service_account,
            "activeDeadlineSeconds": max(1, int(seconds)) + 60,
            "terminationGracePeriodSeconds": 1,
            "securityContext": security,
            "containers": [container, *([storage.container(GATHER, run)] if storage is not None else [])],
            "volumes": volumes,
        },
    }


@dataclass(frozen=True)
class PodState:
    """The state of a test's pod. `is_ended`: it has ended or cannot begin. `failure`: why it is no success, or what it waits
    for."""

    is_ended: bool
    has_run: bool
    failure: str = ""


def state_of(pod: Object, container: str = CONTAINER) -> PodState:
    """The state of a pod of one test: that of its container, because the one that packs files never ends."""
    status = mapping(pod.get("status"))
    containers = mappings(status.get("containerStatuses"))
    state = next((mapping(each.get("state")) for each in containers if each.get("name") == container), {})
    ended = mapping(state.get("terminated"))
    if status.get("phase") == "Succeeded" or (ended and ended.get("exitCode") == 0):
        return PodState(is_ended=True, has_run=True)
    if ended:
        return PodState(is_ended=True, has_run=True, failure=_failure(status, ended))
    if status.get("phase") == "Failed":
        return PodState(is_ended=True, has_run=False, failure=_failure(status, ended))
    if waiting := mapping(state.get("waiting")):
        reason = str(waiting.get("reason") or "")
        text = f"its container waits: {_sentence(reason, waiting.get('message'))}"
        return PodState(is_ended=reason in _FATAL_REASONS, has_run=False, failure=text)
    if "running" in state:
        return PodState(is_ended=False, has_run=True, failure="its container still runs")
    return PodState(is_ended=False, has_run=False, failure=_unscheduled(status))


def _failure(status: Mapping[str, Any], ended: Mapping[str, Any]) -> str:
    if ended:
        reason = ended.get("reason") or "Error"
        text = f"its container ended with exit code {ended.get('exitCode')} ({reason})"
        return f"{text}: {ended['message']}" if ended.get("message") else text
    return f"its pod failed: {_sentence(status.get('reason'), status.get('message'))}"


def _unscheduled(status: Mapping[str, Any]) -> str:
    for each in mappings(status.get("conditions")):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return f"its pod is not scheduled: {_sentence(each.get('reason'), each.get('message'))}"
    return "its pod has not started"


def _sentence(reason: Any, message: Any) -> str:
    return ": ".join(str(part) for part in (reason, message) if part) or "no reason is known"
