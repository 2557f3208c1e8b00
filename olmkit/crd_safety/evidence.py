"""The evidence that the custom resources on the cluster give about broken rules, as values.

A form is a version that custom resources are read in, and the version whose new schema they have to fit. Made of problems by
olmkit.crd_safety.forms, gathered by rukpak.crds.collector, judged by olmkit.crd_safety.verdict. Values of custom resources are
never part of it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from olmkit.crd_safety.problem import InvalidObject

MAX_OBJECTS_SHOWN = 5
PATTERN = "pattern "
"""The beginning of the name of a pattern that was not evaluated."""


class Form(NamedTuple):
    """The subject of a check: custom resources of the version `source`, by the schema of the version `target`. Both are empty if
    it is only checked whether there are any."""

    definition: str
    source: str
    target: str


@dataclass(frozen=True)
class Check:
    """The evaluation of a page of custom resources for one form."""

    schema: dict[str, Any] | None
    """The new schema; None: they are only counted."""
    before: dict[str, Any]
    """The schema that dropped fields until now: what it drops is not lost by the upgrade."""
    watched: tuple[str, ...] = ()
    """Fields, as rules name them, of which is asked whether any custom resource has a value there."""
    is_validated: bool = True
    """True if they have to be valid; else only what they lose is asked."""


@dataclass(frozen=True)
class Evidence:
    """The findings about custom resources. The first ones that are not valid or lose a field are named."""

    count: int = 0
    invalid: tuple[InvalidObject, ...] = ()
    invalid_count: int = 0
    lossy: tuple[InvalidObject, ...] = ()
    lossy_count: int = 0
    present: frozenset[str] = frozenset()
    """Watched fields that have a value."""
    unchecked: frozenset[str] = frozenset()
    """Keys and patterns of the schema that were not evaluated."""
    unknown: str = ""
    """The reason why not all custom resources were checked; empty: they were."""
    failed: str = ""
    """The reason why the check failed, and may succeed later; empty: it did not."""

    def __add__(self, other: Evidence) -> Evidence:
        """Add the findings about other custom resources."""
        return Evidence(
            self.count + other.count,
            (self.invalid + other.invalid)[: MAX_OBJECTS_SHOWN + 1],
            self.invalid_count + other.invalid_count,
            (self.lossy + other.lossy)[: MAX_OBJECTS_SHOWN + 1],
            self.lossy_count + other.lossy_count,
            self.present | other.present,
            self.unchecked | other.unchecked,
            self.unknown or other.unknown,
            self.failed or other.failed,
        )
