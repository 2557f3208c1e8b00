"""Chromium at a console in front of a real API server."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from console.login import AuthMode
from devcluster import chromium
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from olmkit.api.packages import CATALOG_LABEL, PACKAGE_LABEL
from tests.cluster.conftest import serve_definitions
from tests.conftest import running_cluster
from tests.console import Browser, running_console

playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed: `make setup` installs it")

Opened = Callable[..., AbstractAsyncContextManager[Any]]
PICTURES = os.environ.get("OLM_PICTURES", "")
"""The directory that pictures of the pages are written to."""
CATALOG = {
    "apiVersion": "catalogd.operatorframework.io/v1alpha1",
    "kind": "Catalog",
    "metadata": {"name": "shop"},
    "spec": {"priority": 7, "source": {"type": "image", "image": {"ref": "registry.example/shop:v1"}}},
}
TIME = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="session")
def chromium_program() -> Path:
    """Chromium; tests are skipped where it is not installed and cannot be."""
    try:
        return chromium.find_or_install(print)
    except DevclusterError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config, chromium_program: Path) -> Iterator[Cluster]:
    """A cluster with a Catalog that serves older content, packages, an Operator that waits, and one that is broken."""
    with running_cluster(pytestconfig) as running:
        serve_definitions(running)
        _fill(running)
        yield running


def _fill(cluster: Cluster) -> None:
    status = {
        "type": "Ready",
        "status": "True",
        "reason": "ServingOldContent",
        "message": "The tag has moved",
        "lastTransitionTime": TIME,
    }
    _apply(cluster, CATALOG, {"observedGeneration": 1, "conditions": [status], "packageCount": 30})
    for number in range(30):
        _apply(cluster, _package(f"package-{number:02}"))
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "UpgradeAvailable",
        "message": "2.0.0 waits",
        "lastTransitionTime": TIME,
    }
    installed = {"name": "waiting.v1.0.0", "version": "1.0.0", "catalog": "shop", "channel": "stable"}
    available = {"version": "2.0.0", "bundle": "b", "image": "i", "catalog": "shop", "channel": "stable"}
    waits = {"reason": "ApprovalRequired", "message": "It is the best of 2 versions."}
    _operator(cluster, "waiting", {"installed": installed, "available": {**available, **waits}, "conditions": [ready]})
    broken = {
        **ready,
        "status": "False",
        "reason": "Unhealthy",
        "message": "Deployment broken: 0 of 1 replicas are available",
    }
    _operator(cluster, "broken", {"installed": installed, "conditions": [broken]})


def _package(name: str) -> dict[str, Any]:
    labels = {CATALOG_LABEL: "shop", PACKAGE_LABEL: name}
    entries = [{"name": f"{name}.v1.0.0"}, {"name": f"{name}.v1.1.0", "replaces": f"{name}.v1.0.0"}]
    spec = {
        "catalog": {"name": "shop"},
        "packageName": name,
        "description": f"# {name}\n\nIt keeps things, and [documents](https://docs.example/x) how.",
        "defaultChannel": "stable",
        "channels": [{"name": "stable", "entries": entries}],
    }
    body = {"apiVersion": "catalogd.operatorframework.io/v1alpha1", "kind": "Package"}
    return {**body, "metadata": {"name": f"shop-{name}", "labels": labels}, "spec": spec}


def _operator(cluster: Cluster, name: str, status: dict[str, Any]) -> None:
    body = {"apiVersion": "operators.operatorframework.io/v1alpha1", "kind": "Operator", "metadata": {"name": name}}
    spec = {"packageName": "package-00", "approval": "Manual"}
    _apply(
        cluster,
        {**body, "spec": spec},
        {"observedGeneration": 1, "resolution": "2.0.0 is the best of 2 versions.", **status},
    )


def _apply(cluster: Cluster, body: dict[str, Any], status: dict[str, Any] | None = None) -> None:
    cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    if status is not None:
        resource = f"{body['kind'].lower()}.{body['apiVersion'].partition('/')[0]}"
        patch = json.dumps({"status": status})
        cluster.kubectl(
            "patch", resource, body["metadata"]["name"], "--subresource=status", "--type=merge", "-p", patch
        )


@pytest.fixture
async def console(cluster: Cluster) -> AsyncIterator[Browser]:
    """A console that `olm console` would start."""
    async with running_console(str(cluster.kubeconfig), AuthMode.KUBECONFIG) as found:
        yield found


@pytest.fixture
async def opened(console: Browser, chromium_program: Path) -> AsyncIterator[Opened]:
    """Opens a page in Chromium, as somebody who is logged in; what the browser complains about fails the test."""
    async with playwright.async_playwright() as driver:
        program = await driver.chromium.launch(executable_path=str(chromium_program), args=["--no-sandbox"])

        @asynccontextmanager
        async def open_page(path: str, **options: Any) -> AsyncIterator[Any]:
            context = await program.new_context(base_url=console.origin, **options)
            page = await context.new_page()
            problems: list[str] = []
            page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            await page.goto(f"/login/{console.console.logins.links.make()}")
            await page.goto(path)
            yield page
            assert problems == []
            await context.close()

        yield open_page
        await program.close()


async def picture(page: Any, name: str) -> None:
    """Keep a picture of the page, if pictures are wanted."""
    if PICTURES:
        await page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)
