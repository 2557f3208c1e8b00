"""The rules about what a version of a CustomResourceDefinition has: subresources, printer columns, selectable fields. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from olmctl.validation.crd_form import Parts
from olmctl.validation.object_metadata import DUPLICATE, INVALID, REQUIRED, TOO_MANY, FieldError
from rukpak.format.objects import mapping

MAX_SELECTABLE_FIELDS = 8
_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE: Final = ("string", "boolean", "integer")
_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'")


def part_errors(parts: Parts, field: str, *, is_version: bool) -> Iterator[FieldError]:
    """The errors of the parts of a version, or of those that all versions share."""
    yield from _scale_errors(mapping(mapping(parts.subresources).get("scale")), f"{field}.subresources.scale")
    for index, column in enumerate(parts.columns or ()):
        yield from _column_errors(column, f"{field}.additionalPrinterColumns[{index}]")
    if parts.selectable_fields:
        schema = mapping(parts.schema).get("openAPIV3Schema")
        if is_version and schema is None:
            text = "selectableFields may only be set when version.schema.openAPIV3Schema is not included"
            yield FieldError(INVALID, f"{field}.selectableFields", "", text)
        elif parts.schema is None:
            text = "selectableFields may only be set when validations.schema is included"
            yield FieldError(INVALID, f"{field}.selectableFields", "", text)
        else:
            yield from _selectable_errors(parts.selectable_fields, mapping(schema), f"{field}.selectableFields")


def _scale_errors(scale: Mapping[str, Any], field: str) -> Iterator[FieldError]:
    if not scale:
        return
    replicas = scale.get("specReplicasPath") or ""
    if not replicas:
        yield FieldError(REQUIRED, f"{field}.specReplicasPath")
    elif text := _path_error(replicas):
        yield FieldError(INVALID, f"{field}.specReplicasPath", replicas, text)
    elif not replicas.startswith(".spec."):
        yield FieldError(INVALID, f"{field}.specReplicasPath", replicas, "should be a json path under .spec")
    selector = scale.get("labelSelectorPath") or ""
    if selector and (text := _path_error(selector)):
        yield FieldError(INVALID, f"{field}.labelSelectorPath", selector, text)
    elif selector and not selector.startswith((".spec.", ".status.")):
        text = "should be a json path under either .spec or .status"
        yield FieldError(INVALID, f"{field}.labelSelectorPath", selector, text)


def _path_error(path: str) -> str:
    return "" if path.startswith(".") else "must be a simple json path starting with ."


def _column_errors(column: Mapping[str, Any], field: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield FieldError(REQUIRED, f"{field}.name")
    kind, written = column.get("type") or "", column.get("format") or ""
    if kind not in _TYPES:
        text = f"must be one of {','.join(_TYPES)}"
        yield FieldError(INVALID if kind else REQUIRED, f"{field}.type", kind, text)
    if written and written not in _FORMATS:
        yield FieldError(INVALID, f"{field}.format", written, f"must be one of {','.join(_FORMATS)}")
    if not column["path"]:
        yield FieldError(REQUIRED, f"{field}.JSONPath")
    elif text := _path_error(column["path"]):
        yield FieldError(INVALID, f"{field}.JSONPath", column["path"], text)


def _selectable_errors(paths: Sequence[str], schema: Mapping[str, Any], field: str) -> Iterator[FieldError]:
    known: set[tuple[str, ...]] = set()
    for index, path in enumerate(paths):
        place = f"{field}[{index}].jsonPath"
        if not path:
            yield FieldError(REQUIRED, place)
            continue
        steps, found, problem = _followed(path, schema)
        if problem:
            yield FieldError(INVALID, place, path, f"is an invalid path: {problem}")
            continue
        if steps[0] == "metadata":
            yield FieldError(INVALID, place, path, "must not point to fields in metadata")
        if found.get("type") not in _SELECTABLE:
            text = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats"
            )
            yield FieldError(INVALID, place, path, f"{text} are allowed.")
        if steps in known:
            yield FieldError(DUPLICATE, place, path)
        known.add(steps)
    if len(known) > MAX_SELECTABLE_FIELDS:
        yield FieldError(TOO_MANY, field, len(known), f"must have at most {MAX_SELECTABLE_FIELDS} items")


def _followed(path: str, schema: Mapping[str, Any]) -> tuple[tuple[str, ...], Mapping[str, Any], str]:
    """The fields of a path, the schema that it leads to, and the error of a path that leads nowhere."""
    steps: list[str] = []
    tokens = iter(_TOKENS.findall(path))
    for token in tokens:
        if token == "[":
            return (), {}, "array notation is not allowed"
        if token != ".":
            return (), {}, f"expected [ or . but got: {token}"
        name = next(tokens, None)
        if name is None:
            return (), {}, "unexpected end of JSON path"
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if properties is not None:
            if name not in properties:
                return (), {}, "does not refer to a valid field"
            schema = mapping(properties[name])
        elif others is not None:
            schema = mapping(others)
        else:
            return (), {}, "does not refer to a valid field"
        steps.append(name)
    return tuple(steps), schema, ""
