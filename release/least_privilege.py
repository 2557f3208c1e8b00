"""Reads the changes that config/least-privilege makes to config/default: rules of a ClusterRole, a flag, and Roles.

A kustomization that changes anything else is an error: the chart would not have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from olmkit.api.meta import Object
from release.suite import CONFIG

DIRECTORY = CONFIG / "least-privilege"
_ARGUMENTS = "/spec/template/spec/containers/0/args/-"


@dataclass(frozen=True)
class LeastPrivilege:
    """The changes."""

    deployment: str
    """The controller that gets the flag."""
    flag: str
    cluster_role: str
    """The ClusterRole that has other rules."""
    rules: list[Object]
    objects: tuple[Object, ...]
    """The Roles that it has instead of what the ClusterRole permits in config/default, with their bindings."""


def least_privilege(directory: Path = DIRECTORY) -> LeastPrivilege:
    """Read the directory. Raises ValueError if it changes more."""
    spec: dict[str, Any] = yaml.safe_load((directory / "kustomization.yaml").read_text())
    base, *added = spec["resources"]
    role_patch, flag_patch = spec["patches"]
    role: Object = yaml.safe_load((directory / role_patch["path"]).read_text())
    (change,) = yaml.safe_load(flag_patch["patch"])
    if spec.keys() != {"apiVersion", "kind", "resources", "patches"} or base != "../default":
        raise ValueError(f"{directory}: the chart knows resources and patches of ../default only")
    if role.keys() != {"apiVersion", "kind", "metadata", "rules"} or role["kind"] != "ClusterRole":
        raise ValueError(f"{directory / role_patch['path']}: the chart knows other rules of a ClusterRole only")
    if (change["op"], change["path"]) != ("add", _ARGUMENTS):
        raise ValueError(f"{directory}: the chart knows a further argument of a container only")
    objects = (each for name in added for each in yaml.safe_load_all((directory / name).read_text()) if each)
    return LeastPrivilege(
        flag_patch["target"]["name"], change["value"], role["metadata"]["name"], role["rules"], tuple(objects)
    )
