"""Examples of custom resources, descriptors of their fields, and the icon: what users see of a bundle. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from olmctl.validation.extra.report import Checked, Path, entries, found_at
from olmctl.validation.extra.schema_faults import lost_fields, value_problem, without_nulls
from olmctl.validation.finding import WARNING, Finding
from olmctl.validation.go_values import format_value
from rukpak.format.objects import group_of, mapping

EXAMPLES: Final = ("alm-examples", "olm.examples")
MAX_PATHS: Final = 5
"""Paths of descriptors that one finding names."""
MAX_STEPS: Final = 10_000
"""Parts of a schema that are looked through for one path."""
MAX_EXAMPLES: Final = 200
"""Examples that are compared with schemas."""
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_SIGNATURES: Final[Mapping[str, tuple[bytes, ...]]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
}


def example_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about examples."""
    name = next((each for each in EXAMPLES if checked.csv.annotations.get(each)), "")
    text = checked.csv.annotations.get(name)
    if not isinstance(text, str):
        return
    try:
        listed: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return  # upstream's finding
    path: Path = ("metadata", "annotations", name)
    for index, example in entries(listed[:MAX_EXAMPLES] if isinstance(listed, list) else None):
        version, kind = format_value(example.get("apiVersion") or ""), format_value(example.get("kind") or "")
        schema = checked.schemas.get((group_of(version), version.rpartition("/")[2], kind))
        what = f"the example {index + 1} ({kind})"
        if schema is None:
            continue
        if example.get("spec") is None and isinstance(mapping(schema.get("properties")).get("spec"), Mapping):
            hint = "Write a spec with which the operator works."
            yield found_at(WARNING, "example-spec", f"{what} has no spec", checked.csv, path, hint)
        elif problem := refusal(schema, example, (version, kind) in checked.status_subresources, what):
            hint = "Correct the example: the API server refuses it."
            yield found_at(WARNING, "example-schema", problem, checked.csv, path, hint)
        elif lost := lost_fields(schema, example):
            text = f"{what} has the field {lost[0]}, which the schema does not have: it is dropped"
            yield found_at(
                WARNING, "example-field", text, checked.csv, path, "Remove the field, or add it to the schema."
            )


def refusal(schema: Mapping[str, Any], example: Mapping[str, Any], is_status_dropped: bool, what: str) -> str:
    """The reason why the API server refuses to create an example; empty if it takes it.

    The API server drops nulls that may be nothing, and a status that is a subresource. Metadata has rules of its own.
    """
    left_out = {"metadata"} | ({"status"} if is_status_dropped else set())
    kept = {name: value for name, value in example.items() if name not in left_out}
    return value_problem(schema, without_nulls(schema, {**kept, "metadata": {}}), what)


def descriptor_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about descriptors whose path the schema does not have."""
    for index, item in checked.owned():
        name, version, kind = (format_value(item.get(each) or "") for each in ("name", "version", "kind"))
        schema = checked.schemas.get((name.partition(".")[2], version, kind))
        if schema is None:
            continue
        for field in ("spec", "status"):
            inner = mapping(schema.get("properties")).get(field)
            start = inner if isinstance(inner, Mapping) else schema
            wrong = [
                (number, text)
                for number, descriptor in entries(item.get(f"{field}Descriptors"))
                if not _has_path(start, text := format_value(descriptor.get("path") or ""))
                and not schema.get(_PRESERVES)
            ]
            if not wrong:
                continue
            names = ", ".join(f"{field}.{text}" for _, text in wrong[:MAX_PATHS])
            more = f" and {len(wrong) - MAX_PATHS} more" if len(wrong) > MAX_PATHS else ""
            path = ("spec", "customresourcedefinitions", "owned", index, f"{field}Descriptors", wrong[0][0], "path")
            text = f"the schema of {kind} has no {names}{more}"
            hint = f"Write the paths of fields below {field}."
            yield found_at(WARNING, "descriptor-path", text, checked.csv, path, hint)


def _has_path(schema: Mapping[str, Any], path: str) -> bool:
    """Report whether the schema keeps a field at this path: `a.b`, `list[0].name`. Names may have dots."""
    pending = [(schema, path.replace("[", ".[").strip("."))] if path else []
    seen: set[tuple[int, int]] = set()
    while pending:
        known, left = pending.pop()
        if not left or known.get(_PRESERVES) or known.get("additionalProperties"):
            return True  # the rest may be one key of a mapping: keys have dots
        if (id(known), len(left)) in seen or len(seen) > MAX_STEPS:
            continue
        seen.add((id(known), len(left)))
        if isinstance(items := known.get("items"), Mapping):
            step, _, rest = left.partition(".")
            pending.append((items, rest if step.startswith("[") or step.isdigit() or step == "*" else left))
            continue
        for name, field in mapping(known.get("properties")).items():
            if isinstance(field, Mapping) and (left == name or left.startswith(f"{name}.")):
                pending.append((field, left[len(name) + 1 :]))
    return False


def icon_findings(checked: Checked) -> Iterator[Finding]:
    """The findings about the icon."""
    for index, icon in entries(checked.csv.spec.get("icon")):
        data, kind = icon.get("base64data"), format_value(icon.get("mediatype") or "")
        if not isinstance(data, str) or not data:
            continue
        path: Path = ("spec", "icon", index, "base64data")
        try:
            content = base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            hint = "Encode the file of the icon: base64 -w0 icon.svg"
            yield found_at(WARNING, "icon-data", "the icon is not base64", checked.csv, path, hint)
            continue
        if kind and not _is_of_type(content, kind):
            text = f"the icon is no {kind}"
            yield found_at(WARNING, "icon-data", text, checked.csv, path, "Write the media type that the file has.")


def _is_of_type(content: bytes, kind: str) -> bool:
    if kind in _SIGNATURES:
        return content.startswith(_SIGNATURES[kind])
    if kind == "image/svg+xml":
        return b"<svg" in content or content.startswith((b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"))
    return True
