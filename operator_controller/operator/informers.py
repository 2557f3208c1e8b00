"""The four kinds that the Operator's controller watches, indexed by package.

Made by setup.py; read by reconciler.py and events.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from olmkit.api import bundledeployments, bundles, catalogs, operators
from olmkit.api.bundledeployments import PACKAGE_ANNOTATION
from olmkit.api.meta import Kind, Object
from olmkit.runtime.informer import Informer

PACKAGE_INDEX = "package"
"""Index of Operators and BundleDeployments by the name of their package."""


@dataclass(frozen=True)
class Informers:
    """One informer for each kind."""

    operators: Informer
    catalogs: Informer
    bundle_deployments: Informer
    bundles: Informer


def make_informers(informer: Callable[[Kind], Informer]) -> Informers:
    """The four informers with their indexes."""
    informers = Informers(
        operators=informer(operators.KIND),
        catalogs=informer(catalogs.KIND),
        bundle_deployments=informer(bundledeployments.KIND),
        bundles=informer(bundles.KIND),
    )
    informers.operators.add_index(PACKAGE_INDEX, lambda raw: [raw["spec"]["packageName"]])
    informers.bundle_deployments.add_index(PACKAGE_INDEX, packages_of)
    return informers


def packages_of(bundle_deployment: Object) -> list[str]:
    """The package in the annotations of a BundleDeployment's template, as index keys."""
    metadata = bundle_deployment["spec"]["template"].get("metadata") or {}
    package = (metadata.get("annotations") or {}).get(PACKAGE_ANNOTATION)
    return [package] if package else []
