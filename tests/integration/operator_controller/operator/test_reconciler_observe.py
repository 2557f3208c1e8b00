"""The work of the event loop until an Operator is resolved: real HTTP on loopback, real files, no API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aiohttp import web

from tests.counting import lines_counted
from tests.integration.operator_controller.catalog_cache.test_client import (
    FIRST,
    catalog,
    response,
    serving,
    with_digest,
)
from tests.integration.operator_controller.resolution.running import running


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


async def lines_of_the_event_loop(size: int, directory: Path) -> list[int]:
    """Executed until a first Operator is answered, by a pass over it, and until it is answered after a restart."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return response(FIRST, document(size))

    executed: list[int] = []
    async with serving() as server:
        server.answer = answer
        for passes in (2, 1):
            async with running(directory) as cluster:
                cluster.add_catalog(catalog(server.address))
                cluster.add_operator("alpha")
                for _ in range(passes):
                    with lines_counted() as lines:
                        found = (await cluster.answered("alpha")).answer
                    executed.append(lines.executed)
                    assert found is not None
                    assert found.bundle is not None
                    assert found.bundle.version == f"1.{size - 1}.0"
    return executed


async def test_a_large_package_is_parsed_and_resolved_outside_the_event_loop(tmp_path: Path) -> None:
    await lines_of_the_event_loop(1, tmp_path / "first")  # imports, and values that are cached for good
    small = await lines_of_the_event_loop(50, tmp_path / "small")
    large = await lines_of_the_event_loop(500, tmp_path / "large")
    for few, many in zip(small, large, strict=True):
        assert many < few + 200, (small, large)
