"""Reads values of objects that others wrote, so that no field is trusted to have its type. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.api.meta import Object


def text(value: Any, *path: str) -> str:
    """The text at a path; "" if there is none, or something else."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def at(value: Any, *path: str) -> Any:
    """The value at a path; None if there is none."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def items(value: Any, *path: str) -> list[Any]:
    """The list at a path; empty if there is none, or something else."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def texts(value: Any, *path: str) -> list[str]:
    """The texts of the list at a path."""
    return [each for each in items(value, *path) if isinstance(each, str)]


def name_of(obj: Object) -> str:
    """metadata.name."""
    return text(obj, "metadata", "name")


def namespace_of(obj: Object) -> str:
    """metadata.namespace."""
    return text(obj, "metadata", "namespace")


def full_name(obj: Object) -> str:
    """namespace/name."""
    return f"{namespace_of(obj)}/{name_of(obj)}"
