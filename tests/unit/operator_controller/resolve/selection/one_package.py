"""Resolution of one package as if nothing required anything, for tests of what the package alone decides."""

from __future__ import annotations

from operator_controller.resolve.selection.catalog_and_bundle_choice import permitted
from operator_controller.resolve.selection.package_resolution import PackageResolution
from operator_controller.resolve.snapshot.package_snapshot import PackageSnapshot


def resolve(snapshot: PackageSnapshot) -> PackageResolution:
    """The best permitted choice, or the outcome without one."""
    found = permitted(snapshot)
    outcome = found.choices[-1] if found.choices else found.otherwise
    return PackageResolution(outcome, snapshot, found.catalogs, found.successor)
