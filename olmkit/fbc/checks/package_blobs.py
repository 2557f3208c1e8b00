"""The input and the result of the checks of one package.

Pure.
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
    """The steps in which opm loads a catalog, in order: all packages, then all channels, and so on."""

    READING = 0
    PACKAGES = 1
    CHANNELS = 2
    BUNDLES = 3
    MISSING_BUNDLES = 4
    DEPRECATIONS = 5


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of the load checks. Formatted only when `text` is read, because names may have megabytes."""

    position: tuple[LoadStep, int, int]
    """Step, number of the blob among those of its schema, place in the blob. opm meets the smallest position first."""
    sentence: str
    """opm's format, with %q, %s and %d for the `arguments`."""
    arguments: tuple[Argument, ...] = ()

    @property
    def text(self) -> str:
        """opm's message."""
        return sprintf(self.sentence, *self.arguments)


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """The data of one olm.bundle blob that the checks of a package need: little, however large the bundle is.

    `problem` is opm's message for an error of the blob by itself, "" when there is none; with an error, `version` and `release`
    are "". `version` includes build metadata.
    """

    name: str
    package: str
    problem: str
    version: str
    release: str
    has_content: bool
    """True if it has an image or bundle objects."""

    def to_json(self) -> list[Any]:
        """The JSON form, for from_json."""
        return [self.name, self.package, self.problem, self.version, self.release, self.has_content]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> CheckedBundle:
        """The bundle that to_json wrote."""
        return cls(*data)


@dataclass(frozen=True, slots=True)
class PackageBlobs:
    """All blobs that name one package, in the catalog's order, each with its number among the blobs of its schema, from 0.

    `packages` are the olm.package blobs of that name: none for a package that only other blobs mention, several for duplicates.
    `errors` are the messages of BadBlob for blobs of the package; if there are any, nothing else is reported.
    """

    name: str
    packages: Sequence[tuple[int, Package]]
    channels: Sequence[tuple[int, Channel]]
    bundles: Sequence[tuple[int, CheckedBundle]]
    deprecations: Sequence[tuple[int, Deprecations]]
    errors: Sequence[tuple[int, str]] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The problems of one package: those of the load checks in opm's order, else the tree of the model checks, else neither."""

    problems: Sequence[Problem]
    tree: Branch | None

    @property
    def count(self) -> int:
        """The number of problems; 0 for a valid package."""
        return len(self.problems) + (self.tree.count if self.tree else 0)

    def sentences(self) -> Iterator[str]:
        """The problems as one line each, formatted lazily; those of the tree with their path: `invalid package "p": …`."""
        for problem in self.problems:
            yield problem.text
        if self.tree:
            yield from self.tree.sentences()
