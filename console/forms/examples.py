"""Documents to begin an instance with: the examples of the publisher, or an empty template. Pure.

The annotations are the publisher's text: what is too large, too deep or of another form is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from console.forms.descriptors import Schema
from console.forms.schema_form import kind_of
from olmctl.terminal import clean, shorten
from olmkit.gocompat.json_depth import is_deeper

EXAMPLES: Final = ("alm-examples", "olm.examples")
METADATA: Final = "alm-examples-metadata"
INITIALIZATION: Final = "operatorframework.io/initialization-resource"
INTERNAL: Final = "operators.operatorframework.io/internal-objects"
MAX_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 32
MAX_EXAMPLES: Final = 50
"""Examples of one kind."""
_MAX_TEMPLATE_DEPTH: Final = 6
_OUTSIDE: Final = ("apiVersion", "kind", "metadata", "status")
_ZEROS: Final[Mapping[str, Any]] = {"boolean": False, "array": [], "object": {}, "string": "", "int-or-string": ""}


@dataclass(frozen=True)
class Example:
    """A document to begin with. `title` and `text` are for people."""

    title: str
    text: str
    document: dict[str, Any]
    is_first: bool = False
    """True if the publisher says that it is the first to create."""


def examples(annotations: Mapping[str, Any], api_version: str, kind: str) -> tuple[Example, ...]:
    """The examples of a kind, the one to create first before the others."""
    described = _json(annotations.get(METADATA))
    found: list[Example] = []
    first = _json(annotations.get(INITIALIZATION))
    sources: list[tuple[Any, bool]] = [(first, True)]
    for name in EXAMPLES:
        listed = _json(annotations.get(name))
        sources += [(each, False) for each in (listed if isinstance(listed, list) else [listed])]
    for document, is_first in sources:
        if len(found) == MAX_EXAMPLES:
            break
        if not isinstance(document, dict) or (document.get("apiVersion"), document.get("kind")) != (api_version, kind):
            continue
        if any(each.document == document for each in found):
            continue
        name = _name(document)
        about = described.get(name) if isinstance(described, dict) else None
        text = about.get("description") if isinstance(about, dict) else ""
        shown = shorten(clean(text), 500) if isinstance(text, str) else ""
        found.append(Example(clean(name)[:253] or f"Example {len(found) + 1}", shown, document, is_first))
    return tuple(found)


def begun(document: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The document as it is created: without a status, in this namespace ("" if the kind has none)."""
    metadata = document.get("metadata")
    kept = dict(metadata) if isinstance(metadata, dict) else {}
    for name in ("namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"):
        kept.pop(name, None)
    if namespace:
        kept["namespace"] = namespace
    first = {key: document[key] for key in ("apiVersion", "kind") if key in document}
    return {**first, "metadata": kept, **{key: value for key, value in document.items() if key not in _OUTSIDE}}


def empty_template(schema: Schema, api_version: str, kind: str) -> Example:
    """An object with a name to write and the required fields."""
    fields = _required_fields(schema, 0)
    properties = schema.get("properties")
    spec = properties.get("spec") if isinstance(properties, dict) else None
    if isinstance(spec, dict) and (required := _required_fields(spec, 1)):
        fields = {**fields, "spec": required}
    kept = {key: value for key, value in fields.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": ""}, **kept}
    return Example("An empty template", "", document)


def _required_fields(schema: Schema, depth: int) -> dict[str, Any]:
    fields, required = schema.get("properties"), schema.get("required")
    if not isinstance(fields, dict) or not isinstance(required, list) or depth > _MAX_TEMPLATE_DEPTH:
        return {}
    return {
        name: _template(fields[name], depth)
        for name in required
        if isinstance(name, str) and isinstance(fields.get(name), dict) and "default" not in fields[name]
    }


def _template(schema: Schema, depth: int) -> Any:
    kind, enum = kind_of(schema), schema.get("enum")
    if isinstance(enum, list) and enum:
        return enum[0]
    if kind in ("integer", "number"):
        low = schema.get("minimum")
        return low if isinstance(low, int | float) and not isinstance(low, bool) else 0
    if kind == "object" or isinstance(schema.get("properties"), dict):
        return _required_fields(schema, depth + 1)
    zero = _ZEROS.get(kind, {})
    return list(zero) if isinstance(zero, list) else dict(zero) if isinstance(zero, dict) else zero


def internal_kinds(annotations: Mapping[str, Any]) -> frozenset[str]:
    """The names of CustomResourceDefinitions that the publisher does not offer to people."""
    found = _json(annotations.get(INTERNAL))
    return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()


def _json(text: object) -> Any:
    """The value of an annotation; None if it is none, too large or too deep."""
    if not isinstance(text, str) or len(text) > MAX_BYTES:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return None if is_deeper(value, MAX_DEPTH) else value


def _name(document: Mapping[str, Any]) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    return name if isinstance(name, str) else ""
