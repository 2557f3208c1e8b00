"""The informers of the Operator's controller, and their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from olmkit.api.bundledeployments import CATALOG_ANNOTATION, DELETION_HOLD_ANNOTATION, PACKAGE_ANNOTATION
from olmkit.api.meta import Object
from olmkit.runtime.informer import Informer
from operator_controller.operator.world import HOLD_PREFIX

PACKAGE_INDEX = "package"
"""Index of Operators and BundleDeployments by the name of their package."""
HOLD_INDEX = "hold"
"""Index of BundleDeployments by HOLD_PREFIX, if this controller holds their deletion."""


@dataclass(frozen=True)
class Informers:
    """One informer for each kind that is watched. `deployments` are BundleDeployments."""

    operators: Informer
    catalogs: Informer
    deployments: Informer
    bundles: Informer

    def __post_init__(self) -> None:
        self.operators.add_index(PACKAGE_INDEX, lambda raw: [raw["spec"]["packageName"]])
        self.deployments.add_index(PACKAGE_INDEX, packages_of)
        self.deployments.add_index(HOLD_INDEX, _holds_of)


def _holds_of(deployment: Object) -> list[str]:
    hold = (deployment["metadata"].get("annotations") or {}).get(DELETION_HOLD_ANNOTATION) or ""
    return [HOLD_PREFIX] if hold.startswith(HOLD_PREFIX) else []


def packages_of(deployment: Object) -> list[str]:
    """The package in the annotations of a BundleDeployment's template, as index keys."""
    package = _annotations_of_template(deployment).get(PACKAGE_ANNOTATION)
    return [package] if package else []


def catalog_of(deployment: Object) -> str:
    """The Catalog in the annotations of a BundleDeployment's template, "" if there is none."""
    return _annotations_of_template(deployment).get(CATALOG_ANNOTATION, "")


def _annotations_of_template(deployment: Object) -> Mapping[str, str]:
    metadata = deployment["spec"]["template"].get("metadata") or {}
    return metadata.get("annotations") or {}


def packages_of_operator(informers: Informers, name: str) -> set[str]:
    """The package that an Operator requests, and the package of its BundleDeployment, as far as they exist."""
    operator, deployment = informers.operators.get(name), informers.deployments.get(name)
    packages = {operator["spec"]["packageName"]} if operator is not None else set()
    return packages | set(packages_of(deployment) if deployment is not None else ())


def taken_names(operators: Iterable[Object], deployments: Iterable[Object]) -> tuple[tuple[str, str], ...]:
    """Name under which no Operator for the package of the same name can be created -> the object that has this name."""
    found: dict[str, str] = {}
    for deployment in deployments:
        name = deployment["metadata"]["name"]
        found[name] = f'BundleDeployment "{name}"'
    for operator in operators:
        name, package = operator["metadata"]["name"], operator["spec"]["packageName"]
        if name == package:
            found.pop(name, None)
        else:
            found[name] = f'Operator "{name}" for package "{package}"'
    return tuple(sorted(found.items()))
