"""Makes extra findings, with the line of what they are about. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from olmctl.validation.extra.parsed_files import ParsedFile, parse_file
from olmctl.validation.finding import VALIDATION_FAILED, Finding, Level, detailed
from olmctl.validation.loaded_bundle import CRD, Document, LoadedBundle
from olmctl.validation.places import line_of
from rukpak.format.files import ANNOTATIONS_FILE
from rukpak.format.objects import mapping, mappings

VALIDATOR = "extra"
MAX_VALUE = 100
"""Characters of a value that a message shows."""

Path = tuple[str | int, ...]


def dotted(path: Sequence[str | int]) -> str:
    """The path as messages show it: spec.install.spec.deployments[0].name."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def shown(value: Any) -> str:
    """A value for messages, in quotes and not too long."""
    text = value if isinstance(value, str) else repr(value)
    return f'"{text}"' if len(text) <= MAX_VALUE else f'"{text[:MAX_VALUE]}…"'


class Place(NamedTuple):
    """The place of a finding: a value in a file, or a line of it, or the file."""

    file: str
    data: bytes = b""
    path: Sequence[str | int] = ()
    line: int = 0


def found_at(
    level: Level, rule: str, text: str, document: Document, path: Sequence[str | int] = (), hint: str = ""
) -> Finding:
    """A finding about a value of an object."""
    return found_in(level, rule, text, Place(document.file, document.data, path), hint)


def found_in(level: Level, rule: str, text: str, place: Place, hint: str) -> Finding:
    """A finding about a file."""
    line = line_of(place.data, place.path) if place.data else max(place.line, 1)
    field = dotted(place.path)
    value = "" if field else place.file
    message = detailed(level, text, field, value or None)
    return Finding(level, message, VALIDATOR, VALIDATION_FAILED, field, value, place.file, line, rule, True, hint)


@dataclass(frozen=True)
class Checked:
    """A bundle with what the extra checks share."""

    bundle: LoadedBundle

    @cached_property
    def files(self) -> Mapping[str, ParsedFile]:
        """The files of manifests and metadata that are YAML or JSON, by path."""
        folders = (f"{self.bundle.manifests}/", "metadata/")
        return {
            name: parse_file(data)
            for name, data in self.bundle.files.items()
            if name.startswith(folders) and name.endswith((".yaml", ".yml", ".json"))
        }

    @cached_property
    def annotations_file(self) -> str:
        """The file of the annotations; empty if there is none."""
        return self.bundle.annotations_file or (ANNOTATIONS_FILE if ANNOTATIONS_FILE in self.files else "")

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations, also of a bundle that could not be loaded."""
        if self.bundle.annotations_file:
            return self.bundle.annotations
        parsed = self.files.get(self.annotations_file)
        return mapping(mapping(parsed.first).get("annotations")) if parsed else {}

    @property
    def csv(self) -> Document:
        """The ClusterServiceVersion; only for checks that run if there is one."""
        assert self.bundle.csv is not None
        return self.bundle.csv

    @property
    def install_spec(self) -> Mapping[str, Any]:
        """spec.install.spec of the ClusterServiceVersion."""
        return mapping(mapping(self.csv.spec.get("install")).get("spec"))

    @cached_property
    def deployments(self) -> tuple[tuple[int, Mapping[str, Any]], ...]:
        """The Deployments of the ClusterServiceVersion with their indexes."""
        return tuple(entries(self.install_spec.get("deployments")))

    @cached_property
    def crds(self) -> tuple[Document, ...]:
        """The CustomResourceDefinitions of every version."""
        return tuple(each for each in self.bundle.documents if each.kind == CRD)

    @cached_property
    def schemas(self) -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
        """(group, version, kind) -> the schema of this version of a CustomResourceDefinition of v1, if it has one."""
        made: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        for crd in self.bundle.v1_crds:
            group, kind = str(crd.spec.get("group")), str(mapping(crd.spec.get("names")).get("kind"))
            for version in mappings(crd.spec.get("versions")):
                schema = mapping(version.get("schema")).get("openAPIV3Schema")
                if isinstance(schema, Mapping):
                    made[group, str(version.get("name")), kind] = schema
        return made

    @cached_property
    def status_subresources(self) -> frozenset[tuple[str, str]]:
        """(apiVersion, kind) of the versions of definitions whose status is a subresource."""
        return frozenset(
            (f"{crd.spec.get('group')}/{version.get('name')}", str(mapping(crd.spec.get("names")).get("kind")))
            for crd in self.bundle.v1_crds
            for version in mappings(crd.spec.get("versions"))
            if "status" in mapping(version.get("subresources"))
        )

    def owned(self, relation: str = "owned") -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The descriptions of definitions that the ClusterServiceVersion owns, or requires, with their indexes."""
        yield from entries(mapping(self.csv.spec.get("customresourcedefinitions")).get(relation))


def entries(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings of a list with their indexes; none if it is no list."""
    items = value if isinstance(value, list) else ()
    return ((index, item) for index, item in enumerate(items) if isinstance(item, Mapping))
