"""The facts about a bundle that commands need before it is installed: its name, its upgrades, its requirements. Pure.

They are recorded with the BundleDeployment as an Operator records those of a catalog, so that the next command finds them there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from olmctl.authoring.bundle_blobs import CSV_METADATA, registry_blob
from olmctl.bundle.edges import Edges
from olmctl.questions.operator_state import part, text_at
from olmkit.api.bundle_annotations import RECORDED_ANNOTATIONS
from olmkit.fbc import bundle_files
from olmkit.fbc.bundle_files import BadBundleFiles
from olmkit.gocompat.versions import BadVersion, parse_bundle_version
from operator_controller.resolve.package.package_content import Bundle as ResolvedBundle
from operator_controller.resolve.package.package_content import Property
from rukpak.format import Bundle, RegistryBundle, read_plain, read_registry
from rukpak.format.objects import texts

SKIP_RANGE_ANNOTATION = "olm.skipRange"
_NO_IMAGE = "none"
"""Stands for the image of a blob, which then has no copies of the manifests."""


@dataclass(frozen=True)
class BundleFacts:
    """A bundle that was read. All but `content` is empty for a plain bundle, which says nothing about itself."""

    content: Bundle
    properties: tuple[Property, ...] = field(default=(), repr=False)
    """The kinds that it provides, and its requirements."""
    problem: str = ""
    """The reason why the properties are not known; "" if they are."""

    @property
    def registry(self) -> RegistryBundle | None:
        """The content, if it is a registry+v1 bundle."""
        return self.content if isinstance(self.content, RegistryBundle) else None

    @property
    def package(self) -> str:
        """Its package."""
        return self.registry.package if self.registry else ""

    @property
    def name(self) -> str:
        """The name of its ClusterServiceVersion."""
        return self.registry.csv_name if self.registry else ""

    @property
    def version(self) -> str:
        """The version of its ClusterServiceVersion."""
        text = text_at(self.registry.spec if self.registry else {}, "version")
        try:
            return str(parse_bundle_version(text))
        except BadVersion:
            return text

    @property
    def edges(self) -> Edges:
        """The upgrades to it."""
        if self.registry is None:
            return Edges("")
        spec, annotations = self.registry.spec, self.registry.csv_annotations
        skips = texts(part(spec, "skips"))
        skip_range = text_at(annotations, SKIP_RANGE_ANNOTATION)
        return Edges(self.name, text_at(spec, "replaces"), tuple(skips), skip_range, self.version)

    def annotations(self) -> Mapping[str, str]:
        """The annotations of the template of a BundleDeployment that record it."""
        resolved = ResolvedBundle(self.name, "", None, properties=self.properties)
        recorded = resolved.recorded_properties if self.properties else ""
        known = {"name": self.name, "version": self.version, "package": self.package, "properties": recorded}
        return {RECORDED_ANNOTATIONS[key]: value for key, value in known.items() if value}


def facts_of(files: Mapping[str, bytes]) -> BundleFacts:
    """The facts of the files of a bundle. Raises BadBundle."""
    if not any(path.startswith("metadata/") for path in files):
        return BundleFacts(read_plain(files))
    content = read_registry(files)
    try:
        blob = registry_blob(bundle_files.read_registry(files), _NO_IMAGE, summarized=True)
        properties = orjson.loads(orjson.dumps(blob["properties"]))  # numbers are fragments of JSON before
    except (BadBundleFiles, orjson.JSONDecodeError) as error:
        return BundleFacts(content, problem=str(error))
    kept = (Property(each["type"], each.get("value")) for each in properties if each["type"] != CSV_METADATA)
    return BundleFacts(content, tuple(kept))
