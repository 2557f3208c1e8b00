"""The faults that keep a bundle from being loaded: each with its place, and with what to do about it.

The text is upstream's. What to do is decided where the fault is found, and never read from the text. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from olmctl.validation.file_tree import FileTree
from olmctl.validation.places import line_of
from olmkit.gocompat.go_decode_errors import wrong_value
from olmkit.gocompat.go_types import LIST, MAP, POINTER, STRUCTS, split_type

GIVE_BUNDLE: Final = "Give the directory of one version of one bundle: the one that contains manifests/ and metadata/."
ADD_METADATA: Final = (
    "Add metadata/annotations.yaml with the package and the channels: `olm bundle generate` writes it."
)
ADD_ANNOTATIONS: Final = (
    "Write the mapping `annotations` with the package and the channels: `olm bundle generate` does."
)
MANIFESTS_OUTSIDE: Final = "Write manifests/, and put the manifests there."
ADD_MANIFESTS: Final = (
    "Put the manifests there, or correct the annotation that names the directory: it is manifests/ otherwise."
)
ADD_CSV: Final = (
    "Add a file with the ClusterServiceVersion: `olm bundle generate` makes it of the manifests of a project."
)
CORRECT_FILES: Final = "Correct the files there that cannot be read: one of them may have the ClusterServiceVersion."
ONE_CSV: Final = "Keep one ClusterServiceVersion: a bundle is one version, and each version has a directory of its own."
CORRECT_YAML: Final = "Correct the YAML of this line."
NO_OBJECT: Final = (
    "Move the file out of the directory: each file in it must be an object with apiVersion, kind and metadata."
)
ADD_KIND: Final = "Add apiVersion and kind, or move the file out of the directory: each file in it must be an object."
CRD_V1: Final = "Write apiextensions.k8s.io/v1."
FLATTEN: Final = "Move the files of this directory into the one above it: the manifests are read from one directory."
REMOVE_HIDDEN: Final = "Remove the file, or move it out of the directory."
REPLACE_LINK: Final = "Replace it by a file: only files inside the bundle are read."
MOVE_ANNOTATIONS: Final = "Correct the file, or move it into metadata/."

_WORDS: Final = {
    "string": "text",
    "v1alpha1.InstallModeType": "text",
    "bool": "true or false",
    "float": "a number",
    "int32": "a whole number",
    "int64": "a whole number",
    "uint8": "a whole number from 0 to 255",
    "[]uint8": "text in base64",
    "quantity": "a quantity such as 100m or 1Gi",
    "intorstring": "a number or text",
    "time": 'a time such as "2026-01-31T12:00:00Z"',
    "version": 'a semantic version in quotes, such as "1.2.3"',
}
"""Scalars of the table of Go types -> what a person writes for them."""


@dataclass
class LoadFault(Exception):
    """The bundle cannot be loaded: upstream's text, the place of the fault, and one sentence about how to correct it."""

    text: str
    file: str = ""
    line: int = 0
    hint: str = ""
    field: str = ""
    is_unreadable: bool = False
    """True for a file that is no YAML, so that nobody knows what is in it."""

    def __str__(self) -> str:
        return self.text


def type_fault(text: str, type_name: str, value: Any, file: str, data: bytes) -> LoadFault:
    """The fault of a file whose value Go does not read as this type."""
    wrong = wrong_value(type_name, value)
    if wrong is None:
        return LoadFault(text, file)
    field = dotted(wrong.path)
    hint = f"Write {f'{field} as ' if field else ''}{wanted(wrong.type_name)}."
    return LoadFault(text, file, line_of(data, wrong.path), hint, field)


def no_metadata_hint(tree: FileTree, origin: str) -> str:
    """The hint about a directory without annotations: it is another one than was meant, or they are missing."""
    is_bundle = "manifests" in tree.directories or "metadata" in tree.directories
    return ADD_METADATA if is_bundle else _bundles_below(tree, origin) or GIVE_BUNDLE


def no_manifests_hint(tree: FileTree, origin: str) -> str:
    """The hint about a directory without manifests: the bundle is in a directory below it, or they are missing."""
    is_bundle = "manifests" in tree.directories or "metadata" in tree.directories
    return (not is_bundle and _bundles_below(tree, origin)) or ADD_MANIFESTS


def _bundles_below(tree: FileTree, origin: str) -> str:
    """The hint that names the bundles in the directories below; empty if there are none."""
    above = (path.removesuffix("/manifests") for path in tree.directories if path.endswith("/manifests"))
    found = sorted(f"{origin}/{path}" for path in above if f"{path}/metadata" in tree.directories)
    if not found:
        return ""
    return f"Give the directory of a bundle, such as {found[0]}: {origin} itself is none."


def wanted(type_name: str) -> str:
    """The value of a type as a person writes it."""
    name = type_name.removeprefix(POINTER)
    form, _ = split_type(name)
    if name in _WORDS:
        return _WORDS[name]
    if form == LIST:
        return "a list"
    return "a mapping" if form == MAP or name in STRUCTS else "a schema"


def dotted(path: Sequence[str | int]) -> str:
    """The path as messages show it: spec.installModes[0].type."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
