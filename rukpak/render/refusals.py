"""Finds what the API server or a catalog refuses of a bundle that upstream renders, before anything is applied.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmkit.gocompat.text import quoted
from olmkit.gocompat.versions import BadVersion, parse_version
from rukpak.format.bundle import Body, Bundle, PlainBundle, RegistryBundle
from rukpak.format.errors import BUNDLE_LOAD_FAILED, UNPACK_FAILED, BadBundle
from rukpak.format.list_items import without_repeated_items
from rukpak.format.objects import BundleObject


def applicable(bundle: Bundle, manifests: Sequence[BundleObject]) -> tuple[list[BundleObject], tuple[str, ...]]:
    """The rendered objects as the API server takes them, and notes on items that a list had twice. Raises BadBundle."""
    made, notes, errors = without_repeated_items(manifests)
    if errors := (*_csv_errors(bundle), *errors):
        raise BadBundle.of(BUNDLE_LOAD_FAILED, errors)
    return made, notes


def check_files(bundle: Bundle) -> None:
    """Raises BadBundle if the files of a bundle have what `applicable` refuses however they are rendered."""
    _, _, errors = without_repeated_items(map(BundleObject, _bodies(bundle)))
    if errors := (*_csv_errors(bundle), *errors):
        raise BadBundle.of(UNPACK_FAILED, errors)


def _csv_errors(bundle: Bundle) -> Iterator[str]:
    if isinstance(bundle, PlainBundle):
        return
    yield from _version_errors(bundle)
    if bundle.install_spec.get("deployments") is None:  # also if a key above it is misspelt
        yield (
            f"ClusterServiceVersion {bundle.csv_name}: spec.install.spec.deployments is missing; if the bundle has no "
            "Deployments, it is an empty list"
        )


def _version_errors(bundle: RegistryBundle) -> Iterator[str]:
    """That the version of the ClusterServiceVersion is no semantic version. It may be left out."""
    version = bundle.spec.get("version") or ""
    if not version:
        return
    try:
        parse_version(str(version))
    except BadVersion as error:
        yield (
            f"ClusterServiceVersion {bundle.csv_name}: spec.version {quoted(str(version)[:100])} is not a semantic version "
            f"such as 1.2.3: {error}"
        )


def _bodies(bundle: Bundle) -> Iterator[Body]:
    if isinstance(bundle, PlainBundle):
        yield from bundle.objects
        return
    for deployment in bundle.install_spec.get("deployments") or ():
        metadata = {"name": deployment["name"]}
        yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": deployment["spec"]}
    yield from bundle.crds
    yield from bundle.others
