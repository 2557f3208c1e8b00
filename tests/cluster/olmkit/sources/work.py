"""The jobs of test_in_jobs.py and test_opening.py: pull an image into a store, open any source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from olmkit.sources import image
from olmkit.sources.access import Access
from olmkit.sources.opening import open_source
from olmkit.sources.source import from_json
from olmkit.store import Store


async def pull(arguments: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Publish the files of `ref` in the store at `root`, by the `access`."""
    registries = Access.from_json(arguments["access"]).registries()
    store = Store(Path(arguments["root"]))
    resolved = await image.resolve(arguments["ref"], registries)
    with store.publish(resolved.digest) as staging:
        pulled = await image.pull(resolved.ref_by_digest, staging, registries, limits=image.BUNDLE, progress=progress)
    return {"ref": pulled.ref_by_digest, "digest": pulled.digest, "files": pulled.files}


async def open_and_unpack(arguments: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Open any source and unpack it: the job of test_opening.py."""
    source, access = from_json(arguments["source"]), Access.from_json(arguments["access"])
    async with open_source(source, access, scratch=Path(arguments["into"])) as opened:
        root = await opened.unpack(Path(arguments["into"]), progress=progress)
    return {"ref": opened.ref, "files": [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]}
