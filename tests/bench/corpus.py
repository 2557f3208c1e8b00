"""What the rows measure on: the real catalogs and bundles, and the same catalog repeated under other names.

Used by the rows only. Never asks for more than the corpus that is there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from devcluster import images


@dataclass(frozen=True)
class Repeated:
    """A catalog of `copies` times the corpus: one file of blobs per copy and package, and how much that is."""

    files: dict[str, bytes]
    bytes: int
    packages: int


def repeated(folder: Path, copies: int) -> Repeated:
    """The corpus' catalog `copies` times, each copy's packages under other names."""
    files: dict[str, bytes] = {}
    for source in sorted((folder / "catalog").glob("*/catalog.json")):
        blobs = [json.loads(line) for line in source.read_bytes().splitlines() if line.strip()]
        for copy in range(copies):
            suffix = f"-copy{copy}" if copy else ""
            lines = [json.dumps(_renamed(blob, suffix), separators=(",", ":")) for blob in blobs]
            files[f"configs/{source.parent.name}{suffix}/catalog.json"] = ("\n".join(lines) + "\n").encode()
    return Repeated(files, sum(len(content) for content in files.values()), len(files))


def _renamed(blob: dict[str, object], suffix: str) -> dict[str, object]:
    """The blob as part of a package of another name; bundles and channels keep theirs."""
    if not suffix:
        return blob
    key = "name" if blob["schema"] == "olm.package" else "package"
    renamed = {**blob, key: f"{blob[key]}{suffix}"}
    properties = renamed.get("properties")
    if isinstance(properties, list):
        renamed["properties"] = [
            {**entry, "value": {**entry["value"], "packageName": f"{entry['value']['packageName']}{suffix}"}}
            if entry.get("type") == "olm.package"
            else entry
            for entry in properties
        ]
    return renamed


def push(registry: str, name: str, catalog: Repeated) -> str:
    """Push the catalog as an image; returns its reference by tag."""
    labels = {images.CONFIGS_LABEL: "/configs"}
    images.Registry(registry).push(name, "latest", catalog.files, labels)
    return f"{registry}/{name}:latest"
