"""Maps watch events to keys: which Operators a change of an Operator, BundleDeployment, Bundle or Catalog enqueues.

Also the informers that are watched, and their indexes. The controller and the Resolver use these maps; the Resolver enqueues the
Operators whose answer has changed. Reads only informers; never decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.api.bundle_annotations import CATALOG_ANNOTATION, PACKAGE_ANNOTATION
from olmkit.api.bundledeployments import DELETION_HOLD_ANNOTATION, OWNER_NAME_LABEL
from olmkit.api.clustercatalogs import selectable_labels
from olmkit.api.meta import Object, ObjectMeta
from olmkit.api.operators import Operator
from olmkit.runtime.informer import Change, Informer
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


@dataclass(frozen=True)
class EventMapper:
    """One method for each watched kind: from a change to the names of Operators."""

    informers: Informers

    def keys_of_operator(self, change: Change) -> Iterable[str]:
        """The Operator itself. If its claim to a package may have changed, also all other Operators for that package."""
        new, old = change.new, change.old
        names = {obj["metadata"]["name"] for obj in (new, old) if obj is not None}
        if _claim(new) != _claim(old):
            for obj in (new, old):
                if obj is not None:
                    names |= self._operators_for(obj["spec"]["packageName"])
        return names

    def keys_of_deployment(self, change: Change) -> Iterable[str]:
        """The Operator with the name of the BundleDeployment. If the BundleDeployment was created, deleted or installed its first
        bundle, also all other Operators for its package."""
        new, old = change.new, change.old
        names = {obj["metadata"]["name"] for obj in (new, old) if obj is not None}
        if _installed_packages(new) != _installed_packages(old):
            for obj in (new, old):
                for package in packages_of(obj) if obj is not None else ():
                    names |= self._operators_for(package)
        return names

    def keys_of_bundle(self, change: Change) -> Iterable[str]:
        """The Operator whose BundleDeployment created the Bundle."""
        obj = change.new or change.old
        owner = (obj["metadata"].get("labels") or {}).get(OWNER_NAME_LABEL) if obj is not None else None
        return [owner] if owner else []

    def keys_of_catalog(self, change: Change) -> Iterable[str]:
        """The Operators whose BundleDeployments request a bundle from the Catalog, if its pull secret, or the
        policy for their signatures, may have changed."""
        new, old = change.new, change.old
        if new is None or (old is not None and _handed_on(new) == _handed_on(old)):
            return []
        deployments = self.informers.deployments.objects.values()
        return [raw["metadata"]["name"] for raw in deployments if catalog_of(raw) == new["metadata"]["name"]]

    def _operators_for(self, package: str) -> set[str]:
        return {raw["metadata"]["name"] for raw in self.informers.operators.by_index(PACKAGE_INDEX, package)}


def _claim(operator: Object | None) -> tuple[object, ...] | None:
    if operator is None:
        return None
    metadata = operator["metadata"]
    return metadata["uid"], operator["spec"]["packageName"], "deletionTimestamp" in metadata


def _installed_packages(deployment: Object | None) -> tuple[object, ...] | None:
    if deployment is None:
        return None
    status = deployment.get("status") or {}
    uid = deployment["metadata"]["uid"]
    return uid, tuple(packages_of(deployment)), bool(status.get("activeBundle"))


def selected_catalogs(operator: Operator, catalogs: Iterable[Object]) -> tuple[str, ...] | None:
    """The names of the Catalogs that are selected, sorted; None without a selector."""
    selector = operator.spec.catalog_selector
    if selector is None:
        return None
    metadata = (ObjectMeta.load(raw["metadata"]) for raw in catalogs)
    return tuple(sorted(each.name for each in metadata if selector.matches(selectable_labels(each))))


def pull_secret_of(catalog: Object) -> str:
    """The Secret that the image of a Catalog is pulled with, "" for none. The images of its bundles are pulled with the same
    Secret."""
    image = catalog["spec"]["source"].get("image") or {}
    return image.get("pullSecret") or ""


def verification_of(catalog: Object) -> Mapping[str, Any]:
    """spec.bundles.verify of a Catalog: the policy for the signatures of its bundles; empty for none."""
    return (catalog["spec"].get("bundles") or {}).get("verify") or {}


def _handed_on(catalog: Object) -> tuple[object, ...]:
    """The fields of a Catalog that the BundleDeployments of its bundles have too."""
    return pull_secret_of(catalog), verification_of(catalog)
