"""Rows of catalogd: the time from an applied Catalog to served content, its memory, and the time of a restart."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import ssl
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster
from devcluster.processes import age
from devcluster.suite import Suite
from olmkit.api.catalogs import KIND
from olmkit.runtime.client import Client
from tests.bench import catalogs, serving_rows
from tests.bench.catalogs import Pushed
from tests.bench.figures import Figure, in_units
from tests.bench.machine import MIB, PeakMemory

NAME = "bench"
RESOURCE = "catalog.catalogd.operatorframework.io"
POLL_SECONDS = 0.01
TIMEOUT_SECONDS = 600.0
SAMPLE_SECONDS = 0.05
"""Unpacking takes a second; it is not timed while its memory is sampled this often."""


def rows(cluster: Cluster, directory: Path, reference: float) -> Iterator[Figure]:
    """Requires the CRDs and RBAC on the cluster; starts two separate catalogds for each catalog."""
    for number, (kind, aim, pushed) in enumerate(_inputs(cluster, directory)):
        with _catalogd(cluster, f"catalogd-{number}") as suite:
            yield _time_figure(until_served(cluster, suite, pushed.ref), pushed, kind, aim, reference)
            if number == 0:
                yield from serving_rows.rows(suite, NAME)
            if kind == "JSON" or "objects" in kind:
                yield _restart_figure(suite, kind, pushed)
            cluster.run_kubectl("delete", RESOURCE, NAME)
        with _catalogd(cluster, f"catalogd-{number}-memory") as suite:
            yield _memory_figure(cluster, suite, pushed, kind)
            cluster.run_kubectl("delete", RESOURCE, NAME)


def _inputs(cluster: Cluster, directory: Path) -> Iterator[tuple[str, tuple[float, float], Pushed]]:
    """Description, aim (C, bytes) and image of each catalog; one at a time, because they are large."""
    with tempfile.TemporaryDirectory(dir=cluster.directory) as scratch:

        def pushed(name: str, packages: Iterator[tuple[str, bytes]]) -> Pushed:
            return catalogs.push(cluster.registry, f"bench/{name}", packages, Path(scratch))

        def path(number: int, name: str, kind: str) -> str:
            """Files are in an image in the order of their paths, as build tools write them."""
            return f"configs/{number:06}-{name}/catalog.{kind}"

        def files(packages: Iterator[tuple[str, list[catalogs.Blob]]]) -> Iterator[tuple[str, bytes]]:
            return (
                (path(number, name, "json"), catalogs.as_json(blobs)) for number, (name, blobs) in enumerate(packages)
            )

        json_aim, yaml_aim, objects_aim = (1.5, 67e6), (3.5, 74e6), (12, 1.05e9)
        yield "JSON", json_aim, pushed("json", files(catalogs.packages_of(directory)))
        yield "JSON", json_aim, pushed("json-2", files(catalogs.repeated(directory, 2)))
        documents = (
            (path(number, name, "yaml"), catalogs.as_yaml(blobs))
            for number, (name, blobs) in enumerate(catalogs.repeated(directory, 2))
        )
        yield "YAML", yaml_aim, pushed("yaml", documents)
        yield (
            "JSON with bundle objects",
            objects_aim,
            pushed("objects", files(catalogs.with_objects(directory, 1_050_000_000))),
        )


def _time_figure(seconds: float, pushed: Pushed, kind: str, aim: tuple[float, float], reference: float) -> Figure:
    units, of_bytes = aim
    scaled = seconds / pushed.bytes * of_bytes / reference
    return Figure(
        f"unpack to serving, {_size(pushed, kind)}",
        f"{in_units(seconds, reference)}; at {of_bytes / 1e6:.0f} MB {scaled:.1f} C",
        f"{units:g} C for {of_bytes / 1e6:.0f} MB",
    )


def _memory_figure(cluster: Cluster, suite: Suite, pushed: Pushed, kind: str) -> Figure:
    idle = suite.memory("catalogd")
    with PeakMemory([suite.pid("catalogd")], seconds=SAMPLE_SECONDS) as memory:
        until_served(cluster, suite, pushed.ref)
    return Figure(
        f"peak memory of catalogd meanwhile, including children, {_size(pushed, kind)}",
        f"{memory.peak / MIB:.0f} MiB (idle {idle / MIB:.0f} MiB)",
        "idle (at most 90 MB) + 80 MB",
    )


def _size(pushed: Pushed, kind: str) -> str:
    return f"{kind}, {pushed.bytes / 1e6:.0f} MB, {pushed.packages} packages"


@contextmanager
def _catalogd(cluster: Cluster, name: str) -> Iterator[Suite]:
    # The lease of a killed catalogd would delay the next one.
    suite = Suite(cluster, cluster.directory / name, {"catalogd": ["--no-leader-elect"]})
    suite.start("catalogd")
    try:
        yield suite
    finally:
        suite.stop("catalogd")


def until_served(cluster: Cluster, suite: Suite, image: str) -> float:
    """Seconds from the request that creates the Catalog to the first response with its content."""
    spec = {"source": {"type": "image", "image": {"ref": image, "pollInterval": "0s"}}}
    body = {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": NAME},
        "spec": spec,
    }
    tls = suite.tls_context()
    created_at = asyncio.run(_create_catalog(str(cluster.kubeconfig), body))
    return first_response(suite, tls) - created_at


async def _create_catalog(kubeconfig: str, body: dict[str, Any]) -> float:
    """Create the Catalog; returns the time (perf_counter) of the request, without the start of a kubectl."""
    async with await Client.connect(kubeconfig) as client:
        started = time.perf_counter()
        await client.create(KIND, body)
        return started


def _restart_figure(suite: Suite, kind: str, pushed: Pushed) -> Figure:
    """Kill and restart: from the start of the process. The content is verified, and nothing is pulled."""
    tls = suite.tls_context()
    suite.kill("catalogd")
    with ThreadPoolExecutor(1) as pool:
        ready = pool.submit(suite.start, "catalogd")
        responded = first_response(suite, tls)
        seconds = age(suite.pid("catalogd")) - (time.perf_counter() - responded)
        ready.result()
    what = f"restart to serving, content verified, {kind}, {pushed.bytes / 1e6:.0f} MB"
    return Figure(what, f"{seconds:.2f} s", "1 s")


def first_response(suite: Suite, tls: ssl.SSLContext) -> float:
    """The time (perf_counter) of the first response 200 for the content."""
    deadline = time.perf_counter() + TIMEOUT_SECONDS
    while time.perf_counter() < deadline:
        with contextlib.suppress(OSError, http.client.HTTPException):
            _await_content(suite.addresses["catalogd"].catalogs or "", tls, deadline)
            return time.perf_counter()
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"nothing was served within {TIMEOUT_SECONDS:.0f} s:\n{suite.log_tail('catalogd')}")


def _await_content(address: str, tls: ssl.SSLContext, deadline: float) -> None:
    """Send requests over one connection until the response is 200."""
    with contextlib.closing(http.client.HTTPSConnection(address, timeout=10, context=tls)) as connection:
        while time.perf_counter() < deadline:
            connection.request("HEAD", f"/catalogs/{NAME}/api/v1/all")
            response = connection.getresponse()
            response.read()
            if response.status == http.client.OK:
                return
            time.sleep(POLL_SECONDS)
