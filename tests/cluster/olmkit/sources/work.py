"""The job of test_in_jobs.py: pull an image into a store, as catalogd and rukpak do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from olmkit.sources import image
from olmkit.sources.registries import Registries
from olmkit.store import Store


async def pull(arguments: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Publish the files of `ref` in the store at `root`."""
    registries = Registries.load(Path(arguments["registries"]))
    store = Store(Path(arguments["root"]))
    resolved = await image.resolve(arguments["ref"], registries)
    with store.publish(resolved.digest) as staging:
        pulled = await image.pull(resolved.ref_by_digest, staging, registries, limits=image.BUNDLE, progress=progress)
    return {"ref": pulled.ref_by_digest, "digest": pulled.digest, "files": pulled.files}
