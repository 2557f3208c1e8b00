"""Rows of catalogd: from an applied Catalog to content that is served, its memory, and requests a second."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster
from devcluster.suite import Suite
from tests.bench import corpus
from tests.bench.figures import Figure, in_units
from tests.bench.load import measure
from tests.bench.machine import MIB, Watch

NAME = "bench"


def rows(cluster: Cluster, folder: Path, reference: float) -> Iterator[Figure]:
    """Needs the CRDs and RBAC on the cluster; starts a catalogd of its own for each catalog."""
    for copies in (1, 2):
        catalog = corpus.repeated(folder, copies)
        image = corpus.push(cluster.registry, f"bench/catalog-{copies}", catalog)
        size = f"{catalog.bytes / 1e6:.0f} MB, {catalog.packages} packages"
        with _catalogd(cluster, f"catalogd-{copies}") as suite:
            idle = suite.memory("catalogd")
            with Watch([suite.pid("catalogd")]) as watch:
                seconds = _until_served(cluster, image)
            scaled = seconds / catalog.bytes * 67e6
            yield Figure(
                f"unpack to serving, JSON, {size}",
                f"{in_units(seconds, reference)}; at 67 MB {scaled / reference:.1f} C",
                "1.5 C for 67 MB",
            )
            yield Figure(
                f"peak memory of catalogd meanwhile, children included, {size}",
                f"{watch.peak / MIB:.0f} MiB (idle {idle / MIB:.0f} MiB)",
                "idle (at most 90 MB) + 80 MB",
            )
            if copies == 1:
                yield from _serving(cluster)
            cluster.kubectl("delete", "catalog.catalogd.operatorframework.io", NAME)


@contextmanager
def _catalogd(cluster: Cluster, name: str) -> Iterator[Suite]:
    suite = Suite(cluster, cluster.folder / name)
    suite.start("catalogd")
    try:
        yield suite
    finally:
        suite.stop("catalogd")


def _until_served(cluster: Cluster, image: str) -> float:
    body = {
        "apiVersion": "catalogd.operatorframework.io/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": NAME},
        "spec": {"source": {"type": "image", "image": {"ref": image, "pollInterval": "0s"}}},
    }
    started = time.perf_counter()
    cluster.kubectl("create", "-f", "-", input=json.dumps(body))
    cluster.kubectl(
        "wait", "--for=condition=Serving", "--timeout=300s", f"catalog.catalogd.operatorframework.io/{NAME}"
    )
    return time.perf_counter() - started


def _serving(cluster: Cluster) -> Iterator[Figure]:
    status = json.loads(cluster.kubectl("get", "catalog.catalogd.operatorframework.io", NAME, "-o", "json"))["status"]
    base = status["contentURL"].removesuffix("/all.json")
    bundle = _typical_bundle(base)
    package = bundle["package"]
    targets = (
        ("metas for one bundle", f"metas?package={package}&name={bundle['name']}", "2,400 requests/s with TLS"),
        ("metas for one package", f"metas?package={package}", "435 requests/s for 1.5 MB with TLS"),
        ("all, identity", "all", "17.6 requests/s for 67 MB with TLS (1.1 GB/s)"),
    )
    for name, path, aim in targets:
        rate = asyncio.run(measure(f"{base}/api/v1/{path}"))
        size = rate.bytes / max(rate.requests, 1e-9)
        yield Figure(
            f"{name} ({size / 1000:.0f} kB), plain HTTP, 8 connections",
            f"{rate.requests:.0f} requests/s, {rate.bytes / 1e6:.0f} MB/s",
            aim,
        )


def _typical_bundle(base: str) -> dict[str, Any]:
    """The bundle whose blob is nearest to 61 kB, the size of the peer's figure."""
    with urllib.request.urlopen(f"{base}/api/v1/metas?schema=olm.bundle") as answer:
        lines: list[bytes] = answer.read().splitlines()
    bundle: dict[str, Any] = json.loads(min(lines, key=lambda line: abs(len(line) - 61_000)))
    return bundle
