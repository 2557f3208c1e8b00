"""The values of the form of an Operator, and of that of a Catalog. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.commands import Command
from console.forms.operator_form import DELETIONS, Mode
from console.views.changes import Button, Notice, Section


@dataclass(frozen=True)
class ChannelOffer:
    """A channel with its versions, the newest first."""

    name: str
    versions: tuple[str, ...]
    is_default: bool


@dataclass(frozen=True)
class InstallPreview:
    """The things that a form would install: the bundles, and the numbers of objects of the chosen version."""

    package: str
    version: str
    section: Section
    counts: tuple[str, ...] = ()
    is_pending: bool = False
    """True if catalogd reads the bundle for the numbers."""


@dataclass(frozen=True)
class BasisView:
    """The facts that a preview rests on: catalogs with the digests of their contents, Operators with what they have installed."""

    package: str
    catalogs: tuple[tuple[str, str], ...]
    operators: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class OperatorFormView:
    """The form of an Operator: a new one of a package, or one that exists."""

    heading: str
    sub: str
    crumbs: tuple[tuple[str, str], ...]
    action: str
    back: str
    texts: Mapping[str, str]
    problems: Mapping[str, str]
    """By field; empty where nothing is wrong."""
    channels: tuple[ChannelOffer, ...]
    catalogs: tuple[tuple[str, str], ...]
    """Name and text of the catalogs that have the package."""
    modes: tuple[Mode, ...]
    newest: str
    suggested_namespace: str
    is_new: bool
    button: Button
    notices: tuple[Notice, ...] = ()
    commands: tuple[Command, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()
    preview: InstallPreview | None = None
    preview_path: str = ""

    @property
    def deletions(self) -> tuple[tuple[str, str], ...]:
        """The deletion policies, and what they do."""
        return DELETIONS

    @property
    def wrong(self) -> tuple[tuple[str, str], ...]:
        """The fields that are wrong, and why."""
        return tuple((name, text) for name, text in self.problems.items() if text)

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions, those of the chosen channel first."""
        chosen = self.texts["channel"]
        listed = sorted(self.channels, key=lambda each: (each.name != chosen, not each.is_default))
        return tuple(dict.fromkeys(version for each in listed for version in each.versions))[:300]


@dataclass(frozen=True)
class CatalogFormView:
    """The form of a Catalog."""

    heading: str
    sub: str
    action: str
    back: str
    texts: Mapping[str, str]
    problems: Mapping[str, str]
    """By field; empty where nothing is wrong."""
    is_new: bool
    secrets: tuple[str, ...] | None
    """Names to choose from; None if they may not be listed."""
    config_maps: tuple[str, ...] | None
    order: tuple[tuple[str, int], ...]
    system_namespace: str
    button: Button
    notices: tuple[Notice, ...] = ()
    commands: tuple[Command, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()

    @property
    def wrong(self) -> tuple[tuple[str, str], ...]:
        """The fields that are wrong, and why."""
        return tuple((name, text) for name, text in self.problems.items() if text)
