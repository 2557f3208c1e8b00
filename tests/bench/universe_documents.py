"""The universes of tests/bench/universes.py as catalog contents on disk: resolution documents as catalogd sends them.

Each package has one channel in which each version replaces the one before it, and owns one kind.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson

from operator_controller.catalog_cache.content_store import IDENTITY, write_content
from operator_controller.resolve.solver.solver_problem import Requirement
from tests.bench.universes import Table
from tests.bundle_properties import package_required

CATALOG = "catalog"


def write_table(table: Table, directory: Path, number: int) -> str:
    """Write the content with this number into the cache directory. Its digest."""
    digest = f"sha256:{number:064}"
    received = directory / "received"
    received.write_bytes(b"".join(_line(digest, package, versions) for package, versions in table.items()))
    content = directory / digest.replace(":", "-") / "content"
    content.mkdir(parents=True)
    write_content(received, IDENTITY, digest, content)
    received.unlink()
    return digest


def _line(digest: str, package: str, versions: list[list[Requirement]]) -> bytes:
    document = package_document(package, versions)
    own = f"sha256:{hashlib.sha256(orjson.dumps(document)).hexdigest()}"
    return orjson.dumps({**document, "digest": own, "catalogDigest": digest}, option=orjson.OPT_SORT_KEYS) + b"\n"


def package_document(package: str, versions: list[list[Requirement]]) -> dict[str, Any]:
    """The resolution document of a package; the version with index 7 is 1.7.0."""
    names = [f"{package}.v1.{index}.0" for index in range(len(versions))]
    kind = {"type": "olm.gvk", "value": {"group": f"{package}.example.com", "version": "v1", "kind": "Thing"}}
    entries = [
        {"name": name, "replaces": before, "skips": [], "skipRange": ""}
        for name, before in zip(names, ["", *names], strict=False)
    ]
    bundles = [
        {
            "name": name,
            "image": f"registry.example.com/{package}@sha256:{hashlib.sha256(name.encode()).hexdigest()}",
            "version": f"1.{index}.0",
            "mediaType": "registry+v1",
            "properties": [kind, *map(_property, required)],
        }
        for index, (name, required) in enumerate(zip(names, versions, strict=True))
    ]
    channels = [{"name": "stable", "entries": entries}]
    rest = {"package": package, "defaultChannel": "stable", "deprecations": []}
    return {**rest, "channels": channels, "bundles": bundles}


def _property(requirement: Requirement) -> dict[str, Any]:
    (versions,) = requirement.alternatives
    ((low, high),) = versions.intervals
    return package_required(versions.package, f">=1.{low}.0 <=1.{high}.0")
