"""The jobs of test_in_jobs.py and test_opening.py: pull an image into a store, open any source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from olmkit.jobs import Parse
from olmkit.sources.access import Access
from olmkit.sources.oci import image
from olmkit.sources.open import open_source
from olmkit.sources.source import from_json
from olmkit.sources.tree import BUNDLE_LIMITS, CATALOG_LIMITS
from olmkit.sources.unpack import Fetched, unpack
from olmkit.store.store import Store

Progress = Callable[[str], None]


async def pull(arguments: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Publish the files of `ref` in the store at `root`, by the `access`."""
    registries = Access.from_json(arguments["access"]).registries()
    store = Store(Path(arguments["root"]))
    resolved = await image.resolve(arguments["ref"], registries)
    with store.publish(resolved.digest) as staging:
        pulled = await image.pull(resolved.ref_by_digest, staging, registries, limits=BUNDLE_LIMITS, progress=progress)
    return {"ref": pulled.ref_by_digest, "digest": pulled.digest, "files": pulled.files}


async def open_and_unpack(arguments: dict[str, Any], progress: Progress, parse: Parse) -> dict[str, Any]:
    """Open any source and have it unpacked by the process that parses: the job of test_opening.py."""
    source, access, into = (
        from_json(arguments["source"]),
        Access.from_json(arguments["access"]),
        Path(arguments["into"]),
    )
    async with open_source(source, access, scratch=into) as opened:
        fetched = await opened.fetch(into, progress=progress)
        facts = {"facts": fetched.facts, "into": str(into)}
        return {"ref": opened.ref, **await parse(f"{__name__}:unpack_apart", facts, fetched.files, into, progress)}


def unpack_apart(arguments: dict[str, Any], files: Sequence[IO[bytes]], progress: Progress) -> dict[str, Any]:
    """The other half."""
    into = Path(arguments["into"])
    root = unpack(Fetched(arguments["facts"], tuple(files)), into, CATALOG_LIMITS, progress)
    return {"files": [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]}
