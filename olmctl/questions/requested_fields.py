"""Checks whether the API server would take the fields of spec that are asked for, by the patterns of its schema.

Asks no cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from olmctl.terminal import clean
from olmkit.api import operators
from olmkit.api.install_policies import MUST_EXIST
from olmkit.api.install_settings import MAX_OBJECT_LABELS, label_problem
from operator_controller.resolve.formatting import name_channels
from operator_controller.resolve.snapshot.package_snapshot import ALL_CHANNELS
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
    return operators.followed_channels(spec.get("channel"), spec.get("channels"))


def channels_text(spec: Mapping[str, Any]) -> str:
    """`channel a`, `channels a and b` or `every channel`; "" if the spec names none."""
    followed = followed_channels(spec)
    if followed == ALL_CHANNELS:
        return "every channel"
    return name_channels(followed) if followed else ""


def channel_fields(channels: Iterable[str]) -> dict[str, Any]:
    """The field of spec for these channels: `channel` for one name, `channels` for several and for every channel."""
    named = [each for each in dict.fromkeys(channels) if each]
    if len(named) == 1 and tuple(named) != ALL_CHANNELS:
        return {"channel": named[0]}
    return {"channels": named} if named else {}


def field_problems(spec: Mapping[str, Any]) -> dict[str, str]:
    """Field -> why the API server would refuse its value in an Operator's spec; an empty text is not sent."""
    found = {field: problem for field in _RULES if (problem := _problem(field, str(spec.get(field) or "")))}
    if problem := _channels_problem(spec.get("channels") or ()):
        found["channels"] = problem
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


def _problem(field: str, value: str) -> str:
    """Explain why the API server would refuse the value of a field; empty if it would not."""
    pattern, max_length, why = _RULES[field]
    if len(value) > max_length:
        return f"{clean(value)!r} is longer than the {max_length} characters that spec.{field} may have"
    return f"{clean(value)!r} {why}" if value and not re.fullmatch(pattern, value) else ""


def _channels_problem(channels: Sequence[str]) -> str:
    """The same for the channels of spec.channels."""
    if tuple(channels) == ALL_CHANNELS:
        return ""
    if operators.EVERY_CHANNEL in channels:
        return f"{operators.EVERY_CHANNEL!r} means every channel: it has to be the only one"
    if len(channels) > operators.MAX_CHANNELS:
        return f"{len(channels)} channels are more than the {operators.MAX_CHANNELS} that spec.channels may have"
    return next((problem for each in channels if (problem := _problem("channel", each))), "")


def _namespace_problem(install: Mapping[str, object]) -> str:
    """Explain why the API server would refuse the namespace to install into; empty if it would not. It does not know which ones
    are the suite's own."""
    namespace, must_exist = str(install.get("namespace") or ""), install.get("namespacePolicy") == MUST_EXIST
    if not namespace:
        return f"namespacePolicy {MUST_EXIST} requires the namespace to install into: name it" if must_exist else ""
    problem = namespace_error(namespace, (), must_exist=must_exist)
    return f"nothing may be installed into namespace {clean(namespace)!r}, which {problem}" if problem else ""
