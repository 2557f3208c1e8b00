"""The content of one catalog on disk, as catalogd.writing leaves it and the server and the reconciler read it.

    all.jsonl          the blobs, one per line (formats 1.3)
    index.json         catalogd.index: where they lie
    packages.jsonl     per package the spec of its Package object, without the catalog's name
    resolution.jsonl   per package the document of catalogd.resolution
    content.json       what there is in all, and where the lines of the two files above lie

Names no Catalog: the same image may be served under several names. Never writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from catalogd.index import Index, Range
from catalogd.specs import Offer

BLOBS, INDEX, PACKAGES, RESOLUTION, FACTS = (
    "all.jsonl",
    "index.json",
    "packages.jsonl",
    "resolution.jsonl",
    "content.json",
)


@dataclass(frozen=True)
class Summary:
    """What a catalog holds, for its status. `problems` are the first sentences about what could not be read or does not fit
    together, `problem_count` counts all; `notes` say what Package objects had to leave out."""

    package_names: tuple[str, ...]
    bundle_count: int
    blob_count: int
    problem_count: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For content.json."""
        return {
            "packageNames": self.package_names,
            "bundleCount": self.bundle_count,
            "blobCount": self.blob_count,
            "problemCount": self.problem_count,
            "problems": self.problems,
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Summary:
        """What to_json() gave."""
        return cls(
            tuple(value["packageNames"]),
            value["bundleCount"],
            value["blobCount"],
            value["problemCount"],
            tuple(value["problems"]),
            tuple(value["notes"]),
        )


class Content:
    """A folder of content, opened: indexes in memory, the rest on disk. Raises OSError and ValueError when it is not whole."""

    def __init__(self, folder: Path) -> None:
        facts = orjson.loads((folder / FACTS).read_bytes())
        self.index = Index.load((folder / INDEX).read_bytes())
        self.summary = Summary.from_json(facts["summary"])
        self.offers = tuple(Offer(package, fingerprint) for package, fingerprint, _, _ in facts["packages"])
        self.blobs = folder / BLOBS
        self.resolutions = folder / RESOLUTION
        self._packages = folder / PACKAGES
        self._specs: dict[str, Range] = {package: (start, length) for package, _, start, length in facts["packages"]}
        self._documents: dict[str, Range] = {package: (start, length) for package, start, length in facts["resolution"]}

    def resolution(self, package: str) -> Range | None:
        """Where in `resolutions` the document of a package lies; None for a package that no blob names."""
        return self._documents.get(package)

    def package_spec(self, package: str) -> dict[str, Any]:
        """The spec of a package's object, without its catalog. Reads the disk. Raises KeyError for one that is not offered."""
        start, length = self._specs[package]
        with open(self._packages, "rb", buffering=0) as file:
            file.seek(start)
            spec: dict[str, Any] = orjson.loads(file.read(length))
            return spec
