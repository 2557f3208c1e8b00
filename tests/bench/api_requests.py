"""What work costs the API server: requests by kind, and CPU."""

from __future__ import annotations

import re
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from devcluster.cluster import Cluster
from devcluster.processes import process_tree_cpu
from devcluster.suite import COMPONENTS, Suite

_LINE = re.compile(r"^(\w+)\{(.*?)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_NOT_COUNTED = ("WATCH", "PUT")
"""Watches last, and PUTs are renewals of leases."""
_WRITES = ("POST", "PATCH", "DELETE")
_REVIEWS = ("selfsubjectaccessreviews", "selfsubjectreviews")


@dataclass(frozen=True)
class Work:
    """What was done between two moments. The first two are of the three controllers, without watches and renewals of leases."""

    requests: float
    writes: float
    dry_runs: float
    """Of all clients; only rukpak sends any."""
    reviews: float
    """Questions of all clients about their names and their rights, which are POSTs that write nothing."""
    events: float
    """Events that were created or counted, by all clients."""
    statuses: float
    """Statuses of the kinds of the suite."""
    cpu: float
    """Seconds of CPU of the API server."""

    def __sub__(self, before: Work) -> Work:
        """What was done since then."""
        return Work(*(now - then for now, then in zip(vars(self).values(), vars(before).values(), strict=True)))


def api_server_cpu(cluster: Cluster) -> float:
    """Seconds of CPU of the API server of a cluster of devcluster."""
    return process_tree_cpu(cluster.state.components["kube-apiserver"])


def metrics(suite: Suite, name: str) -> str:
    """The metrics of a controller."""
    with urllib.request.urlopen(f"http://{suite.addresses[name].metrics}/metrics") as response:
        text: str = response.read().decode()
    return text


def work(cluster: Cluster, suite: Suite, *names: str) -> Work:
    """What has been done since the processes (default: all three) were started."""
    sent = Counter[str]()
    for name in names or COMPONENTS:
        for labels, value in _samples(metrics(suite, name), "rest_client_request_duration_seconds_count"):
            sent[labels["verb"]] += int(value)
    served = list(_samples(cluster.run_kubectl("get", "--raw", "/metrics"), "apiserver_request_total"))
    return Work(
        requests=sum(count for verb, count in sent.items() if verb not in _NOT_COUNTED),
        writes=sum(sent[verb] for verb in _WRITES),
        dry_runs=sum(value for labels, value in served if labels["dry_run"]),
        reviews=sum(value for labels, value in served if labels["resource"] in _REVIEWS),
        events=sum(
            value
            for labels, value in served
            if labels["resource"] == "events" and labels["verb"] in (*_WRITES, "APPLY")
        ),
        statuses=sum(
            value for labels, value in served if labels["subresource"] == "status" and _is_of_suite(labels["group"])
        ),
        cpu=api_server_cpu(cluster),
    )


def _is_of_suite(group: str) -> bool:
    return group in ("catalogd.operatorframework.io", "core.rukpak.io", "operators.operatorframework.io")


def _samples(text: str, metric: str) -> Iterator[tuple[dict[str, str], float]]:
    for name, labels, value in _LINE.findall(text):
        if name == metric:
            yield dict(_LABEL.findall(labels)), float(value)
