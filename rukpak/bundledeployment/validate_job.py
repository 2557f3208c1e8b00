"""The job that checks custom resources against a schema. Runs in a child process, started by existing_objects.

Patterns are evaluated in linear time, as the API server does. Nothing is fetched, and no value of an object is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jsonschema_rs import Draft4Validator, RegexOptions

from olmkit.jobs import JobContext, implement
from rukpak.bundledeployment.validate_request import VALIDATE, ValidateRequest, ValidateResult
from rukpak.crd_safety.problem import InvalidObject
from rukpak.crd_safety.structural import json_schema, patterns, with_defaults

MAX_PATH_LENGTH = 200


def validate(request: ValidateRequest, context: JobContext) -> ValidateResult:
    """The objects that are not valid, in their order. Patterns that only Go understands are left out."""
    try:
        validator, left_out = _validator(request.schema)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        return ValidateResult([], f"the schema cannot be evaluated: {type(error).__name__}")
    found = ((obj, _problem(validator, with_defaults(request.schema, obj))) for obj in request.objects)
    return ValidateResult([_invalid(obj, problem) for obj, problem in found if problem], unchecked_patterns=left_out)


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


def _invalid(obj: Mapping[str, Any], problem: str) -> InvalidObject:
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


implement(VALIDATE, validate)
