"""The six built-in tests, with the verdicts of operator-sdk (sdk 3.3). Each needs the files of a bundle only. Pure.

A crash of operator-sdk, such as for an example whose spec is no mapping, is an error with its cause here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from olmctl.scorecard.results import Result, State, bounded
from olmctl.validation import crd_rules, csv_rules, format, whole_bundle
from olmctl.validation.file_tree import FileTree
from olmctl.validation.finding import ERROR
from olmctl.validation.load import (
    MANIFESTS_LABEL,
    READ_OPTIONS,
    BundleObjects,
    bundle_of,
    find_metadata,
    load_objects,
    manifests_directory,
    object_error,
)
from olmctl.validation.load_faults import LoadFault
from olmctl.validation.loaded_bundle import Document, LoadedBundle, gvk_of
from olmkit.gocompat.go_leaf_types import json_kind
from olmkit.gocompat.go_yaml import GoYamlError
from olmkit.gocompat.go_yaml import load as load_yaml
from olmkit.gocompat.json_syntax import syntax_error
from rukpak.format.objects import mapping, mappings

EXAMPLES = "alm-examples"
_NO_STATUS = (
    "{} does not have status spec. Note that all objects that represent a physical resource whose state may vary from the "
    "user's desired intent SHOULD have a spec and a status. More info: https://github.com/kubernetes/community/blob/master/"
    "contributors/devel/sig-architecture/api-conventions.md#spec-and-status"
)
_NO_STATUS_DESCRIPTOR = (
    "add status descriptor for the crd {}. If your project is built using Golang you can use the csv markers. More info: "
    "https://sdk.operatorframework.io/docs/building-operators/golang/references/markers/"
)

Example = Mapping[str, Any]


class BadExamples(ValueError):
    """The annotation alm-examples cannot be read; the message is operator-sdk's."""


def load_bundle(tree: FileTree, origin: str, directory: str = "") -> LoadedBundle:
    """The bundle as the scorecard loads it: its objects may lie in any directory. Raises LoadFault."""
    shown = origin.rstrip("/") or origin
    found = load_objects(BundleObjects(tree), "", shown)
    annotations, annotations_file = find_metadata(tree, shown)
    try:
        root = manifests_directory(annotations.get(MANIFESTS_LABEL), shown)
    except LoadFault:  # a directory outside the bundle, which the scorecard does not use
        root = "manifests"
    loaded = bundle_of(tree, origin, directory, found)
    return replace(loaded, annotations=annotations, annotations_file=annotations_file, root=root)


def run_builtin(name: str, bundle: LoadedBundle) -> Result:
    """The result of a test by the name of its command."""
    result = TESTS[name](bundle)
    errors, suggestions = (bounded(texts, len(texts)) for texts in (result.errors, result.suggestions))
    return replace(result, errors=errors, suggestions=suggestions)


def examples_of(bundle: LoadedBundle) -> list[Example]:
    """The custom resources of the annotation alm-examples. Raises BadExamples."""
    text = _csv(bundle).annotations.get(EXAMPLES)
    if not isinstance(text, str) or not text:
        return []
    try:
        return _decoded(text.encode(errors="replace"))
    except BadExamples as error:
        raise BadExamples(f"failed to parse alm-examples annotation: {error}") from None


def _decoded(data: bytes) -> list[Example]:
    if problem := syntax_error(data):
        raise BadExamples(problem)
    try:
        value = load_yaml(data, READ_OPTIONS)
    except GoYamlError as error:
        raise BadExamples(str(error)) from error
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadExamples(
            f"json: cannot unmarshal {json_kind(value)} into Go value of type []unstructured.Unstructured"
        )
    for each in value:
        if each is not None and (problem := object_error(each)):
            raise BadExamples(problem)
    return [each or {} for each in value]


def _basic_check_spec(bundle: LoadedBundle) -> Result:
    result = Result("basic-check-spec")
    try:
        examples = examples_of(bundle)
    except BadExamples as error:
        result.state, result.errors = State.FAIL, [f"error getting custom resources: {error}"]
        return result
    lacking = next((each for each in examples if each.get("spec") is None), None)
    if lacking is not None:
        result.suggestions.append(f"spec missing from [{_name(lacking)}]")
    return result


def _bundle_validation(bundle: LoadedBundle) -> Result:
    result = Result("olm-bundle-validation")
    # The format is that of the directory manifests, wherever the objects are.
    faults = [finding.message for finding in format.check(replace(bundle, root=""))]
    if faults:
        result.errors.append(f"Bundle validation errors: {','.join(faults)}")
    for check in (whole_bundle.check, csv_rules.check, crd_rules.check):
        for finding in check(bundle):
            (result.errors if finding.level == ERROR else result.suggestions).append(finding.message)
    result.state = State.FAIL if result.errors else State.PASS
    return result


def _crds_have_validation(bundle: LoadedBundle) -> Result:
    result = Result("olm-crds-have-validation")
    for example in _examples(bundle, result):
        for crd in bundle.v1_crds:
            _check_validation(example, crd, result)
    return result


def _check_validation(example: Example, crd: Document, result: Result) -> None:
    gvk = gvk_of(example)
    kind = mapping(crd.spec.get("names")).get("kind") or ""
    if kind.casefold() != gvk.kind.casefold():
        return
    for version in mappings(crd.spec.get("versions")):
        if (version.get("name") or "").casefold() != gvk.version.casefold():
            continue
        schema = mapping(version.get("schema")).get("openAPIV3Schema")
        if schema is None:
            result.suggestions.append(f"Add CRD validation for {gvk.kind}/{gvk.version}")
            continue
        known = mapping(schema.get("properties"))
        for part in ("spec", "status"):
            properties = mapping(mapping(known.get(part)).get("properties"))
            for key in _keys(example, part, result):
                if key not in properties:
                    result.state = State.FAIL
                    text = f"Add CRD validation for {part} field `{key}` in {gvk.kind}/{gvk.version}"
                    result.suggestions.append(text)


def _crds_have_resources(bundle: LoadedBundle) -> Result:
    result = Result("olm-crds-have-resources")
    if any(not each.get("resources") for each in _owned(bundle)):
        result.state, result.errors = State.FAIL, ["Owned CRDs do not have resources specified"]
    return result


def _spec_descriptors(bundle: LoadedBundle) -> Result:
    result = Result("olm-spec-descriptors")
    for example in _examples(bundle, result):
        if example.get("spec") is None:
            result.state = State.FAIL
            continue
        owned = _owned_of(bundle, example, result)
        if owned is None:
            continue
        paths = {each.get("path") for each in mappings(owned.get("specDescriptors"))}
        for key in _keys(example, "spec", result):
            if key not in paths:
                result.state = State.FAIL
                result.errors.append(f"{key} does not have a spec descriptor")
                result.suggestions.append(f"Add a spec descriptor for {key}")
    return result


def _status_descriptors(bundle: LoadedBundle) -> Result:
    result = Result("olm-status-descriptors")
    for example in _examples(bundle, result):
        owned = _owned_of(bundle, example, result)
        if owned is None:
            continue
        name = owned.get("name") or ""
        if not example.get("status"):
            result.suggestions.append(_NO_STATUS.format(name))
        elif not owned.get("statusDescriptors"):
            result.state = State.FAIL
            result.errors.append(f"{name} does not have a status descriptor")
            result.suggestions.append(_NO_STATUS_DESCRIPTOR.format(name))
    return result


TESTS: Final[Mapping[str, Callable[[LoadedBundle], Result]]] = {
    "basic-check-spec": _basic_check_spec,
    "olm-bundle-validation": _bundle_validation,
    "olm-crds-have-validation": _crds_have_validation,
    "olm-crds-have-resources": _crds_have_resources,
    "olm-spec-descriptors": _spec_descriptors,
    "olm-status-descriptors": _status_descriptors,
}
"""The built-in tests by the names of their commands."""


def _csv(bundle: LoadedBundle) -> Document:
    assert bundle.csv is not None  # load_bundle refuses a bundle without one
    return bundle.csv


def _examples(bundle: LoadedBundle, result: Result) -> list[Example]:
    """The examples; an error in the result if they cannot be read."""
    try:
        return examples_of(bundle)
    except BadExamples as error:
        result.state, result.errors = State.ERROR, [str(error)]
        return []


def _owned(bundle: LoadedBundle) -> Iterator[Mapping[str, Any]]:
    definitions = mapping(_csv(bundle).spec.get("customresourcedefinitions"))
    yield from mappings(definitions.get("owned"))


def _owned_of(bundle: LoadedBundle, example: Example, result: Result) -> Mapping[str, Any] | None:
    """The owned definition of an example's kind and version; a failure in the result if there is none."""
    gvk = gvk_of(example)
    for each in _owned(bundle):
        same_kind = (each.get("kind") or "").casefold() == gvk.kind.casefold()
        if same_kind and (each.get("version") or "").casefold() == gvk.version.casefold():
            return each
    result.state = State.FAIL
    result.errors.append(f"Failed to find an owned CRD for CR {_name(example)} with GVK {gvk}")
    return None


def _keys(example: Example, part: str, result: Result) -> list[str]:
    """The keys of the spec or the status of an example; an error in the result if it is no mapping."""
    value = example.get(part)
    if value is None:
        return []
    if not isinstance(value, dict):
        result.state = State.ERROR
        result.errors.append(f"the {part} of {_name(example)} in alm-examples is no object")
        return []
    return list(value)


def _name(example: Example) -> str:
    name = mapping(example.get("metadata")).get("name")
    return name if isinstance(name, str) else ""
