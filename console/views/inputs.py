"""The answers of olmctl.questions that views are made from, as far as these read them. Pure: the modules that ask are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from olmkit.api.meta import Object


class PackageEntry(Protocol):
    """One package of one catalog: olmctl.questions.packages.PackageEntry."""

    @property
    def name(self) -> str: ...
    @property
    def catalog(self) -> str: ...
    @property
    def obj(self) -> Object: ...
    @property
    def summary(self) -> Mapping[str, Any]: ...
    @property
    def latest(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def deprecation(self) -> str: ...
    def texts(self, key: str) -> list[str]: ...


class ExtensionProblem(Protocol):
    """A problem that the Operator of a ClusterExtension does not report: olmctl.questions.extensions.ExtensionProblem."""

    @property
    def state(self) -> str: ...
    @property
    def message(self) -> str: ...


class LeftInstallation(Protocol):
    """An installation without an Operator: olmctl.questions.left_installations.LeftInstallation."""

    @property
    def is_left(self) -> bool: ...
    @property
    def sentence(self) -> str: ...
    @property
    def command(self) -> str: ...
