"""Rows of the web console: its start, its pages for one visitor and their size, live updates with fifty tabs, and its memory.

The console is a process of its own, over TLS. Its CPU is what the kernel counts for it, over several requests.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import statistics
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.assets import STATIC
from console.graph_layout import layout
from console.graph_svg import svg
from devcluster.cluster import Cluster
from devcluster.processes import process_tree_cpu, process_tree_memory
from devcluster.suite import Suite
from olmctl.authoring import graph_drawing
from olmctl.questions.graph import drawing_input
from olmkit.api import operators
from olmkit.runtime.client import Client
from tests.bench import catalog_rows, catalogs
from tests.bench.figures import Figure
from tests.bench.machine import MIB
from tests.console import RemoteBrowser, state_in
from tests.console_process import ConsoleProcess, token_of_administrator

REQUESTS = 20
OPERATORS = 1000
TABS, TABS_OF_SESSION = 50, 4
CHANGES = 40
SESSIONS = 200
LARGE = 10_000
TROUBLED = 5
"""Each fifth Operator needs attention."""
KB = 1000
TIMEOUT_SECONDS, ARRIVAL_SECONDS = 300.0, 30.0
PAUSE_SECONDS, SETTLE_SECONDS = 0.05, 5.0
PAGE = "/operators"
GRAPH_PACKAGE = "opentelemetry-operator"
_NAME = "bench"


def rows(cluster: Cluster, directory: Path) -> Iterator[Figure]:
    """Requires the CRDs and RBAC on the cluster, and no Catalogs and Operators."""
    yield from _asset_figures()
    token = token_of_administrator(cluster, "console-bench")
    with Suite(cluster, cluster.directory / "catalogd-console", {"catalogd": ["--no-leader-elect"]}) as suite:
        suite.start("catalogd")
        _serve(cluster, suite, catalogs.repeated(directory, 1))
        yield _graph_figure(suite)
        with ConsoleProcess(cluster, suite) as console:
            yield Figure("start of the console, until it is ready", f"{console.seconds:.2f} s")
            yield from asyncio.run(_catalog_figures(console, token))
        _serve(cluster, suite, catalogs.repeated(directory, 2))
        with ConsoleProcess(cluster, suite) as console:
            yield from asyncio.run(_all_cards_figure(console, token))
        asyncio.run(_create_operators(str(cluster.kubeconfig)))
        with ConsoleProcess(cluster, suite) as console:
            yield from asyncio.run(_operator_figures(console, token))
        with ConsoleProcess(cluster, suite) as console:
            yield from asyncio.run(_live_figures(console, token, str(cluster.kubeconfig)))
        with ConsoleProcess(cluster, suite) as console:
            yield from asyncio.run(_memory_figures(console, token))
        cluster.kubectl("delete", "operators.operators.operatorframework.io", "--all", "--wait=false")
        _serve(cluster, suite, _made_up(LARGE))
        with ConsoleProcess(cluster, suite) as console:
            yield from asyncio.run(_large_figure(console, token))


def _asset_figures() -> Iterator[Figure]:
    """The bytes that a browser loads once and keeps for a year."""
    own, vendor = sorted(STATIC.glob("*.js")), STATIC / "vendor" / "idiomorph" / "idiomorph.js"
    parts = ([STATIC / "console.css"], own, [vendor])
    sizes = [sum(len(gzip.compress(each.read_bytes(), 9)) for each in files) / KB for files in parts]
    yield Figure(
        "CSS; own scripts; idiomorph, gzip", "; ".join(f"{each:.1f} kB" for each in sizes), "8 kB; 15 kB; 4 kB"
    )


def _graph_figure(suite: Suite) -> Figure:
    """The drawing of the package with the most versions, from its resolution document."""
    url = f"https://{suite.addresses['catalogd'].catalogs}/catalogs/{_NAME}/api/v1/resolution?package={GRAPH_PACKAGE}"
    with urllib.request.urlopen(url, context=suite.tls_context()) as response:
        parts = drawing_input(json.load(response), ())
    seconds = []
    for _ in range(REQUESTS):
        started = time.process_time()
        drawing = graph_drawing.draw(GRAPH_PACKAGE, parts)
        drawn = layout(drawing, parts.versions, whole=True)
        text = svg(drawn)
        seconds.append(time.process_time() - started)
    size = len(gzip.compress(text.encode()))
    return Figure(
        f"upgrade graph of {len(drawn.rows)} versions: layout and SVG",
        f"{statistics.median(seconds) * 1000:.1f} ms; {size / KB:.1f} kB gzip",
        "10 ms; 12 kB",
    )


async def _seconds(browser: RemoteBrowser, path: str) -> tuple[float, float, int]:
    """Seconds until the head of the response of a page; until its end; and its bytes, compressed."""
    started = time.perf_counter()
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", "Accept-Encoding": "gzip"}
    async with browser.http.get(browser.origin + path, headers=headers, auto_decompress=False) as response:
        first = time.perf_counter() - started
        raw = await response.read()
        assert (response.status, response.headers["Content-Encoding"]) == (200, "gzip"), path
        return first, time.perf_counter() - started, len(raw)


@dataclass(frozen=True)
class _Page:
    """One page, requested again and again by one visitor: seconds to the first byte of the first request, of the others (median
    and worst), CPU of the console for each, and the compressed bytes."""

    cold: float
    median: float
    worst: float
    cpu: float
    size: int

    @property
    def text(self) -> str:
        """As a result."""
        first, median, worst = (f"{each * 1000:.0f} ms" for each in (self.cold, self.median, self.worst))
        return f"{first}, then median {median}, worst {worst}; {self.cpu * 1000:.0f} ms of CPU; {self.size / KB:.1f} kB gzip"


async def _page(console: ConsoleProcess, browser: RemoteBrowser, path: str) -> _Page:
    cold, _, size = await _seconds(browser, path)
    before, taken = process_tree_cpu(console.process), []
    for _ in range(REQUESTS):
        taken.append((await _seconds(browser, path))[0])
        await asyncio.sleep(PAUSE_SECONDS)
    cpu = (process_tree_cpu(console.process) - before) / REQUESTS
    return _Page(cold, statistics.median(taken), max(taken), cpu, size)


def _memory(console: ConsoleProcess) -> float:
    return process_tree_memory(console.process) / MIB


async def _catalog_figures(console: ConsoleProcess, token: str) -> Iterator[Figure]:
    idle = _memory(console)
    found = [Figure("memory of the console, idle, without a session", f"{idle:.0f} MiB", "80 MB")]
    async with console.visitors(token) as (browser,):
        for what, path in (
            ("catalog page, 166 packages, 48 cards", "/catalog"),
            (f"page of the package {GRAPH_PACKAGE}", f"/catalog/{_NAME}/{GRAPH_PACKAGE}"),
        ):
            found.append(Figure(f"{what}: first byte", (await _page(console, browser, path)).text))
    return iter(found)


async def _all_cards_figure(console: ConsoleProcess, token: str) -> Iterator[Figure]:
    async with console.visitors(token) as (browser,):
        page = await _page(console, browser, "/catalog?page=all")
    return iter([Figure("catalog page, 332 packages, all cards: first byte", page.text, "0.1 s of CPU; 60 kB gzip")])


async def _operator_figures(console: ConsoleProcess, token: str) -> Iterator[Figure]:
    async with console.visitors(token) as (browser,):
        hundred = await _page(console, browser, "/operators")
        whole = await _page(console, browser, "/operators?page=all")
    return iter(
        [
            Figure(f"Operators page, 100 of {OPERATORS:,}: first byte", hundred.text),
            Figure(f"Operators page, all {OPERATORS:,}: first byte", whole.text, "0.25 s of CPU; 45 kB gzip"),
        ]
    )


async def _live_figures(console: ConsoleProcess, token: str, kubeconfig: str) -> Iterator[Figure]:
    """From the request that changes an Operator to the message that each tab has received."""
    found = []
    for what, sessions in (("of 13 sessions", -(-TABS // TABS_OF_SESSION)), ("of one session", 1)):
        tabs = min(TABS, sessions * TABS_OF_SESSION)
        taken, sizes = await _updates(console, [token] * sessions, tabs, kubeconfig)
        ordered = sorted(each * 1000 for each in taken)
        result = f"median {statistics.median(ordered):.0f} ms, p99 {ordered[int(len(ordered) * 0.99)]:.0f} ms; {max(sizes)} bytes"
        aim = "p99 200 ms; one row, 1 kB"
        found.append(Figure(f"live update of one of {OPERATORS:,} Operators, {tabs} tabs {what}", result, aim))
    return iter(found)


async def _updates(
    console: ConsoleProcess, tokens: Sequence[str], tabs: int, kubeconfig: str
) -> tuple[list[float], list[int]]:
    """Seconds of each change to each tab, and the bytes of its messages."""
    taken: list[float] = []
    sizes: list[int] = []
    version = f"{tabs}.0"
    async with AsyncExitStack() as stack:
        visitors = await stack.enter_async_context(console.visitors(*tokens))
        client = await stack.enter_async_context(await Client.connect(kubeconfig))
        streams = []
        for number in range(tabs):
            browser = visitors[number // TABS_OF_SESSION]
            state = state_in((await browser.get(PAGE)).text)
            streams.append(await stack.enter_async_context(browser.live(PAGE, state)))
            await anext(streams[-1])
        for number in range(CHANGES):
            started = time.perf_counter()
            arriving = [asyncio.ensure_future(_arrival(each, f"{version}.{number}")) for each in streams]
            status = {"status": {"available": {"version": f"{version}.{number}"}}}
            await _patch_status(client, _operator_name(number), status)
            for at, size in await asyncio.gather(*arriving):
                taken.append(at - started)
                sizes.append(size)
            await asyncio.sleep(PAUSE_SECONDS)
    return taken, sizes


async def _arrival(events: AsyncIterator[tuple[str, Any]], text: str) -> tuple[float, int]:
    """The time at which a message with the text arrives, and its bytes."""
    async with asyncio.timeout(ARRIVAL_SECONDS):
        async for name, data in events:
            written = json.dumps(data)
            if name == "parts" and text in written:
                return time.perf_counter(), len(written)
    raise AssertionError("the stream has ended")


async def _memory_figures(console: ConsoleProcess, token: str) -> Iterator[Figure]:
    """Sessions that each have a tab on the page of the Operators."""
    found = []
    async with console.visitors(*[token] * SESSIONS) as visitors, AsyncExitStack() as stack:
        await _seconds(visitors[0], PAGE)  # what all sessions share
        await asyncio.sleep(SETTLE_SECONDS)
        before, idle = 0, _memory(console)
        for count in (10, SESSIONS):
            for browser in visitors[before:count]:
                events = await stack.enter_async_context(browser.live(PAGE))
                await anext(events)
            before = count
            await asyncio.sleep(SETTLE_SECONDS)
            memory = _memory(console)
            what = f"memory of the console with {count} sessions that follow {OPERATORS:,} Operators"
            result = f"{memory:.0f} MiB, {(memory - idle) / count:.2f} MiB each"
            found.append(Figure(what, result, "80 MB + 1.5 MB each"))
    return iter(found)


async def _large_figure(console: ConsoleProcess, token: str) -> Iterator[Figure]:
    async with console.visitors(token) as (browser,):
        page = await _page(console, browser, "/catalog")
    memory = f"{_memory(console):.0f} MiB"
    return iter([Figure(f"catalog page, {LARGE:,} packages, 48 cards: first byte", f"{page.text}; then {memory}")])


def _made_up(packages: int) -> Iterator[tuple[str, list[catalogs.Blob]]]:
    """Packages of one version each."""
    for number in range(packages):
        name = f"package-{number:05}"
        version = f"{name}.v1.0.0"
        described = {"displayName": f"Package {number}", "provider": {"name": f"Provider {number % 50}"}}
        properties = [
            {"type": "olm.package", "value": {"packageName": name, "version": "1.0.0"}},
            {"type": "olm.csv.metadata", "value": {**described, "description": "It keeps things. " * 20}},
        ]
        bundle = {"schema": "olm.bundle", "package": name, "name": version, "image": f"registry.example.com/{name}:v1"}
        yield (
            name,
            [
                {"schema": "olm.package", "name": name, "defaultChannel": "stable"},
                {"schema": "olm.channel", "package": name, "name": "stable", "entries": [{"name": version}]},
                {**bundle, "properties": properties},
            ],
        )


def _serve(cluster: Cluster, suite: Suite, packages: Iterable[tuple[str, list[catalogs.Blob]]]) -> None:
    """Have catalogd serve these packages and nothing else; return when all have objects."""
    cluster.kubectl("delete", catalog_rows.RESOURCE, "--all")
    files = (
        (f"configs/{number:06}-{name}/catalog.json", catalogs.as_json(blobs))
        for number, (name, blobs) in enumerate(packages)
    )
    with tempfile.TemporaryDirectory(dir=cluster.directory) as scratch:
        pushed = catalogs.push(cluster.registry, "bench/console", files, Path(scratch))
    catalog_rows.until_served(cluster, suite, pushed.ref)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while cluster.kubectl("get", "packages", "-o", "name").count("\n") < pushed.packages:
        assert time.monotonic() < deadline, "not all packages have objects"
        time.sleep(0.5)


def _operator_name(number: int) -> str:
    return f"console-{number:04}"


async def _create_operators(kubeconfig: str) -> None:
    """Operators that are installed, in all states, from the packages of the catalog; no controller manages them."""
    async with await Client.connect(kubeconfig) as client:
        for start in range(0, OPERATORS, 20):
            await asyncio.gather(*(_create_operator(client, number) for number in range(start, start + 20)))


async def _create_operator(client: Client, number: int) -> None:
    name = _operator_name(number)
    body = {"apiVersion": operators.KIND.api_version, "kind": operators.KIND.kind, "metadata": {"name": name}}
    await client.create(operators.KIND, {**body, "spec": {"packageName": f"package-{number:04}", "approval": "Manual"}})
    ready = {
        "type": "Ready",
        "status": "True" if number % TROUBLED else "False",
        "reason": "UpgradeAvailable" if number % TROUBLED else "Unhealthy",
        "message": "2.0.0 waits" if number % TROUBLED else "Deployment broken: 0 of 1 replicas are available",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    installed = {"name": f"{name}.v1.0.0", "version": "1.0.0", "catalog": _NAME, "channel": "stable"}
    available = {
        **{"version": "2.0.0", "bundle": f"{name}.v2.0.0", "image": "i", "catalog": _NAME, "channel": "stable"},
        **{"reason": "ApprovalRequired", "message": "It is the best of 2 versions."},
    }
    status = {"observedGeneration": 1, "resolution": "2.0.0 is the best of 2 versions.", "installed": installed}
    await _patch_status(client, name, {"status": {**status, "available": available, "conditions": [ready]}})


async def _patch_status(client: Client, name: str, body: dict[str, Any]) -> None:
    path = f"{operators.KIND.path(None, name)}/status"
    await client.request("PATCH", path, body=body, content_type="application/merge-patch+json")
