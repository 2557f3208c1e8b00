"""Evaluates custom resources for the forms that they are checked for: validity, dropped fields, fields that have a value.

Patterns are evaluated in linear time, as the API server does. Nothing is fetched, and no value of an object is returned. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jsonschema_rs import Draft4Validator, RegexOptions

from olmkit.crd_safety.dropped_fields import dropped, has_value
from olmkit.crd_safety.evidence import MAX_OBJECTS_SHOWN, PATTERN, Check, Evidence
from olmkit.crd_safety.problem import InvalidObject
from olmkit.crd_safety.structural import json_schema, patterns, repeated, unchecked, with_defaults

MAX_PATH_LENGTH = 200


def evaluate(check: Check, objects: Sequence[Mapping[str, Any]]) -> Evidence:
    """Collect the evidence of the objects, in their order. Patterns that only Go understands are left out."""
    if check.schema is None:
        return Evidence(len(objects), present=frozenset(check.watched) if objects else frozenset())
    validated = check.schema if check.is_validated else {}
    try:
        validator, left_out = _validator(validated)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return Evidence(len(objects), unknown=f"the schema cannot be evaluated: {type(error).__name__}")
    invalid, lossy = list[InvalidObject](), list[InvalidObject]()
    left = set(check.watched)
    for obj in objects:
        if field := _loss(check, obj):
            lossy.append(_named(obj, f"{field[:MAX_PATH_LENGTH]} is dropped"))
        if not check.is_validated:
            continue
        whole = with_defaults(check.schema, obj)
        if problem := _problem(validator, whole) or next(repeated(check.schema, whole), ""):
            invalid.append(_named(obj, problem))
        left -= {path for path in left if has_value(whole, path)}
    return Evidence(
        len(objects),
        tuple(invalid[: MAX_OBJECTS_SHOWN + 1]),
        len(invalid),
        tuple(lossy[: MAX_OBJECTS_SHOWN + 1]),
        len(lossy),
        frozenset(check.watched) - left,
        frozenset(f"{PATTERN}{pattern}" for pattern in left_out) | unchecked(validated),
    )


def _loss(check: Check, obj: Mapping[str, Any]) -> str:
    """The first field that the new schema drops, and that was not dropped before; empty if there is none."""
    assert check.schema is not None
    lost = sorted(set(dropped(check.schema, obj)))
    if not lost:
        return ""
    known = set(dropped(check.before, obj))
    return next((path for path in lost if path not in known), "")


def _validator(schema: Mapping[str, Any]) -> tuple[Draft4Validator, list[str]]:
    """The validator, and the patterns that it leaves out. Raises ValueError if the schema cannot be evaluated without them."""
    whole = json_schema(schema)
    try:
        return _compiled(whole), []
    except ValueError:
        left_out = [each for each in sorted(patterns(whole)) if not _is_understood(each)]
        return _compiled(json_schema(schema, left_out)), left_out


def _is_understood(pattern: str) -> bool:
    try:
        _compiled({"pattern": pattern})
    except ValueError:
        return False
    return True


def _compiled(schema: dict[str, Any]) -> Draft4Validator:
    return Draft4Validator(schema, validate_formats=False, pattern_options=RegexOptions())


def _named(obj: Mapping[str, Any], problem: str) -> InvalidObject:
    metadata = obj["metadata"]
    return InvalidObject(metadata.get("namespace", ""), metadata["name"], problem)


def _problem(validator: Draft4Validator, obj: Any) -> str:
    """The first error; empty when there is none."""
    error = next(iter(validator.iter_errors(obj)), None)
    if error is None:
        return ""
    missing = getattr(error.kind, "property", "")
    rule = f"{error.kind.name} {missing}" if missing else error.kind.name
    path = _path(error.instance_path)[:MAX_PATH_LENGTH]
    return f"{path}: {rule}" if path else rule


def _path(parts: Iterable[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".")
