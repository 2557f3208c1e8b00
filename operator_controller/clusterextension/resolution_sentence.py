"""The sentence with which OLM v1 explains that no bundle was found: made from the fields of a failure, never from its message.

Tests of OLM v1 compare it as a whole. Called by conditions.py and decide.py. Pure.
"""

from __future__ import annotations

from olmkit.api.clusterextensions import ClusterExtension
from olmkit.api.failures import FailureReason
from olmkit.api.operator_status import Failure
from olmkit.gocompat.text import format_list, quoted, sprintf

RESOLUTION = frozenset(
    {
        FailureReason.PACKAGE_NOT_FOUND,
        FailureReason.VERSION_NOT_FOUND,
        FailureReason.NO_UPGRADE_EDGE,
        FailureReason.AMBIGUOUS_CATALOGS,
        FailureReason.CATALOG_UNAVAILABLE,
        FailureReason.CATALOG_NOT_SELECTED,
        FailureReason.INVALID_RANGE,
        FailureReason.REQUIREMENTS_NOT_SATISFIED,
        FailureReason.CONFLICT,
        FailureReason.PACKAGE_CLAIMED,
        FailureReason.VERSION_EXCLUDED,
        FailureReason.RESOLUTION_FAILED,
    }
)
"""The failures of the choice of a bundle."""
_NOT_FOUND = (
    FailureReason.PACKAGE_NOT_FOUND,
    FailureReason.VERSION_NOT_FOUND,
    FailureReason.NO_UPGRADE_EDGE,
    FailureReason.CATALOG_NOT_SELECTED,
    FailureReason.AMBIGUOUS_CATALOGS,
)
_UNAVAILABLE = "error walking catalogs: error getting package %q from catalog %q: catalog %q is not being served"


def resolution_sentence(extension: ClusterExtension, failure: Failure) -> str:
    """The sentence for a failure of the choice of a bundle. OLM v1 has none for what it does not know, such as dependencies: then
    the message of the failure."""
    catalog = extension.spec.source.catalog
    package = catalog.package_name if catalog is not None else failure.package or ""
    if failure.reason in _NOT_FOUND:
        return _not_found(extension, package, failure)
    if failure.reason == FailureReason.CATALOG_UNAVAILABLE and failure.catalogs:
        return catalog_unavailable(package, failure.catalogs[0])
    if failure.reason == FailureReason.INVALID_RANGE and catalog is not None:
        return f"desired version range {quoted(catalog.version or '')} is invalid: {failure.message}"
    return failure.message


def catalog_unavailable(package: str, catalog: str) -> str:
    """The sentence for a catalog whose content is not known."""
    return sprintf(_UNAVAILABLE, package, catalog, catalog)


def _not_found(extension: ClusterExtension, package: str, failure: Failure) -> str:
    catalog, is_tie = extension.spec.source.catalog, failure.reason == FailureReason.AMBIGUOUS_CATALOGS
    version, channels = (catalog.version, catalog.channels) if catalog is not None else (None, None)
    installed = failure.installed_version
    parts = [
        f"error upgrading from currently installed version {quoted(installed)}: " if installed else "",
        "found bundles" if is_tie else "no bundles found",
        f" for package {quoted(package)}",
        f" matching version {quoted(version)}" if version else "",
        f" in channels {format_list(channels)}" if channels else "",
        f" in multiple catalogs with the same priority {format_list(failure.catalogs or ())}" if is_tie else "",
    ]
    return "".join(parts)
