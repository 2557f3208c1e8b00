"""The examples of custom resources in the annotations of a CSV, and the APIs that it provides. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from olmctl.validation.finding import OPERATION_FAILED, PARSE_ERROR, WARNING, Finding
from olmctl.validation.load import READ_OPTIONS, object_error
from olmctl.validation.loaded_bundle import Document, Gvk, gvk_of
from olmctl.validation.reporting import Path, Reporter, Rule, csv_rule
from olmkit.gocompat.go_leaf_types import json_kind
from olmkit.gocompat.go_yaml import GoYamlError, first_document
from olmkit.gocompat.go_yaml import load as load_yaml
from olmkit.gocompat.json_syntax import syntax_error_offset
from rukpak.format.objects import mapping, mappings

EXAMPLES, OTHER_EXAMPLES = "alm-examples", "olm.examples"
_LIST_TYPE = "[]unstructured.Unstructured"
_GUESSED_BYTES = 8
"""Kubernetes' decoder takes a text for JSON if a brace is among its first bytes."""
_OTHERWISE_IN_YAML: Final = re.compile("[\t\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff]|\\\\u")
"""Characters and escapes of JSON that are errors, or something else, in YAML."""
_ANNOTATIONS: Path = ("metadata", "annotations")

_NO_ANNOTATIONS = csv_rule(
    "annotations", "Add metadata.annotations with alm-examples: a JSON list of custom resources.", WARNING
)
_NO_EXAMPLES = csv_rule("examples", "Add the annotation alm-examples: a JSON list of custom resources.", WARNING)
_BOTH = csv_rule("examples-both", "Remove the annotation olm.examples.", WARNING)
_NO_JSON = Rule("examples-json", PARSE_ERROR, "Correct the JSON of the annotation.")
_NO_LIST = Rule("examples-objects", PARSE_ERROR, "Write a JSON list of objects with apiVersion and kind.")
_CRD_NAME = Rule("owned-crd-name", PARSE_ERROR, "Write the name as PLURAL.GROUP.")
_NOT_PROVIDED = Rule(
    "example-not-provided",
    OPERATION_FAILED,
    "Remove the example, or add its API to spec.customresourcedefinitions.owned.",
)
_NO_EXAMPLE = Rule("example-missing", OPERATION_FAILED, "Add an example of this kind to alm-examples.", WARNING)


def example_faults(validator: str, csv: Document) -> Iterator[Finding]:
    """The faults of the examples."""
    reporter = Reporter(validator, csv)
    annotations = csv.annotations
    if not annotations:
        yield reporter.csv_found(_NO_ANNOTATIONS, "annotations not found", ("metadata",))
        return
    name = EXAMPLES if EXAMPLES in annotations else OTHER_EXAMPLES
    if name not in annotations:
        yield reporter.csv_found(_NO_EXAMPLES, "example annotations not found", _ANNOTATIONS)
        return
    if name == EXAMPLES and OTHER_EXAMPLES in annotations:
        text = f"both `{EXAMPLES}` and `{OTHER_EXAMPLES}` are present. Checking only `{EXAMPLES}`"
        yield reporter.csv_found(_BOTH, text, (*_ANNOTATIONS, OTHER_EXAMPLES))
    path = (*_ANNOTATIONS, name)
    objects, rule, problem = _read(annotations[name] or "")
    if rule is not None:
        text = "invalid example" if rule is _NO_JSON else "error decoding example CustomResource"
        yield reporter.found(rule, text, path, value=problem)
        return
    yield from _api_faults(reporter, csv, {gvk_of(each) for each in objects}, path)


def _read(text: str) -> tuple[list[Any], Rule | None, str]:
    """The objects; or the rule that the text breaks, and Go's error."""
    data = text.encode(errors="replace")
    if not data:
        return [], None, ""
    value, error = _value(text, data)
    if error:
        return [], _NO_JSON, error
    starts_as_json = data[:_GUESSED_BYTES].lstrip().startswith(b"{")
    step = "" if starts_as_json else "error unmarshaling JSON: while decoding JSON: "
    if not starts_as_json and _OTHERWISE_IN_YAML.search(text):
        try:
            value = load_yaml(first_document(data), READ_OPTIONS)
        except GoYamlError as found:
            return [], _NO_LIST, f"error converting YAML to JSON: {found}"
    if value is None:
        return [], None, ""
    if not isinstance(value, list):
        return [], _NO_LIST, f"{step}json: cannot unmarshal {json_kind(value)} into Go value of type {_LIST_TYPE}"
    for each in value:
        problem = "Object 'Kind' is missing in 'null'" if each is None else object_error(each)
        if problem:
            return [], _NO_LIST, step + problem
    return value, None, ""


def _value(text: str, data: bytes) -> tuple[Any, str]:
    """The value of a JSON text; or Go's error with the place."""
    try:
        return orjson.loads(data), ""
    except orjson.JSONDecodeError:
        pass
    offset = syntax_error_offset(data)
    if offset is None:  # JSON that orjson refuses: a number beyond float64, half of a surrogate pair, deep nesting
        try:
            return load_yaml(data, READ_OPTIONS), ""
        except GoYamlError as error:
            return None, f"error converting YAML to JSON: {error}"
    before = data[:offset].decode(errors="replace")
    return None, f"invalid character at {offset}\n {before}<--(see the invalid character)"


def provided_apis(csv: Document) -> Iterator[tuple[Gvk | None, Path]]:
    """The owned APIs with their places; None for a definition whose name has no group."""
    owned = mapping(csv.spec.get("customresourcedefinitions")).get("owned")
    for index, each in enumerate(mappings(owned)):
        _, dot, group = (each.get("name") or "").partition(".")
        gvk = Gvk(group, each.get("version") or "", each.get("kind") or "") if dot else None
        yield gvk, ("spec", "customresourcedefinitions", "owned", index)
    services = mapping(csv.spec.get("apiservicedefinitions")).get("owned")
    for index, each in enumerate(mappings(services)):
        gvk = Gvk(*(each.get(key) or "" for key in ("group", "version", "kind")))
        yield gvk, ("spec", "apiservicedefinitions", "owned", index)


def _api_faults(reporter: Reporter, csv: Document, examples: set[Gvk], path: Path) -> Iterator[Finding]:
    provided: dict[Gvk, Path] = {}
    for gvk, place in provided_apis(csv):
        if gvk is None:
            owned = csv.spec["customresourcedefinitions"]["owned"][place[-1]]
            text = f"couldn't parse plural.group from crd name: {owned.get('name') or ''}"
            yield reporter.found(_CRD_NAME, text, place)
        else:
            provided.setdefault(gvk, place)
    for gvk in sorted(examples - provided.keys()):
        yield reporter.found(_NOT_PROVIDED, "example must have a provided API", path, value=gvk)
    for gvk in sorted(provided.keys() - examples):
        text = "provided API should have an example annotation"
        yield reporter.found(_NO_EXAMPLE, text, provided[gvk], value=gvk)
