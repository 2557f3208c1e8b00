"""Packages that catalogs have and do not offer, because spec.packages of their Catalog does not name them: what refusals say.

Such packages never are candidates; their documents are read only for a message. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from operator_controller.resolve.formatting import name_catalogs, plain_value
from operator_controller.resolve.package.package_content import Bundle, PackageContent
from operator_controller.resolve.requirements.constraints import KindConstraint, PackageConstraint


@dataclass(frozen=True)
class WithheldPackages:
    """The packages that the component depends on, each with the catalogs that withhold it. `read` is their content, None if it is
    not known."""

    catalogs: dict[str, tuple[str, ...]]
    read: Callable[[str, str], PackageContent | None]

    def why_not_offered(
        self, parts: Iterable[PackageConstraint | KindConstraint], considered: Collection[str] | None = None
    ) -> str:
        """The lists that withhold the first of the parts, as the end of a sentence with "which"; "" if none does.

        `considered`: the catalogs that count for a package with an Operator; None for all.
        """
        for part in parts:
            if isinstance(part, KindConstraint):
                found = self._provider(part)
            else:
                names = self._having(part, considered)
                found = f"{name_catalogs(names)} {'has' if len(names) == 1 else 'have'}, {name_it(names, part.package)}"
                found = found if names else ""
            if found:
                return found
        return ""

    def _having(self, part: PackageConstraint, considered: Collection[str] | None) -> list[str]:
        """The catalogs that have a version in the range, or of which the versions are not known."""
        found: list[str] = []
        for catalog in self.catalogs.get(part.package, ()):
            content = self.read(catalog, part.package) if considered is None or catalog in considered else None
            if considered is not None and catalog not in considered:
                continue
            versions = [] if content is None else [each.version for each in bundles_in_channels(content)]
            if content is None or any(each is not None and part.versions.matches(each) for each in versions):
                found.append(catalog)
        return found

    def _provider(self, part: KindConstraint) -> str:
        for package, catalogs in sorted(self.catalogs.items()):
            for catalog in catalogs:
                content = self.read(catalog, package)
                if content and any(part.kind in each.provided_kinds for each in bundles_in_channels(content)):
                    return (
                        f"{plain_value(package)} of {name_catalogs([catalog])} provides, {name_it([catalog], package)}"
                    )
        return ""


def name_it(catalogs: Collection[str], package: str) -> str:
    """Say what is wrong with the lists of these catalogs, and what to do."""
    return f"but {'its' if len(catalogs) == 1 else 'their'} spec.packages does not name {plain_value(package)}: add it there"


def bundles_in_channels(package: PackageContent) -> Iterator[Bundle]:
    """The bundles that are in a channel of the package."""
    names = dict.fromkeys(entry.name for channel in package.channels for entry in channel.entries)
    return (package.bundles[name] for name in names if name in package.bundles)
