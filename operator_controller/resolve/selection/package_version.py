"""One version of a package, as the solver selects it: of bundles that may be installed, or what runs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from olmkit.gocompat.versions import Version
from operator_controller.resolve.package.package_content import Bundle, GroupKind, GroupVersionKind
from operator_controller.resolve.selection.package_resolution import Chosen


@dataclass(frozen=True)
class PackageVersion:
    """One version of a domain. While an upgrade is in progress, what runs is two bundles.

    A kind counts as provided if all of `bundles` provide it, a requirement as required if one of them has it.
    """

    bundles: tuple[Bundle, ...]
    choice: Chosen | None = None
    """None: what runs stays as it is."""
    is_running: bool = False

    @property
    def version(self) -> Version | None:
        """The version of the bundle; while an upgrade is in progress, that of the old one."""
        return self.bundles[0].version

    @cached_property
    def owned_kinds(self) -> frozenset[GroupKind]:
        """The kinds that it owns, in whatever version."""
        return frozenset(kind.group_kind for bundle in self.bundles for kind in bundle.provided_kinds)

    @cached_property
    def provided_kinds(self) -> frozenset[GroupVersionKind]:
        """The kinds that all its bundles provide."""
        return frozenset.intersection(*(bundle.provided_kinds for bundle in self.bundles))
