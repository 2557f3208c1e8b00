"""The work of the event loop while an Operator is observed: real HTTP on loopback, real files, no API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aiohttp import web

from olmkit.runtime.client import Client
from olmkit.runtime.informer import Informer
from operator_controller.catalog_client.client import CatalogClient
from operator_controller.operator.informers import Informers
from operator_controller.resolve.resolution import Chosen
from operator_controller.setup import make_informers, make_reconciler
from tests.counting import lines_counted
from tests.integration.operator_controller.catalog_client.test_client import (
    FIRST,
    catalog,
    response,
    serving,
    with_digest,
)


def document(size: int) -> dict[str, Any]:
    """A chain of versions 1.0.0, 1.1.0, … with a skipRange each."""
    names = [f"p.v1.{number}.0" for number in range(size)]
    entries = [
        {"name": name, "replaces": names[number - 1] if number else "", "skipRange": f">=1.0.0 <1.{number}.0"}
        for number, name in enumerate(names)
    ]
    rest = {
        "package": "p",
        "defaultChannel": "a",
        "channels": [{"name": "a", "entries": entries}],
        "bundles": [{"name": name, "image": f"r/{name}", "version": name.removeprefix("p.v")} for name in names],
    }
    return with_digest(FIRST, rest)


def informers_with(catalog_object: dict[str, Any]) -> Informers:
    """Informers with one Catalog and one Operator that requests its package."""
    client = Client()
    known = make_informers(lambda kind: Informer(client, kind))
    metadata = {"name": "alpha", "uid": "u", "resourceVersion": "1", "generation": 1}
    known.operators.record_write({"metadata": metadata, "spec": {"packageName": "p"}})
    known.catalogs.record_write({**catalog_object, "metadata": {**catalog_object["metadata"], "resourceVersion": "1"}})
    return known


async def lines_of_the_event_loop(size: int, folder: Path) -> list[int]:
    """Executed in a first pass, in one with cached content, and in one after a restart."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return response(FIRST, document(size))

    executed: list[int] = []
    async with serving() as server:
        server.answer = answer
        known = informers_with(catalog(server.address))
        for passes in (2, 1):
            catalog_client = await CatalogClient.connect(folder)
            reconciler = make_reconciler(Client(), known, catalog_client)
            for _ in range(passes):
                with lines_counted() as lines:
                    world = await reconciler.observe("alpha")
                executed.append(lines.executed)
                assert world is not None
                assert world.resolution is not None
                assert isinstance(world.resolution.resolution.outcome, Chosen)
                assert str(world.resolution.resolution.outcome.candidate.version) == f"1.{size - 1}.0"
            await catalog_client.close()
    return executed


async def test_a_large_package_is_parsed_and_resolved_outside_the_event_loop(tmp_path: Path) -> None:
    await lines_of_the_event_loop(1, tmp_path / "first")  # imports, and values that are cached for good
    small = await lines_of_the_event_loop(50, tmp_path / "small")
    large = await lines_of_the_event_loop(500, tmp_path / "large")
    for few, many in zip(small, large, strict=True):
        assert many < few + 200, (small, large)
