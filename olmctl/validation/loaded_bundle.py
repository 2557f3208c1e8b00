"""The files of a bundle, and the objects that upstream's loader reads from them: the first document of each file. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from rukpak.format.objects import group_of, mapping

V1, V1BETA1 = "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"
CSV, CRD = "ClusterServiceVersion", "CustomResourceDefinition"


class Gvk(NamedTuple):
    """Group, version and kind, printed as Go prints them."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        """`group/version, Kind=K`; `/v1, Kind=K` for the core group."""
        return f"{self.group}/{self.version}, Kind={self.kind}"


@dataclass(frozen=True, eq=False)
class Document:
    """The first document of a file. `body` has the fields of the object, and of known types also those of its parts, under
    their names, whatever case they have in the file."""

    file: str
    """The path, relative to the root of the bundle."""
    data: bytes = field(repr=False)
    body: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind; empty if it is no text."""
        return _text(self.body, "kind")

    @property
    def api_version(self) -> str:
        """The apiVersion; empty if it is no text."""
        return _text(self.body, "apiVersion")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata; empty if it is no mapping."""
        return mapping(self.body.get("metadata"))

    @property
    def name(self) -> str:
        """metadata.name; empty if it is no text."""
        return _text(self.metadata, "name")

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec; empty if it is no mapping."""
        return mapping(self.body.get("spec"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """metadata.annotations; empty if it is no mapping."""
        return mapping(self.metadata.get("annotations"))

    @cached_property
    def gvk(self) -> Gvk:
        """Group, version and kind, as gvk_of has them."""
        return gvk_of(self.body)


@dataclass(frozen=True, eq=False)
class LoadedBundle:
    """A bundle. `csv` is None and `documents` is empty if the load failed: then only the files are there."""

    origin: str
    """The directory or the image as the user named it."""
    files: Mapping[str, bytes] = field(repr=False)
    """All files by their path relative to the root, hidden ones too."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """The annotations of metadata/annotations.yaml, or of the file that stands in for it."""
    annotations_file: str = ""
    media_type: str = ""
    """The media type that the content has: registry+v1, plain or helm."""
    manifests: str = "manifests"
    """The directory of the CSV and of the other objects."""
    csv: Document | None = None
    documents: Sequence[Document] = ()
    """The first document of each file of `manifests`, by file name: the CSV, the CRDs and the others."""
    directory: str = ""
    """The directory on this machine that the files are from; empty for an image."""
    root: str = "manifests"
    """The directory that the annotations name for the manifests: `manifests`, or one above it."""
    directories: frozenset[str] = frozenset()
    """All directories below the root."""
    name: str = ""
    """metadata.name of the CSV, as it is written."""

    @cached_property
    def v1_crds(self) -> tuple[Document, ...]:
        """The CustomResourceDefinitions of apiextensions.k8s.io/v1."""
        return tuple(each for each in self.documents if each.kind == CRD and each.api_version == V1)

    @cached_property
    def v1beta1_crds(self) -> tuple[Document, ...]:
        """The CustomResourceDefinitions of apiextensions.k8s.io/v1beta1."""
        return tuple(each for each in self.documents if each.kind == CRD and each.api_version == V1BETA1)

    @cached_property
    def objects(self) -> tuple[Document, ...]:
        """The objects that are neither a CSV nor a CustomResourceDefinition."""
        return tuple(each for each in self.documents if each.kind not in (CSV, CRD))


def gvk_of(body: Mapping[str, Any]) -> Gvk:
    """Group, version and kind as Kubernetes' unstructured objects have them: all empty for an apiVersion with two slashes."""
    version = _text(body, "apiVersion")
    if version.count("/") > 1:
        return Gvk("", "", "")
    return Gvk(group_of(version), version.rpartition("/")[2], _text(body, "kind"))


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
