"""The rules about a bundle as a whole: its CustomResourceDefinitions and what its CSV says of them, its ServiceAccounts and its
size. Pure.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from isal import igzip_lib

from olmctl.validation.finding import BUNDLE_NOT_VALID, VALIDATION_FAILED, WARNING, Finding
from olmctl.validation.loaded_bundle import Document, Gvk, LoadedBundle
from olmctl.validation.reporting import Path, Reporter, Rule
from olmkit.gocompat.text import quoted
from rukpak.format.objects import mapping, mappings

BUNDLE = "bundle"
MAX_COMPRESSED_BYTES = 1024**2
"""Bytes of the files of a bundle as gzip in base64: OLM v0 stores them in one ConfigMap."""
_WARNING_BYTES = MAX_COMPRESSED_BYTES * 0.85
_UNITS = "kMGTPE"

_DUPLICATE = Rule(
    "crd-duplicate",
    BUNDLE_NOT_VALID,
    "Keep one definition of this version: remove the other file, or the other version.",
)
_NOT_FOUND = Rule(
    "owned-crd-missing",
    BUNDLE_NOT_VALID,
    "Add the CustomResourceDefinition with this version to the bundle, or remove the entry of "
    "spec.customresourcedefinitions.owned.",
)
_NOT_OWNED = Rule(
    "crd-not-owned",
    BUNDLE_NOT_VALID,
    "Add an entry with name, version and kind to spec.customresourcedefinitions.owned of the ClusterServiceVersion.",
)
_SERVICE_ACCOUNT = Rule(
    "service-account-of-deployment",
    BUNDLE_NOT_VALID,
    "Remove this file: the account is created from the permissions of the ClusterServiceVersion.",
)
_TOO_LARGE = Rule(
    "bundle-size", BUNDLE_NOT_VALID, "Shorten the descriptions in the schemas, or remove versions and samples."
)
_NEARLY_TOO_LARGE = Rule("bundle-size-near-limit", BUNDLE_NOT_VALID, _TOO_LARGE.hint, WARNING)
_UNKNOWN_SIZE = Rule("bundle-size-unknown", VALIDATION_FAILED, "", WARNING)


def check(bundle: LoadedBundle) -> Iterator[Finding]:
    """The faults of the bundle."""
    if bundle.csv is None:
        return
    yield from _definition_faults(bundle, bundle.csv)
    yield from _account_faults(bundle, bundle.csv)
    yield from _size_faults(bundle)


def owned_keys(csv: Document) -> list[tuple[Gvk, int]]:
    """Group, version and kind of each owned description, and its index."""
    owned = mapping(csv.spec.get("customresourcedefinitions")).get("owned")
    keys = []
    for index, each in enumerate(owned if isinstance(owned, list) else ()):
        name, version, kind = (mapping(each).get(field) or "" for field in ("name", "version", "kind"))
        keys.append((Gvk(name.partition(".")[2] if "." in name else name, version, kind), index))
    return keys


def _bundle_keys(bundle: LoadedBundle) -> Iterator[tuple[Gvk, Document, Path]]:
    """Group, version and kind of each version of each definition, served or not."""
    for document in (*bundle.v1_crds, *bundle.v1beta1_crds):
        spec = document.spec
        group, kind = spec.get("group") or "", mapping(spec.get("names")).get("kind") or ""
        versions = spec.get("versions")
        if not versions and document in bundle.v1beta1_crds:
            yield Gvk(group, spec.get("version") or "", kind), document, ("spec", "version")
        for index, version in enumerate(versions or ()):
            yield Gvk(group, mapping(version).get("name") or "", kind), document, ("spec", "versions", index)


def _definition_faults(bundle: LoadedBundle, csv: Document) -> Iterator[Finding]:
    places: dict[Gvk, tuple[Document, Path]] = {}
    for key, document, path in _bundle_keys(bundle):
        if key in places:
            text = f"duplicate CRD {quoted(str(key))} in bundle {quoted(bundle.name)}"
            yield Reporter(BUNDLE, document).found(_DUPLICATE, text, path, value=key)
        places[key] = (document, path)
    owned: set[tuple[str, str]] = set()
    for key, index in owned_keys(csv):
        if places.pop(key, None) is None:
            text = f"owned CRD {quoted(str(key))} not found in bundle {quoted(bundle.name)}"
            path = ("spec", "customresourcedefinitions", "owned", index)
            yield Reporter(BUNDLE, csv).found(_NOT_FOUND, text, path, value=key)
        else:
            owned.add((key.group, key.kind))
    for key, (document, path) in sorted(places.items(), key=lambda each: each[0]):
        if (key.group, key.kind) not in owned:
            text = f"CRD {quoted(str(key))} is present in bundle {quoted(bundle.name)} but not defined in CSV"
            yield Reporter(BUNDLE, document).found(_NOT_OWNED, text, path, value=key)


def deployments(csv: Document) -> Iterator[Mapping[str, Any]]:
    """The deployments of the install strategy."""
    return mappings(mapping(mapping(csv.spec.get("install")).get("spec")).get("deployments"))


def _account_faults(bundle: LoadedBundle, csv: Document) -> Iterator[Finding]:
    names = {
        mapping(mapping(mapping(each.get("spec")).get("template")).get("spec")).get("serviceAccountName") or ""
        for each in deployments(csv)
    }
    for document in bundle.objects:
        if document.gvk == Gvk("", "v1", "ServiceAccount") and document.name in names:
            text = (
                f"invalid service account found in bundle. This service account {document.name} in your bundle is not valid, "
                "because a service account with the same name was already specified in your CSV. If this was unintentional, "
                "please remove the service account manifest from your bundle. If it was intentional to specify a separate "
                "service account, please rename the SA in either the bundle manifest or the CSV."
            )
            path = ("metadata", "name")
            yield Reporter(BUNDLE, document).found(_SERVICE_ACCOUNT, text, path, value=document.name)


def _size_faults(bundle: LoadedBundle) -> Iterator[Finding]:
    start = f"{bundle.root}/" if bundle.root else ""
    files = [data for path, data in bundle.files.items() if path.startswith(start)]
    size = sum(map(len, files))
    reporter = Reporter(BUNDLE)
    if size == 0:
        yield reporter.found(_UNKNOWN_SIZE, "unable to check the bundle size", value=bundle.name)
        return
    compressed = _compressed_size(files, size)
    shown = f"size=~{in_units(compressed)} , max={in_units(MAX_COMPRESSED_BYTES)}. Bundle uncompressed size is {in_units(size)}"
    if compressed > MAX_COMPRESSED_BYTES:
        text = f"maximum bundle compressed size with gzip size exceeded: {shown}"
        yield reporter.found(_TOO_LARGE, text, value=bundle.name)
    elif compressed > _WARNING_BYTES:
        text = f"nearing maximum bundle compressed size with gzip: {shown}"
        yield reporter.found(_NEARLY_TOO_LARGE, text, value=bundle.name)


def _compressed_size(files: list[bytes], size: int) -> int:
    """The sum of the sizes as gzip in base64; of files that are far from the limit an upper bound, which costs little."""
    bound = _base64_size(size) + 60 * len(files)
    if bound <= _WARNING_BYTES:
        return bound
    quick = sum(_base64_size(len(igzip_lib.compress(data, igzip_lib.ISAL_BEST_SPEED)) + 18) for data in files)
    if quick <= _WARNING_BYTES:
        return quick
    return sum(_base64_size(len(zlib.compress(data, 6)) + 12) for data in files)


def _base64_size(size: int) -> int:
    return -(-size // 3) * 4


def in_units(size: int) -> str:
    """A number of bytes in units of 1000, with one decimal: `910.5 kB`."""
    if size < 1000:
        return f"{size} B"
    divisor, power, rest = 1000, 0, size // 1000
    while rest >= 1000:
        divisor, power, rest = divisor * 1000, power + 1, rest // 1000
    return f"{size / divisor:.1f} {_UNITS[power]}B"
