"""The format of a bundle: its directories, the labels of its annotations file, its dependencies. As operator-registry checks it;
each fault is a finding of its own, with the bare text. Pure.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

from olmctl.validation.file_tree import FileTree
from olmctl.validation.finding import Finding
from olmctl.validation.load import MANIFESTS_LABEL, READ_OPTIONS, BundleObjects, media_type
from olmctl.validation.load_faults import LoadFault
from olmctl.validation.loaded_bundle import Document, LoadedBundle
from olmctl.validation.reporting import Reporter, Rule
from olmkit.fbc.checks.version_errors import range_error
from olmkit.gocompat.go_decode_errors import decode_error
from olmkit.gocompat.go_unmarshal import unmarshal
from olmkit.gocompat.go_yaml import GoYamlError, first_document
from olmkit.gocompat.go_yaml import load as load_yaml
from olmkit.gocompat.text import quoted

FORMAT = "format"
_LABEL = "operators.operatorframework.io.bundle.{}.v1"
MEDIA_TYPE_LABEL, METADATA_LABEL = _LABEL.format("mediatype"), _LABEL.format("metadata")
PACKAGE_LABEL, CHANNELS_LABEL = _LABEL.format("package"), _LABEL.format("channels")
DEFAULT_CHANNEL_LABEL = _LABEL.format("channel.default")
_REQUIRED = (MEDIA_TYPE_LABEL, MANIFESTS_LABEL, METADATA_LABEL, PACKAGE_LABEL, CHANNELS_LABEL)
_DEPENDENCIES: Final = {
    "olm.gvk": "registry.GVKDependency",
    "olm.package": "registry.PackageDependency",
    "olm.label": "registry.LabelDependency",
    "olm.constraint": "registry.CelConstraint",
}

_DIRECTORIES = Rule(
    "format-directory",
    "",
    "Put the manifests into the directory manifests and the annotations file into the directory metadata.",
)
_CONTENT = Rule("format-manifests", "", "Put the manifests into the directory manifests.")
_NO_ANNOTATIONS = Rule("format-annotations", "", "Write metadata/annotations.yaml with a mapping `annotations`.")
_MISSING = Rule("format-label-missing", "", "Add the annotation to metadata/annotations.yaml.")
_VALUE = Rule("format-label-value", "", "Correct the value of the annotation in metadata/annotations.yaml.")
_DEPENDENCY = Rule(
    "format-dependency",
    "",
    "Write the dependency as {type: olm.package, value: {packageName, version: RANGE}}, {type: olm.gvk, value: {group, "
    "version, kind}} or {type: olm.constraint, value: {cel: {rule}}}.",
)


def check(bundle: LoadedBundle) -> Iterator[Finding]:
    """The faults of the format."""
    reporter = Reporter(FORMAT)
    missing = [name for name in ("manifests", "metadata") if name not in bundle.directories]
    if missing:
        for name in missing:
            yield reporter.bare(_DIRECTORIES, f"Unable to locate {name} directory")
        return
    tree = FileTree(bundle.files, bundle.directories)
    detected = bundle.media_type
    if bundle.root != "manifests":
        try:
            detected = media_type(BundleObjects(tree), "manifests", bundle.origin.rstrip("/"))
        except LoadFault as fault:
            yield reporter.bare(_CONTENT, fault.text)
            detected = ""
    annotations, dependencies = _metadata_files(tree)
    if annotations is None:
        yield reporter.bare(_NO_ANNOTATIONS, "Could not find annotations file")
    else:
        yield from _label_faults(annotations, detected)
    if dependencies is not None:
        yield from _dependency_faults(dependencies)


def _metadata_files(tree: FileTree) -> tuple[Document | None, Document | None]:
    """The first file of metadata/ with annotations, and the first of the others with dependencies."""
    annotations: Document | None = None
    dependencies: Document | None = None
    for name in tree.names("metadata"):
        path = posixpath.join("metadata", name)
        if path not in tree.files:
            continue
        if annotations is None:
            read = _decoded(path, tree.files[path], "bundle.AnnotationMetadata")
            if read is not None and read.body.get("annotations") is not None:
                annotations = read
                continue
        if dependencies is None:
            read = _decoded(path, tree.files[path], "registry.DependenciesFile")
            if read is not None and read.body.get("dependencies"):
                dependencies = read
    return annotations, dependencies


def _decoded(path: str, data: bytes, type_name: str) -> Document | None:
    """The first document of a file as a type; None if it is none."""
    try:
        value = load_yaml(first_document(data), READ_OPTIONS)
    except GoYamlError:
        return None
    body, problem = unmarshal(type_name, value)
    return None if problem or not isinstance(body, dict) else Document(path, data, body)


def _label_faults(document: Document, detected: str) -> Iterator[Finding]:
    reporter = Reporter(FORMAT, document)
    labels: Mapping[str, str | None] = document.body["annotations"]
    for label in _REQUIRED:
        if label not in labels:
            yield reporter.bare(_MISSING, f"Missing annotation {quoted(label)}", ("annotations",))
    found = labels.get(MEDIA_TYPE_LABEL) or ""
    if found != detected:
        wanted = f"to have value {quoted(detected)} instead of {quoted(found)}"
        path = ("annotations", MEDIA_TYPE_LABEL)
        yield reporter.bare(_VALUE, f"Expecting annotation {quoted(MEDIA_TYPE_LABEL)} {wanted}", path)
    for label in (CHANNELS_LABEL, DEFAULT_CHANNEL_LABEL):
        if not labels.get(label) and (label in labels or label == CHANNELS_LABEL):
            text = f"Expecting annotation {quoted(label)} to have non-empty value"
            yield reporter.bare(_VALUE, text, ("annotations", label))


def _dependency_faults(document: Document) -> Iterator[Finding]:
    reporter = Reporter(FORMAT, document)
    for number, dependency in enumerate(document.body["dependencies"]):
        for text in _dependency_errors(dependency or {}):
            yield reporter.bare(_DEPENDENCY, text, ("dependencies", number))


def _dependency_errors(dependency: Mapping[str, Any]) -> list[str]:
    kind = dependency.get("type") or ""
    type_name = _DEPENDENCIES.get(kind)
    if type_name is None or "value" not in dependency or decode_error(type_name, dependency["value"]):
        return [f"couldn't parse dependency of type {kind}"]
    value = unmarshal(type_name, dependency["value"])[0] or {}
    match kind:
        case "olm.gvk":
            return [f"API {name.title()} is empty" for name in ("group", "version", "kind") if not value.get(name)]
        case "olm.package":
            return _package_errors(value)
        case "olm.label":
            return [] if value.get("label") else ["Label information is missing"]
        case _:
            return _constraint_errors(value)


def _package_errors(value: Mapping[str, Any]) -> list[str]:
    errors = [] if value.get("packageName") else ["Package name is empty"]
    if not value.get("version"):
        errors.append("Package version is empty")
    elif range_error(value["version"]):
        errors.append("Invalid semver format version")
    return errors


def _constraint_errors(value: Mapping[str, Any]) -> list[str]:
    if value.get("cel") is None:
        return ["The CEL field is missing"]
    rule = value["cel"].get("rule")
    if not rule:
        return ["The CEL expression is missing"]
    from operator_controller.resolve.requirements.cel import BadRule, check_rule  # the library is slow to import

    try:
        check_rule(rule)
    except BadRule as error:
        return [f"Invalid CEL expression: {error}"]
    return []
