"""The kinds of OLM v0, and what its objects say about an installation.

Values only; reads what others wrote, so that no field is trusted to have its type. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from olmctl.migration.values import at, items, name_of, namespace_of, text
from olmkit.api.meta import Kind, Object

GROUP = "operators.coreos.com"
SUBSCRIPTIONS = Kind(GROUP, "v1alpha1", "Subscription", "subscriptions", namespaced=True)
SERVICE_VERSIONS = Kind(GROUP, "v1alpha1", "ClusterServiceVersion", "clusterserviceversions", namespaced=True)
CATALOG_SOURCES = Kind(GROUP, "v1alpha1", "CatalogSource", "catalogsources", namespaced=True)
INSTALL_PLANS = Kind(GROUP, "v1alpha1", "InstallPlan", "installplans", namespaced=True)
OPERATOR_GROUPS = Kind(GROUP, "v1", "OperatorGroup", "operatorgroups", namespaced=True)
OPERATOR_CONDITIONS = Kind(GROUP, "v2", "OperatorCondition", "operatorconditions", namespaced=True)
COMPONENTS = Kind(GROUP, "v1", "Operator", "operators")
"""The list of the components of a package, which olm-operator keeps."""
KINDS = (SUBSCRIPTIONS, SERVICE_VERSIONS, CATALOG_SOURCES, INSTALL_PLANS, OPERATOR_GROUPS)

COPIED_FROM = "olm.copiedFrom"
"""The label of a copy of a ClusterServiceVersion."""
COMPONENT_PREFIX = "operators.coreos.com/"
TARGETS_ANNOTATION = "olm.targetNamespaces"
PROPERTIES_ANNOTATION = "operatorframework.io/properties"
ALL_NAMESPACES = ""
SUCCEEDED = "Succeeded"


def is_copy(version: Object) -> bool:
    """Report whether a ClusterServiceVersion is a copy of one in another namespace."""
    return COPIED_FROM in (at(version, "metadata", "labels") or {}) or text(version, "status", "reason") == "Copied"


def component_label(package: str, namespace: str) -> str:
    """The label that olm-operator gives to everything that it finds to belong to a package of a namespace."""
    key = f"{package}.{namespace}"
    return COMPONENT_PREFIX + (key if len(key) <= 63 else key[:63].rstrip("-._"))


def properties(version: Object) -> Iterator[tuple[str, Any]]:
    """Type and value of each property of the installed bundle, which OLM v0 writes into an annotation."""
    try:
        found = json.loads(text(version, "metadata", "annotations", PROPERTIES_ANNOTATION) or "{}")
    except (ValueError, RecursionError):
        return
    for each in items(found, "properties"):
        yield text(each, "type"), at(each, "value")


@dataclass(frozen=True)
class OlmV0:
    """The objects of OLM v0 on the cluster, and those that the suite has already."""

    subscriptions: Sequence[Object] = ()
    versions: Sequence[Object] = ()
    """ClusterServiceVersions, with copies."""
    catalog_sources: Sequence[Object] = ()
    operator_groups: Sequence[Object] = ()
    install_plans: Sequence[Object] = ()
    catalogs: Sequence[Object] = ()
    """Catalogs of the suite."""
    operators: Sequence[Object] = ()
    """Operators of the suite."""

    def version(self, namespace: str, name: str) -> Object | None:
        """The ClusterServiceVersion of that name that is no copy."""
        found = (each for each in self.originals() if (namespace_of(each), name_of(each)) == (namespace, name))
        return next(found, None)

    def originals(self) -> Iterator[Object]:
        """The ClusterServiceVersions without the copies."""
        return (each for each in self.versions if not is_copy(each))

    def groups_in(self, namespace: str) -> list[Object]:
        """The OperatorGroups of a namespace."""
        return [each for each in self.operator_groups if namespace_of(each) == namespace]

    def bundle_image(self, namespace: str, version: str) -> str:
        """The image of an installed bundle, from the InstallPlan that installed it; "" if none is left that names it."""
        for plan in self.install_plans:
            for lookup in items(plan, "status", "bundleLookups") if namespace_of(plan) == namespace else ():
                if text(lookup, "identifier") == version and text(lookup, "path"):
                    return text(lookup, "path")
        return ""
