"""Reads the files of a bundle as upstream's loader does: its metadata, its media type, the first document of each file.

Each step can be used alone. A fault that upstream takes for fatal is raised with upstream's text, in which paths begin with the
bundle's name as the user gave it. Never leaves the directory. Pure.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from olmctl.validation.file_tree import NO_SUCH_FILE, FileTree
from olmctl.validation.load_faults import (
    ADD_ANNOTATIONS,
    ADD_CSV,
    ADD_KIND,
    CORRECT_FILES,
    CORRECT_YAML,
    CRD_V1,
    FLATTEN,
    MANIFESTS_OUTSIDE,
    MOVE_ANNOTATIONS,
    NO_OBJECT,
    ONE_CSV,
    REMOVE_HIDDEN,
    REPLACE_LINK,
    LoadFault,
    no_manifests_hint,
    no_metadata_hint,
    type_fault,
)
from olmctl.validation.loaded_bundle import CRD, CSV, V1, V1BETA1, Document, LoadedBundle, gvk_of
from olmctl.validation.places import line_of
from olmkit.gocompat.go_unmarshal import unmarshal
from olmkit.gocompat.go_yaml import GoYamlError, first_document
from olmkit.gocompat.go_yaml import load as load_yaml
from olmkit.gocompat.numbers import float_text
from olmkit.gocompat.yaml_composer import ReadOptions

REGISTRY, PLAIN, HELM = "registry+v1", "plain", "helm"
"""Media types of contents."""
MANIFESTS_LABEL = "operators.operatorframework.io.bundle.manifests.v1"
ANNOTATIONS_FILE = "metadata/annotations.yaml"
CSV_TYPE = "v1alpha1.ClusterServiceVersion"
CRD_TYPES: Final = {V1: "CustomResourceDefinition", V1BETA1: "v1beta1.CustomResourceDefinition"}
_ROOT: Final = "\0"
"""Stands for the root of the bundle where a path that leads outside is to be seen: no file has this name."""
MAX_TEXT_CHARACTERS = 20_000
"""Characters of an object that an error quotes."""
READ_OPTIONS: Final = ReadOptions(
    max_bytes=32 * 1024**2, max_depth=200, bytes_per_value=4, exact_numbers=False, text_in_binary=False
)
"""The limits of each file; orjson writes no more than 254 levels."""


class BundleObjects:
    """The files of a bundle, and the object in each: read at the first use, once."""

    def __init__(self, tree: FileTree) -> None:
        """Reads nothing yet."""
        self.tree = tree
        self._read: dict[str, dict[str, Any] | LoadFault] = {}

    def at(self, path: str) -> dict[str, Any]:
        """The object in the first document of a file; empty for comments alone. Raises LoadFault."""
        if path not in self._read:
            try:
                self._read[path] = read_object(self.tree.files[path])
            except LoadFault as fault:
                self._read[path] = fault
        found = self._read[path]
        if isinstance(found, LoadFault):
            raise replace(found)
        return found

    @property
    def has_unreadable(self) -> bool:
        """True if a file that was read is no YAML."""
        return any(isinstance(each, LoadFault) and each.is_unreadable for each in self._read.values())

    def is_csv(self, path: str) -> bool:
        """Report whether the file has a ClusterServiceVersion."""
        try:
            return self.at(path).get("kind") == CSV
        except LoadFault:
            return False


@dataclass
class _Loading:
    """The objects of one directory, and the faults so far: texts, and the first one that has a place."""

    objects: BundleObjects
    origin: str
    texts: list[str] = field(default_factory=list)
    first: LoadFault | None = None
    has_csv: bool = False
    documents: list[Document] | None = None
    csv: Document | None = None
    directory: str = ""

    @property
    def tree(self) -> FileTree:
        return self.objects.tree

    def shown(self, path: str) -> str:
        return f"{self.origin}/{path}" if path else self.origin

    def locate(self, fault: LoadFault) -> str:
        """Keep the place and the hint of the fault, if it is the first one; returns its text."""
        self.first = self.first or fault
        return fault.text


@dataclass
class Contents:
    """The objects of a bundle: those in the directory of its CSV."""

    csv: Document
    documents: list[Document]
    directory: str
    name: str
    """metadata.name of the CSV as it is written: Go's type also finds fields in another case."""


def load(tree: FileTree, origin: str, directory: str = "") -> LoadedBundle:
    """The bundle. `origin` begins the paths in texts. Raises LoadFault."""
    shown = origin.rstrip("/") or origin
    annotations, annotations_file = find_metadata(tree, shown)
    label = annotations.get(MANIFESTS_LABEL)
    manifests = manifests_directory(label, shown)
    objects = BundleObjects(tree)
    detected = media_type(objects, manifests, shown)
    loaded = bundle_of(tree, origin, directory, load_objects(objects, manifests, shown))
    return replace(
        loaded, annotations=annotations, annotations_file=annotations_file, media_type=detected, root=manifests
    )


def bundle_of(tree: FileTree, origin: str, directory: str, found: Contents) -> LoadedBundle:
    """The bundle of these files and objects, without annotations."""
    return LoadedBundle(
        origin=origin,
        files=tree.files,
        name=found.name,
        manifests=found.directory,
        csv=found.csv,
        documents=found.documents,
        directory=directory,
        directories=tree.directories,
    )


def find_metadata(tree: FileTree, origin: str) -> tuple[Mapping[str, str], str]:
    """The annotations of the bundle, and the file that they are in. Raises LoadFault."""
    if ANNOTATIONS_FILE in tree.files:
        annotations = _read_annotations(tree, ANNOTATIONS_FILE, origin)
        if annotations:
            return annotations, ANNOTATIONS_FILE
    for path in tree.walk(""):
        if path in tree.files and not path.startswith("."):
            try:
                annotations = _read_annotations(tree, path, origin)
            except LoadFault:
                continue
            if annotations:
                return annotations, path
    text = f"metadata not found in {origin}"
    if ANNOTATIONS_FILE not in tree.files:
        raise LoadFault(text, hint=no_metadata_hint(tree, origin))
    line = line_of(tree.files[ANNOTATIONS_FILE], ("annotations",))
    raise LoadFault(text, ANNOTATIONS_FILE, line, ADD_ANNOTATIONS, "annotations")


def _read_annotations(tree: FileTree, path: str, origin: str) -> Mapping[str, str]:
    start = f"error unmarshalling potential bundle metadata {origin}/{path}: "
    try:
        value = load_yaml(tree.files[path], READ_OPTIONS)
    except GoYamlError as error:
        raise LoadFault(f"{start}error converting YAML to JSON: {error}", path, error.line, CORRECT_YAML) from error
    read, problem = unmarshal("bundle.AnnotationMetadata", value)
    if problem:
        text = f"{start}error unmarshaling JSON: while decoding JSON: {problem}"
        raise type_fault(text, "bundle.AnnotationMetadata", value, path, tree.files[path])
    found = (read or {}).get("annotations") or {}
    return {key: text or "" for key, text in found.items()}


def manifests_directory(label: str | None, origin: str) -> str:
    """The directory of the manifests that the label names, without one "manifests". Raises LoadFault for one outside."""
    if label is None:
        return "manifests"
    path = posixpath.normpath("/".join((_ROOT, label)))
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        shown = posixpath.normpath(f"{origin}/{label}")
        text = f"The directory {shown} of the annotation {MANIFESTS_LABEL} is outside the bundle"
        raise LoadFault(text, ANNOTATIONS_FILE, hint=MANIFESTS_OUTSIDE, field=f"annotations.{MANIFESTS_LABEL}")
    return path.removeprefix(_ROOT).removeprefix("/")


def media_type(objects: BundleObjects, directory: str, origin: str) -> str:
    """The media type of the files in a directory. Raises LoadFault for a file that cannot be read, or without files."""
    tree = objects.tree
    start = f"{directory}/" if directory else ""
    names = [name for name in tree.names(directory) if start + name not in tree.directories]
    for name in names:
        if start + name in tree.unreadable:
            raise LoadFault(f"Unable to read file {origin}/{start}{name} in bundle", start + name, hint=REPLACE_LINK)
    if not names:
        text = f"The directory {_joined(origin, directory)} contains no yaml files"
        raise LoadFault(text, directory, hint=no_manifests_hint(tree, origin))
    if "Chart.yaml" in names and _is_chart(tree.files[f"{start}Chart.yaml"]):
        return HELM
    return REGISTRY if any(objects.is_csv(start + name) for name in names) else PLAIN


def _is_chart(data: bytes) -> bool:
    try:
        value = load_yaml(data, READ_OPTIONS)
    except GoYamlError:
        return False
    return isinstance(value, dict) and bool(value.get("name"))


def load_objects(objects: BundleObjects, directory: str, origin: str) -> Contents:
    """The objects in the directory, below `directory`, that holds a CSV. Raises LoadFault."""
    loading = _Loading(objects, origin)
    is_hidden = posixpath.basename(directory).startswith(".")
    for path in () if is_hidden else objects.tree.walk(directory):
        _visit(loading, path)
    if not loading.has_csv:
        text = f"unable to find a csv in bundle directory {_joined(origin, directory)}"
        hint = CORRECT_FILES if objects.has_unreadable else ADD_CSV
        loading.texts.append(loading.locate(LoadFault(text, directory, hint=hint)))
    elif loading.documents is None:
        loading.texts.append(f"unable to load bundle from directory {_joined(origin, directory)}")
    if loading.texts:
        raise replace(loading.first or LoadFault(""), text=aggregated(loading.texts))
    assert loading.csv is not None
    assert loading.documents is not None
    name = Document("", b"", objects.at(loading.csv.file)).name
    return Contents(loading.csv, loading.documents, loading.directory, name)


def aggregated(texts: Iterable[str]) -> str:
    """Several errors as Kubernetes joins them, each once."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def _visit(loading: _Loading, path: str) -> None:
    """Load the directory of the file if the file has a CSV."""
    name = posixpath.basename(path)
    if name.startswith("."):
        return
    if name.startswith("annotations") and path in loading.tree.files:
        problem = _annotations_problem(loading.tree.files[path])
        if problem:
            text = f"unable to load the annotations file {loading.shown(path)}: {problem}"
            loading.texts.append(loading.locate(LoadFault(text, path, hint=MOVE_ANNOTATIONS)))
            return
    if path in loading.tree.unreadable:
        loading.texts.append(_open_error(loading, path))
        return
    if not loading.objects.is_csv(path):
        return
    loading.has_csv = True
    texts, documents, csv = _load_directory(loading, posixpath.dirname(path))
    if texts:
        loading.texts.append(f"error loading objs in directory: {aggregated(texts)}")
    if csv is None:
        loading.texts.append("no bundle csv found")
        return
    loading.documents, loading.csv, loading.directory = documents, csv, posixpath.dirname(path)


def _annotations_problem(data: bytes) -> str:
    try:
        value = load_yaml(data, READ_OPTIONS)
    except GoYamlError as error:
        return f"error converting YAML to JSON: {error}"
    problem = unmarshal("manifests.AnnotationsFile", value)[1]
    return f"error unmarshaling JSON: while decoding JSON: {problem}" if problem else ""


def _open_error(loading: _Loading, path: str) -> str:
    why = loading.tree.unreadable[path]
    step = "open " if why == NO_SUCH_FILE else ""
    text = f"unable to load file {loading.shown(path)}: {step}{loading.shown(path)}: {why}"
    return loading.locate(LoadFault(text, path, hint=REPLACE_LINK))


def _load_directory(loading: _Loading, directory: str) -> tuple[list[str], list[Document], Document | None]:
    """The errors, the objects, and the CSV among them: None if the directory cannot be loaded."""
    texts: list[str] = []
    documents: list[Document] = []
    csv: Document | None = None
    for name in loading.tree.names(directory):
        path = f"{directory}/{name}" if directory else name
        document, text = _read_entry(loading, path)
        if document is None:
            texts.append(text)
            continue
        try:
            document = _typed(document, name, has_csv=csv is not None)
        except LoadFault as fault:
            return [loading.locate(fault)], [], None
        if document.kind == CSV:
            csv = document
        documents.append(document)
    return texts, documents, csv


def _read_entry(loading: _Loading, path: str) -> tuple[Document | None, str]:
    """The object in a file; or None and the error."""
    name = posixpath.basename(path)
    if path in loading.tree.directories:
        text = f"bundle manifests dir contains directory: {loading.shown(path)}"
        return None, loading.locate(LoadFault(text, path, hint=FLATTEN))
    if name.startswith("."):
        text = f"bundle manifests dir has hidden file: {loading.shown(path)}"
        return None, loading.locate(LoadFault(text, path, hint=REMOVE_HIDDEN))
    if path in loading.tree.unreadable:
        return None, _open_error(loading, path)
    try:
        return Document(path, loading.tree.files[path], loading.objects.at(path)), ""
    except LoadFault as fault:
        return None, loading.locate(replace(fault, text=f"unable to decode object: {fault.text}", file=path))


def read_object(data: bytes) -> dict[str, Any]:
    """The object in the first document, as Kubernetes' decoder reads one; empty for comments alone. Raises LoadFault."""
    try:
        value = load_yaml(first_document(data), READ_OPTIONS)
    except GoYamlError as error:
        is_yaml = error.text.startswith("yaml: ")
        text = f"error converting YAML to JSON: {error.text}" if is_yaml else error.text
        hint = CORRECT_YAML if error.line else NO_OBJECT
        raise LoadFault(text, line=error.line, hint=hint, is_unreadable=bool(error.line)) from error
    if value is None:
        return {}
    problem = object_error(value)
    if problem:
        hint = ADD_KIND if isinstance(value, dict) else NO_OBJECT
        raise LoadFault(f"error unmarshaling JSON: while decoding JSON: {problem}", line=line_of(data, ()), hint=hint)
    body: dict[str, Any] = value
    return body


def object_error(value: Any) -> str:
    """Go's error for a JSON value that is no object with a kind; empty for one."""
    if not isinstance(value, dict):
        kind = {bool: "bool", str: "string", list: "array"}.get(type(value), "number")
        return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    if not gvk_of(value).kind:
        return f"Object 'Kind' is missing in '{go_json(value)[:MAX_TEXT_CHARACTERS]}'"
    return ""


def go_json(value: Any) -> str:
    """The value as Go's encoder writes it: with sorted keys, and without characters of HTML."""
    text = orjson.dumps(_go_numbers(value), option=orjson.OPT_SORT_KEYS).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _go_numbers(value: Any) -> Any:
    """The value with floats as Go's encoder writes them."""
    if isinstance(value, dict):
        return {key: _go_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_go_numbers(each) for each in value]
    return orjson.Fragment(float_text(value).encode()) if isinstance(value, float) else value


def _typed(document: Document, name: str, *, has_csv: bool) -> Document:
    """The document with the fields of its Go type under their names. Raises LoadFault."""
    what = "CSV" if document.kind == CSV else "CRD"
    if document.kind == CSV:
        if has_csv:
            raise LoadFault("invalid bundle: contains multiple CSVs", document.file, 1, ONE_CSV)
        type_name = CSV_TYPE
    elif document.kind == CRD:
        version = document.api_version
        if version not in CRD_TYPES:
            line = line_of(document.data, ("apiVersion",))
            raise LoadFault(f"unsupported CRD version {version} for {name}", document.file, line, CRD_V1, "apiVersion")
        type_name = CRD_TYPES[version]
    else:
        return document
    body, problem = unmarshal(type_name, document.body)
    if problem:
        text = f"unable to parse {what} {name}: error unmarshaling JSON: while decoding JSON: {problem}"
        raise type_fault(text, type_name, body, document.file, document.data)
    return Document(document.file, document.data, body)


def _joined(origin: str, directory: str) -> str:
    return f"{origin}/{directory}" if directory else origin
