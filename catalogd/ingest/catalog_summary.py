"""The summary of a catalog for its status: package names, counts and problems.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CatalogSummary:
    """The summary of a catalog.

    `problems` are the first messages about invalid blobs and inconsistent channels, `problem_count` counts all. `notes` are
    messages about data that was left out of Packages.
    """

    package_names: tuple[str, ...]
    bundle_count: int
    blob_count: int
    problem_count: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Encode for content.json."""
        return {
            "packageNames": self.package_names,
            "bundleCount": self.bundle_count,
            "blobCount": self.blob_count,
            "problemCount": self.problem_count,
            "problems": self.problems,
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CatalogSummary:
        """Decode the output of to_json()."""
        return cls(
            tuple(value["packageNames"]),
            value["bundleCount"],
            value["blobCount"],
            value["problemCount"],
            tuple(value["problems"]),
            tuple(value["notes"]),
        )
