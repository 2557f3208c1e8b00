"""Maps watch events to keys: which Operators a change of an Operator, BundleDeployment, Bundle or Catalog enqueues.

The controller and the Resolver use these maps; the Resolver enqueues the Operators whose answer has changed. Reads only
informers; never decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from olmkit.api.bundledeployments import OWNER_NAME_LABEL
from olmkit.api.meta import Object
from olmkit.api.operators import Operator
from olmkit.runtime.informer import Change
from operator_controller.operator.informers import PACKAGE_INDEX, Informers, catalog_of, packages_of


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
        """The Operators whose BundleDeployments request a bundle from the Catalog, if its pull secret may have changed."""
        new, old = change.new, change.old
        if new is None or (old is not None and pull_secret_of(new) == pull_secret_of(old)):
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
    metadata = (raw["metadata"] for raw in catalogs)
    return tuple(sorted(each["name"] for each in metadata if selector.matches(each.get("labels") or {})))


def pull_secret_of(catalog: Object) -> str:
    """The Secret that the image of a Catalog is pulled with, "" for none. The images of its bundles are pulled with the same
    Secret."""
    image = catalog["spec"]["source"].get("image") or {}
    return image.get("pullSecret") or ""
