"""What a catalog holds in all, and what is wrong with it: part of its content on disk, and what its status says.

Written by catalogd.ingest.content_writer, read back by catalogd.ingest.content, told by catalogd.catalog.report. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CatalogSummary:
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
    def from_json(cls, value: Mapping[str, Any]) -> CatalogSummary:
        """What to_json() gave."""
        return cls(
            tuple(value["packageNames"]),
            value["bundleCount"],
            value["blobCount"],
            value["problemCount"],
            tuple(value["problems"]),
            tuple(value["notes"]),
        )
