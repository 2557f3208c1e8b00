"""What the model check is given of a package, and what it finds.

Made by whoever loads a catalog, read by stage_a and stage_b. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from olmkit.fbc.catalog import Channel, Deprecations, Package
from olmkit.fbc.checks.report_tree import Branch
from olmkit.gocompat.text import Argument, sprintf


class LoadStep(IntEnum):
    """Stage A's steps in opm's order: it takes all packages of a catalog, then all channels, and so on."""

    READING = 0
    PACKAGES = 1
    CHANNELS = 2
    BUNDLES = 3
    MISSING_BUNDLES = 4
    DEPRECATIONS = 5


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of stage A. Made into words only when `text` is asked for: names may be megabytes."""

    position: tuple[LoadStep, int, int]
    """Step, number of the blob among its schema's, place in the blob: what opm meets first is least."""
    sentence: str
    """With %q, %s and %d where `arguments` belong."""
    arguments: tuple[Argument, ...] = ()

    @property
    def text(self) -> str:
        """opm's sentence."""
        return sprintf(self.sentence, *self.arguments)


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """What the check needs of one olm.bundle blob: small, whatever the bundle holds.

    `problem` is what is wrong with the blob by itself ("" nothing); then the rest is "". `version` is with build metadata.
    """

    name: str
    package: str
    problem: str
    version: str
    release: str
    has_content: bool
    """Whether it has an image or bundle objects."""

    def to_json(self) -> list[Any]:
        """For from_json."""
        return [self.name, self.package, self.problem, self.version, self.release, self.has_content]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> CheckedBundle:
        """What to_json gave."""
        return cls(*data)


@dataclass(frozen=True, slots=True)
class PackageBlobs:
    """All blobs that speak of one package, in the catalog's order, each with its number among the blobs of its schema, from 0.

    `packages` are the olm.package blobs of that name: none for a package that is only mentioned, several if it is said twice.
    `faults` are sentences about blobs of the package that are not what their schema says (BadBlob); then nothing else is said.
    """

    name: str
    packages: Sequence[tuple[int, Package]]
    channels: Sequence[tuple[int, Channel]]
    bundles: Sequence[tuple[int, CheckedBundle]]
    deprecations: Sequence[tuple[int, Deprecations]]
    faults: Sequence[tuple[int, str]] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What is wrong with one package: problems of stage A in opm's order, else the tree of stage B, else neither."""

    problems: Sequence[Problem]
    tree: Branch | None

    @property
    def count(self) -> int:
        """How many problems; 0 is a valid package."""
        return len(self.problems) + (self.tree.count if self.tree else 0)

    def sentences(self) -> Iterator[str]:
        """One line each, made as they are taken; those of the tree with their way: `invalid package "p": invalid channel …`."""
        for problem in self.problems:
            yield problem.text
        if self.tree:
            yield from self.tree.sentences()
