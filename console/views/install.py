"""The values of the form of an Operator, and of that of a Catalog. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from console.commands import Command
from console.forms.operator_form import DELETIONS, Mode
from console.views.changes import Button, Notice, Section

OPERATOR_LABELS: Final[Mapping[str, str]] = {
    "channel": "Channel",
    "catalog": "Catalog",
    "follow": "Follow",
    "range": "Range",
    "version": "Version",
    "approval": "Upgrades",
    "name": "Name of the Operator",
    "namespace": "Install into namespace",
    "watch": "Namespaces that it watches",
    "watched": "Which namespaces",
    "rollback": "When an upgrade fails",
    "deletionPolicy": "When the Operator is deleted",
    "account": "ServiceAccount that installs",
    "accountNamespace": "Its namespace",
    "upgradeConstraintPolicy": "Upgrade edges",
    "cpu": "CPU request",
    "memory": "Memory request",
    "cpuLimit": "CPU limit",
    "memoryLimit": "Memory limit",
    "env": "Environment",
}
CATALOG_LABELS: Final[Mapping[str, str]] = {
    "type": "Type of source",
    "image": "Image",
    "pullSecret": "Pull secret",
    "repository": "Repository",
    "refType": "Follow a",
    "ref": "Its name",
    "directory": "Directory",
    "url": "Address",
    "checksum": "Checksum",
    "configMaps": "ConfigMaps",
    "secret": "Login for git or the web server",
    "pollInterval": "Check every",
    "name": "Name",
    "priority": "Priority",
    "packages": "Only these packages",
    "availability": "Availability",
    "displayName": "Name for people",
    "publisher": "Publisher",
}
"""The labels of the fields, by name."""


def _wrong(labels: Mapping[str, str], problems: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """The id, the label and the reason of each field that is wrong."""
    return tuple((f"i-{name}", labels.get(name, name), text) for name, text in problems.items() if text)


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
    followed: str = ""
    """The channels that spec.channels names: they stay unless one channel is chosen."""

    @property
    def deletions(self) -> tuple[tuple[str, str], ...]:
        """The deletion policies, and what they do."""
        return DELETIONS

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its fields, by name."""
        return OPERATOR_LABELS

    @property
    def wrong(self) -> tuple[tuple[str, str, str], ...]:
        """The id, the label and the reason of each field that is wrong."""
        return _wrong(OPERATOR_LABELS, self.problems)

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
    def labels(self) -> Mapping[str, str]:
        """The labels of its fields, by name."""
        return CATALOG_LABELS

    @property
    def wrong(self) -> tuple[tuple[str, str, str], ...]:
        """The id, the label and the reason of each field that is wrong."""
        return _wrong(CATALOG_LABELS, self.problems)
