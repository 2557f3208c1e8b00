"""The reasons for which an installation fails: those of status.failure of Operators and BundleDeployments.

Resolution gives them too, in a process without the models of the API. Pure.
"""

from __future__ import annotations

from olmkit.api.described_enum import DescribedEnum


class FailureReason(DescribedEnum):
    """The reasons of status.failure. Those up to ResolutionFailed are about the choice of a bundle, and are never in the status
    of a BundleDeployment; the others are about its installation."""

    PACKAGE_NOT_FOUND = "PackageNotFound", "no catalog that counts has the package"
    VERSION_NOT_FOUND = "VersionNotFound", "catalogs have the package, and no bundle of it that spec accepts"
    NO_UPGRADE_EDGE = "NoUpgradeEdge", "the bundle exists, and no upgrade edge leads to it from the installed one"
    AMBIGUOUS_CATALOGS = "AmbiguousCatalogs", "several catalogs of the same priority offer the bundle"
    CATALOG_UNAVAILABLE = "CatalogUnavailable", "the content of a catalog that counts is not known"
    CATALOG_NOT_SELECTED = (
        "CatalogNotSelected",
        "no catalog that spec.catalogSelector selects offers the installed bundle or an upgrade from it",
    )
    INVALID_RANGE = "InvalidRange", "spec.version is no range of versions"
    REQUIREMENTS_NOT_SATISFIED = (
        "RequirementsNotSatisfied",
        "the cluster lacks what each of the bundles requires, their properties are invalid, or a package that is required waits "
        "for a person",
    )
    CONFLICT = "Conflict", "what the bundle requires excludes what other Operators require or have installed"
    PACKAGE_CLAIMED = "PackageClaimed", "another Operator has the package, or this one has another package installed"
    VERSION_EXCLUDED = (
        "VersionExcluded",
        "spec.excludedVersions has all versions that spec accepts, or all those of them that can be reached",
    )
    RESOLUTION_FAILED = "ResolutionFailed", "resolution did not come to a result"

    INVALID_CONFIGURATION = "InvalidConfiguration", "the bundle cannot be installed as spec says"
    INVALID_BUNDLE = "InvalidBundle", "the bundle cannot be installed as it is"
    NAMESPACE_MISSING = (
        "NamespaceMissing",
        "a namespace that spec names does not exist, and namespacePolicy is MustExist",
    )
    OBJECT_EXISTS = "ObjectExists", "an object of the bundle exists and belongs to others"
    CRD_UPGRADE_UNSAFE = (
        "CRDUpgradeUnsafe",
        "a rule about upgrades of CustomResourceDefinitions refuses the bundle",
    )
    KIND_MISSING = "KindMissing", "the cluster does not have a kind that the bundle requires, or is too old"
    UNPACK_FAILED = "UnpackFailed", "the bundle cannot be read from its source"
    PERMISSIONS_MISSING = "PermissionsMissing", "the account of spec.serviceAccount lacks permissions"
    SERVICE_ACCOUNT_REQUIRED = (
        "ServiceAccountRequired",
        "spec names no serviceAccount, and rukpak runs with --require-service-account",
    )
    SERVICE_ACCOUNT_MISSING = "ServiceAccountMissing", "the account of spec.serviceAccount does not exist"
    APPLY_FAILED = "ApplyFailed", "the API server refuses to change objects, or nothing may be changed yet"
    DEADLINE_EXCEEDED = "DeadlineExceeded", "objects were applied, and not healthy in time"
    UNHEALTHY = "Unhealthy", "objects were applied, and have failed"
    ROLLED_BACK = "RolledBack", "an upgrade failed, and what ran before it runs again, or is being brought back"
