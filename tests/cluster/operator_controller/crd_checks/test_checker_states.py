"""The checker of definitions alone, with a real API server and a real catalogd: whom it wakes, and what it does not believe."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import orjson
import pytest
import yaml

from devcluster.cluster import Cluster
from olmkit.api import catalogs, customresourcedefinitions
from olmkit.api.meta import Object
from olmkit.errors import NotFound
from olmkit.runtime.backoff import Backoff
from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from operator_controller.catalog_cache.client import REQUEST_TIMEOUT, CatalogSession
from operator_controller.crd_checks import checker as module
from operator_controller.crd_checks.checker import CrdChecker
from operator_controller.crd_checks.findings import CrdCheckState, WaitingBundle
from tests.e2e.packages import definition, registry_bundle
from tests.integration.catalogd.bundle_summaries.test_summaries import Json, blob, pushed, summarizing
from tests.integration.catalogd.catalog_server import DIGEST
from tests.servers.local_registry import LocalRegistry

CATALOG = "c"
KIND = customresourcedefinitions.KIND


@dataclass
class Checks:
    """A checker beside informers of the cluster. `woken` has the names of Operators."""

    client: Client
    checker: CrdChecker
    package: str
    woken: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def bundle(self, image: str, name: str = "things.v1.0.0") -> WaitingBundle:
        return WaitingBundle(CATALOG, "things", name, image)

    def wake(self, operator: str) -> None:
        self.woken.append(operator)
        self.changed.set()

    async def state(self, operator: str, holds: Callable[[CrdCheckState], bool]) -> CrdCheckState:
        """The state of the Operator as soon as it is so."""
        async with asyncio.timeout(60):
            while (found := self.checker.state(operator)) is None or not holds(found):
                self.changed.clear()
                await self.changed.wait()
            return found

    async def serve(self, base: str) -> None:
        """Write the Catalog whose content is at this address."""
        source = {"type": "image", "image": {"ref": f"example.com/c@{DIGEST}"}}
        body: Object = {"apiVersion": catalogs.KIND.api_version, "kind": "Catalog", "metadata": {"name": CATALOG}}
        await self.client.apply(catalogs.KIND, {**body, "spec": {"source": source}}, "test")
        condition = {"type": "Serving", "status": "True", "reason": "Available", "message": ""}
        status = {
            "contentDigest": DIGEST,
            "contentURL": f"{base}/catalogs/{CATALOG}/all.json",
            "conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        }
        await self.client.apply_status(catalogs.KIND, {**body, "status": status}, "test")


@asynccontextmanager
async def checking(cluster: Cluster, package: str) -> AsyncIterator[Checks]:
    async with await Client.connect(str(cluster.kubeconfig)) as client:
        served = Informer(client, catalogs.KIND)
        definitions = Informer(client, KIND, transform=customresourcedefinitions.trim)
        session = CatalogSession(aiohttp.ClientSession(timeout=REQUEST_TIMEOUT))
        tasks = [asyncio.create_task(each.run()) for each in (served, definitions)]
        found = Checks(client, CrdChecker(session, client, served, definitions, lambda name: found.wake(name)), package)
        try:
            for each in (served, definitions):
                await each.synced.wait()
            yield found
        finally:
            await found.checker.close()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for kind, name in ((catalogs.KIND, CATALOG), (KIND, definition(package)["metadata"]["name"])):
                with suppress(NotFound):
                    await client.delete(kind, name)


@pytest.fixture
async def checks(definitions: Cluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Checks]:
    monkeypatch.setattr(module, "BACKOFF", Backoff(0.05, module.BACKOFF.cap))
    package = f"p{uuid.uuid4().hex[:8]}"
    async with checking(definitions, package) as found:
        await found.client.create(KIND, definition(package))
        async with asyncio.timeout(30):
            while found.checker._definitions.get(definition(package)["metadata"]["name"]) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        yield found


@pytest.fixture
def registry(definitions: Cluster, tmp_path: Path) -> LocalRegistry:
    conf = tmp_path / "registries.conf"
    conf.write_text(f'[[registry]]\nprefix = "{definitions.registry}"\ninsecure = true\n')
    return LocalRegistry(definitions.registry, conf)


def cluster_scoped(package: str) -> Json:
    """A definition that the API server does not accept over the one on the cluster."""
    found = definition(package)
    found["spec"]["scope"] = "Cluster"
    return found


async def test_an_image_is_believed_and_a_catalog_that_states_something_is_not(
    checks: Checks, registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie = orjson.dumps(definition(checks.package))
    files = registry_bundle(checks.package) | {
        "manifests/crd.yaml": yaml.safe_dump(cluster_scoped(checks.package)).encode()
    }
    image, absent = pushed(registry, f"checks/{checks.package}", files), f"{registry.address}/checks/none@{DIGEST}"
    blobs = blob(image, objects=[lie]), blob(absent, "things.v2.0.0", objects=[lie])
    async with summarizing(tmp_path / "store", registry, *blobs) as summarizer:
        await checks.serve(summarizer.site.base)
        checks.checker.expect("a", checks.bundle(image))
        found = await checks.state("a", lambda state: state.broken is not None)
        assert [each.first.rule for each in found.broken or ()] == ["scope-changed"]
        monkeypatch.setattr(module, "PENDING_ATTEMPTS", 3)
        checks.checker.expect("liar", checks.bundle(absent, "things.v2.0.0"))
        assert await checks.state("liar", lambda state: state.has_failed) == CrdCheckState(
            checks.bundle(absent, "things.v2.0.0"), has_failed=True
        )
        checks.checker.expect("b", checks.bundle(image))
        assert checks.woken == ["a", "liar", "b"], "a second Operator learns at once what is known"
        assert checks.checker.state("b") == found
        checks.checker.expect("b", None)
        assert checks.checker.state("b") is None
        assert checks.checker.state("a") == found


async def test_a_catalogd_that_is_away_for_a_moment_is_no_answer(
    checks: Checks, registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = pushed(registry, f"checks/{checks.package}", registry_bundle(checks.package))
    async with summarizing(tmp_path / "gone", registry, blob(image)) as gone:
        base = gone.site.base
    await checks.serve(base)
    checks.checker.expect("a", checks.bundle(image))
    await asyncio.sleep(0.3)  # some attempts
    assert (checks.checker.state("a"), checks.woken) == (CrdCheckState(checks.bundle(image)), [])
    async with summarizing(tmp_path / "store", registry, blob(image)) as summarizer:
        await checks.serve(summarizer.site.base)
        assert await checks.state("a", lambda state: state.broken == ()) == CrdCheckState(checks.bundle(image), ())
    assert checks.woken == ["a"]
