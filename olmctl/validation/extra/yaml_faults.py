"""The faults that upstream's loader passes over: further documents, keys that stand twice, integers that lose digits, objects
without apiVersion or in two files, and fields that nobody reads. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from olmctl.validation.extra.parsed_files import rounded_numbers
from olmctl.validation.extra.report import Checked, Place, found_at, found_in, shown
from olmctl.validation.extra.unknown_fields import unknown_fields
from olmctl.validation.finding import ERROR, WARNING, Finding
from olmctl.validation.loaded_bundle import CSV, Document
from olmkit.gocompat.parse_errors import ParseError
from rukpak.format.objects import BundleObject

_CSV_VERSION: Final = "operators.coreos.com/v1alpha1"
_MAX_UNKNOWN: Final = 20
"""Unknown fields of one object that are reported."""
_MAX_NAME: Final = 100
"""Characters of the name of a field that is compared with the known ones."""


def file_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about files that need no object: they are there even if the bundle cannot be loaded."""
    for name, parsed in checked.files.items():
        for each in parsed.duplicates:
            text = f"the key {shown(each.key)} stands twice in one mapping, first in line {each.first_line}: the last one counts"
            yield found_in(ERROR, "duplicate-key", text, Place(name, line=each.line), "Keep one of them.")
        for number in rounded_numbers(checked.bundle.files[name]):
            text = (
                f"{shown(number.text)} does not fit into 64 bits: Kubernetes reads the number {number.value!r} instead"
            )
            place, hint = Place(name, line=number.line), "Write it in quotes, as text."
            yield found_in(WARNING, "rounded-number", text, place, hint)
        in_manifests = name.startswith(f"{checked.bundle.manifests}/")
        if in_manifests and parsed.error is not None:
            yield _unreadable(name, parsed.error)
        if len(parsed.documents) > 1:
            text = f"has {len(parsed.documents)} documents: many tools read the first one only, and lose the others"
            hint = "Put each object into a file of its own." if in_manifests else "Keep one document."
            yield found_in(WARNING, "several-documents", text, Place(name), hint)


def _unreadable(name: str, error: ParseError) -> Finding:
    place, hint = Place(name, line=error.line), "Correct the YAML of this line."
    return found_in(ERROR, "unreadable-file", f"cannot be read: {error.text}", place, hint)


def object_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about the identity of objects."""
    seen: dict[tuple[object, ...], Document] = {}
    for document in checked.bundle.documents:
        if document.kind and not document.api_version:
            text = f"{document.kind} {document.name} has no apiVersion"
            yield found_at(ERROR, "api-version", text, document, hint="Add apiVersion, such as v1.")
            continue
        if document.kind == CSV and document.api_version != _CSV_VERSION:
            text = f"the ClusterServiceVersion is of {shown(document.api_version)}, and must be of {_CSV_VERSION}"
            yield found_at(WARNING, "csv-other-api-version", text, document, ("apiVersion",), f"Write {_CSV_VERSION}.")
        if not document.kind or not document.name or not isinstance(document.metadata.get("namespace") or "", str):
            continue
        key = BundleObject(document.body).key
        if (first := seen.setdefault(key, document)) is not document:
            text = f"{key} is in {first.file} too"
            yield found_at(ERROR, "object-twice", text, document, hint="Keep one of the two files.")


def unknown_field_findings(checked: Checked) -> Iterator[Finding]:
    """The fields of the ClusterServiceVersion and of CustomResourceDefinitions that their types do not have."""
    if checked.bundle.csv is not None:
        yield from _unknown(checked.csv, "v1alpha1.ClusterServiceVersion")
    for crd in checked.bundle.v1_crds:
        yield from _unknown(crd, "CustomResourceDefinition")


def _unknown(document: Document, type_name: str) -> Iterator[Finding]:
    for number, (path, known) in enumerate(unknown_fields(type_name, document.body)):
        if number == _MAX_UNKNOWN:
            return
        name = str(path[-1])
        near = get_close_matches(name, known, 1, 0.75) if len(name) <= _MAX_NAME else []
        meant = f", and {near[0]} is one" if near else ""
        text = f"{document.kind} has no field {name[:_MAX_NAME]} there{meant}: it is dropped"
        hint = f"Rename it to {near[0]}, or remove it." if near else "Remove it, or move it to where it belongs."
        yield found_at(WARNING, "unknown-field", text, document, path, hint)
