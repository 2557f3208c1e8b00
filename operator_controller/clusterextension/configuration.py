"""The configuration of a bundle in a ClusterExtension, spec.config.inline: reads it, and explains in the words of OLM v1 what is
wrong with it.

operator_object.py writes what it means into the Operator, and conditions.py reports it. The bundle decides whether it accepts
watchNamespace, so a part of the problems is known only when rukpak has refused the bundle. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.api.meta import without_nulls
from olmkit.api.names import MAX_LABEL_LENGTH
from olmkit.gocompat.go_encoding import Mismatch, round_trip, unknown_fields
from olmkit.gocompat.json_depth import MAX_LEVELS, is_deeper
from olmkit.gocompat.text import format_list, quoted, sprintf

WATCH_NAMESPACE, DEPLOYMENT_CONFIG = "watchNamespace", "deploymentConfig"
_IGNORED = "selector"
"""The field of the config of a Subscription that OLM never used: it is accepted, and ignored."""
_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
"""The pattern that messages of OLM v1 quote."""
_TYPE = "DeploymentConfig"
_JSON_TYPES = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
_ALL, _OWN, _SINGLE = "AllNamespaces", "OwnNamespace", "SingleNamespace"
_MODES = (_ALL, _SINGLE, _OWN)
"""The install modes that a ClusterExtension can ask for, as OLM v1 lists them."""
_MISSING = f"required field {quoted(WATCH_NAMESPACE)} is missing"
_FORMAT = f"invalid format for field {quoted(WATCH_NAMESPACE)}: '%s' is not valid %s: invalid value %q: "
_OTHER = (
    f"{_FORMAT}must be %q (the namespace where the operator is installed) because this operator only supports OwnNamespace "
    "install mode"
)
_SAME = (
    f"{_FORMAT}must be different from %q (the install namespace) because this operator uses SingleNamespace install mode to "
    "watch a different namespace"
)


@dataclass(frozen=True)
class Configuration:
    """The configuration as it was read. With problems it has no values."""

    watch_namespace: str | None = None
    """The namespace that the operator watches; None if none is named."""
    deployment_config: Mapping[str, Any] = field(default_factory=dict)
    """The changes of its Deployments, as Kubernetes' types write them."""
    problems: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """All problems as one text; "" if there is none."""
        if len(self.problems) < 2:
            return "".join(self.problems)
        return "".join(["multiple errors found:", *(f"\n  - {each}" for each in self.problems)])

    def refusal(self, namespace: str, install_modes: Sequence[str]) -> str:
        """Explain why a bundle with these install modes is not installed into the namespace: a sentence of OLM v1; "" if the
        reason is another one."""
        watched = self.watch_namespace
        if not install_modes:
            return ""
        has_own, has_single = _OWN in install_modes, _SINGLE in install_modes
        if watched is None:
            return _MISSING if (has_own or has_single) and _ALL not in install_modes else ""
        if not has_own and not has_single:
            return _unknown(WATCH_NAMESPACE)
        if not has_single and watched != namespace:
            return sprintf(_OTHER, watched, "ownNamespaceInstallMode", watched, namespace)
        if not has_own and watched == namespace:
            return sprintf(_SAME, watched, "singleNamespaceInstallMode", watched, namespace)
        return ""


def unsupported(install_modes: Sequence[str]) -> str:
    """Explain why a bundle with these install modes is never installed; "" if it may be, or if they are unknown."""
    if not install_modes or any(mode in install_modes for mode in _MODES):
        return ""
    return f"unsupported bundle: bundle must support at least one of {format_list(_MODES)} install modes"


def read_configuration(inline: Mapping[str, Any] | None) -> Configuration:
    """The configuration, or its problems as far as they do not depend on the bundle."""
    if is_deeper(inline, MAX_LEVELS):
        return Configuration(problems=(f"nests deeper than {MAX_LEVELS} levels",))
    values = {key: value for key, value in (inline or {}).items() if value is not None}
    unknown = sorted(values.keys() - {WATCH_NAMESPACE, DEPLOYMENT_CONFIG})
    watched, config = values.get(WATCH_NAMESPACE), values.get(DEPLOYMENT_CONFIG, {})
    problems = [*map(_unknown, unknown), *_problems_of_namespace(watched), *_problems_of_deployments(config)]
    if problems:
        return Configuration(problems=tuple(problems))
    return Configuration(watched, without_nulls(round_trip(_TYPE, _without_ignored(config))))


def _unknown(name: str) -> str:
    return f"unknown field {quoted(name)}"


def _problems_of_namespace(value: Any) -> Iterator[str]:
    name = quoted(WATCH_NAMESPACE)
    if value is None:
        return
    if not isinstance(value, str):
        yield f"invalid type for field {name}: got {_JSON_TYPES[type(value)]}, want string"
        return
    if not value:
        yield f"field {name} must have minimum length of 1 (len=0)"
    if len(value) > MAX_LABEL_LENGTH:
        yield f"field {name} must have maximum length of {MAX_LABEL_LENGTH} (len={len(value)})"
    if not re.fullmatch(_PATTERN, value):
        yield f"field {name} must match pattern {quoted(_PATTERN)}"


def _problems_of_deployments(config: Any) -> Iterator[str]:
    if not isinstance(config, dict):
        yield f"invalid type for field {quoted(DEPLOYMENT_CONFIG)}: got {_JSON_TYPES[type(config)]}, want object"
        return
    known = _without_ignored(config)
    yield from (_unknown(f"{DEPLOYMENT_CONFIG}{path}") for path in unknown_fields(_TYPE, known))
    try:
        round_trip(_TYPE, known)
    except Mismatch as error:
        yield f"invalid type for field {quoted(DEPLOYMENT_CONFIG + error.path)}: {error.problem}"


def _without_ignored(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != _IGNORED}
