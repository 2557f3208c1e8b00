"""Checks whether the API server would take the fields of spec that are asked for, by the patterns of its schema.

Asks no cluster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.install_settings import MAX_OBJECT_LABELS, MUST_EXIST, label_problem
from rukpak.render.namespaces import namespace_error

_RULES = {
    "packageName": (
        operators.PACKAGE_PATTERN,
        operators.MAX_PACKAGE_NAME_LENGTH,
        "is no name of a package: lower-case letters and digits, joined by '-' or '.'",
    ),
    "channel": (
        operators.CHANNEL_PATTERN,
        operators.MAX_CHANNEL_LENGTH,
        "is no name of a channel: lower-case letters and digits, joined by '-' or '.'",
    ),
    "version": (
        operators.VERSION_PATTERN,
        operators.MAX_VERSION_LENGTH,
        f"is no version and no range: {operators.VERSION_HINT}",
    ),
}


def followed_channels(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The channels that the spec of an Operator as read names: `channel`, or the items of `channels`, sorted."""
    return tuple(sorted(spec.get("channels") or filter(None, [spec.get("channel")])))


def field_problems(spec: Mapping[str, object]) -> dict[str, str]:
    """Field -> why the API server would refuse its value in an Operator's spec; an empty text is not sent."""
    found = {}
    for field, (pattern, max_length, why) in _RULES.items():
        value = str(spec.get(field) or "")
        if len(value) > max_length:
            found[field] = f"{clean(value)!r} is longer than the {max_length} characters that spec.{field} may have"
        elif value and not re.fullmatch(pattern, value):
            found[field] = f"{clean(value)!r} {why}"
    install = spec.get("install")
    if isinstance(install, Mapping) and (problem := _namespace_problem(install) or _labels_problem(install)):
        found["install"] = problem
    return found


def _labels_problem(install: Mapping[str, object]) -> str:
    """Explain why the API server would refuse the labels of objects; empty if it would not."""
    labels = install.get("objectLabels")
    if not isinstance(labels, Mapping):
        return ""
    if len(labels) > MAX_OBJECT_LABELS:
        return f"an installation has at most {MAX_OBJECT_LABELS} labels of objects"
    return next(filter(None, (label_problem(key, value) for key, value in labels.items())), "")


def _namespace_problem(install: Mapping[str, object]) -> str:
    """Explain why the API server would refuse the namespace to install into; empty if it would not. It does not know which ones
    are the suite's own."""
    namespace, must_exist = str(install.get("namespace") or ""), install.get("namespacePolicy") == MUST_EXIST
    if not namespace:
        return f"namespacePolicy {MUST_EXIST} requires the namespace to install into: name it" if must_exist else ""
    problem = namespace_error(namespace, (), must_exist=must_exist)
    return f"nothing may be installed into namespace {clean(namespace)!r}, which {problem}" if problem else ""
