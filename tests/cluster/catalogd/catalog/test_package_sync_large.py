"""Package objects of the maximum size for etcd are written whole; larger ones are written without some fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from catalogd.ingest.package_objects import MAX_SPEC_BYTES
from tests.cluster.catalogd.conftest import World, lines, package

ROOM = 2_000
"""More bytes than the rest of a spec has."""


def with_icon(name: str, size: int) -> list[dict[str, Any]]:
    return package(name, "1.0.0", icon={"base64data": "A" * (size // 4 * 4), "mediatype": "image/png"})


async def test_packages_of_the_maximum_size_are_written_whole_and_larger_ones_report_the_fields_they_lack(
    world: World, catalogd: Path
) -> None:
    edges = [{"name": f"many.v{number}.0.0", "skips": ["x" * 1000]} for number in range(MAX_SPEC_BYTES // 1000)]
    many = package("many", "1.0.0")
    many[1]["entries"] = edges
    await world.push(
        lines(
            with_icon("fits", MAX_SPEC_BYTES - ROOM),
            with_icon("icon", MAX_SPEC_BYTES),
            # Go writes each of them as six bytes: no object that passes through the API server is larger.
            package("escaped", "1.0.0", description="<" * ((MAX_SPEC_BYTES - ROOM) // 6)),
            package("too-escaped", "1.0.0", description="<" * (MAX_SPEC_BYTES // 6)),
            many,
        )
    )
    await world.catalog(world.ref())
    found = await world.ready()
    specs = {each["spec"]["packageName"]: each["spec"] for each in world.packages().values()}
    whole = {name: _raw(world, name) for name in ("fits", "icon", "escaped", "too-escaped", "many")}
    assert specs.keys() == whole.keys()
    assert len(whole["fits"]["icon"]["data"]) > MAX_SPEC_BYTES - ROOM - 4
    assert "icon" not in whole["icon"]
    assert len(whole["escaped"]["description"]) == (MAX_SPEC_BYTES - ROOM) // 6
    assert (whole["too-escaped"]["description"], whole["too-escaped"]["channels"][0]["name"]) == ("", "stable")
    assert whole["many"]["channels"] == []
    text = json.dumps(found["status"])
    for name, what in (("icon", "its icon"), ("too-escaped", "its description"), ("many", "its channels")):
        assert f'the Package of \\"{name}\\" is too large and does without {what}' in text


def _raw(world: World, package: str) -> dict[str, Any]:
    obj = json.loads(world.cluster.kubectl("get", "package", f"{world.name}-{package}", "-o", "json"))
    spec: dict[str, Any] = obj["spec"]
    return spec
