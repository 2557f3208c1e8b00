"""The terms of messages for who writes a request: kinds and fields as they are called there.

Most requests are those of Operators. The Operator of a ClusterExtension belongs to it: a person who reads about it writes the
ClusterExtension, and ClusterCatalogs. The terms are part of the request, and nothing but messages depends on them.
What rukpak refuses is reported for a ClusterExtension by operator_controller.clusterextension.conditions, from typed fields.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SpecTerms:
    """The names of the kinds, fields and values that advice is about. Those of Operators are the defaults."""

    kind: str = "Operator"
    catalog: str = "Catalog"
    version: str = "spec.version"
    channel: str = "spec.channel"
    selector: str = "spec.catalogSelector"
    policy: str = "spec.upgradeConstraintPolicy"
    ignore: str = "Ignore"
    """The value of the policy that ignores upgrade edges."""
    excluded: str = "spec.excludedVersions"
    has_exclusions: bool = True
    """True if excluded versions are a field of this kind itself, which who creates it again writes again."""
    availability: str = "spec.availability"
    packages: str = "spec.packages"
    """The list of packages of a catalog, behind "its"."""
    give_priority: str = "give one of them a higher spec.priority"


OPERATOR_TERMS = SpecTerms()
EXTENSION_TERMS = SpecTerms(
    kind="ClusterExtension",
    catalog="ClusterCatalog",
    version="spec.source.catalog.version",
    channel="spec.source.catalog.channels",
    selector="spec.source.catalog.selector",
    policy="spec.source.catalog.upgradeConstraintPolicy",
    ignore="SelfCertified",
    excluded="spec.excludedVersions of its Operator",
    has_exclusions=False,
    availability="spec.availabilityMode",
    packages="Catalog's spec.packages",
    give_priority="give one of these ClusterCatalogs a higher spec.priority",
)


def terms_of(*, is_of_extension: bool) -> SpecTerms:
    """The terms for who has requested the package of an Operator, which may belong to a ClusterExtension."""
    return EXTENSION_TERMS if is_of_extension else OPERATOR_TERMS
