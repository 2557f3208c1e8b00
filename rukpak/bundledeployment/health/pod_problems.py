"""Explains why a pod does not run, in words that stay the same while it is retried. Pure.

A kubelet alternates between several states of a container that it starts again and again. A sentence for each of them would be a
write of the status each time, so the states of one problem have one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from olmkit.gocompat.text import one_line
from rukpak.bundledeployment.health.health import health
from rukpak.bundledeployment.health.health_result import Obj

MAX_DETAIL_CHARACTERS = 300
_PULL_ERROR = "ErrImagePull"
_PULL_BACK_OFF = "ImagePullBackOff"
_CRASH_BACK_OFF = "CrashLoopBackOff"


@dataclass(frozen=True)
class Crash:
    """A container that ended with an error and is started again."""

    pod: str
    namespace: str
    container: str
    restarts: int
    message: str = ""
    """The termination message, if the container wrote one."""


class Explanation(NamedTuple):
    """The problem of a workload: a sentence about one of its pods, and the reason of that, which is "" if it is not known."""

    sentence: str
    reason: str


@dataclass(frozen=True)
class PodProblem:
    """The reason why a pod is not ready. `crash`: the container whose last line of output says more. `reason`: that of the
    container, the same while it is retried; empty if it has none that is known here."""

    pod: str
    text: str
    crash: Crash | None = None
    reason: str = ""

    def explained(self, last_line: str = "") -> Explanation:
        """The problem, with the last line that the crashed container wrote if it is known."""
        line = shorten(last_line)
        text = f"pod {self.pod}: {self.text}" + (f", its last line: {line}" if line else "")
        return Explanation(text, self.reason)


def pod_problem(pod: Obj) -> PodProblem | None:
    """The problem of a pod as read; None when it is healthy, or was deleted."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return None
    for container in _containers(status):
        problem = _crash(metadata, container) or _pull(metadata, container)
        if problem is not None:
            return problem
    found = health({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status})
    return None if found.status == "True" else PodProblem(metadata["name"], shorten(found.message))


def shorten(text: str) -> str:
    """One line of printable characters, truncated: it comes from a container or a registry."""
    line = one_line(text)
    return line if len(line) <= MAX_DETAIL_CHARACTERS else f"{line[: MAX_DETAIL_CHARACTERS - 1]}…"


def _containers(status: Obj) -> Iterator[Obj]:
    for field in ("initContainerStatuses", "containerStatuses"):
        yield from status.get(field) or ()


def _crash(metadata: Obj, container: Obj) -> PodProblem | None:
    """The problem of a container that ended with an error; also while it is started again and not ready yet."""
    if container.get("ready"):
        return None
    ended = (container.get("lastState") or {}).get("terminated") or (container.get("state") or {}).get("terminated")
    if not ended or not ended.get("exitCode"):
        return None
    restarts = container.get("restartCount", 0)
    crash = Crash(
        metadata["name"],
        metadata.get("namespace", ""),
        container["name"],
        restarts,
        ended.get("message") or "",
    )
    why = ended.get("reason")
    detail = f" ({why})" if why and why != "Error" else ""
    state = f"{_CRASH_BACK_OFF}: " if restarts else ""
    text = f"{state}container {container['name']} exited with {ended['exitCode']}{detail}"
    return PodProblem(metadata["name"], text, crash, _CRASH_BACK_OFF)


def _pull(metadata: Obj, container: Obj) -> PodProblem | None:
    waiting = (container.get("state") or {}).get("waiting") or {}
    if waiting.get("reason") not in (_PULL_ERROR, _PULL_BACK_OFF):
        return None
    message = waiting.get("message") or ""
    detail = shorten(message.partition(f"{_PULL_ERROR}: ")[2] or message)
    name = f"container {container['name']} cannot pull {container.get('image', 'its image')}"
    text = f"{_PULL_BACK_OFF}: {name}{f': {detail}' if detail else ''}"
    return PodProblem(metadata["name"], text, reason=_PULL_BACK_OFF)
