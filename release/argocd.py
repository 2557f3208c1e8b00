"""The text of config/argocd/argocd-cm.yaml, made from the Lua scripts in config/argocd/resource_customizations.

The directories have the layout of Argo CD's own repository; the ConfigMap has the same scripts under the keys that an
installed Argo CD reads.
"""

from __future__ import annotations

from pathlib import Path

import yaml

_HEADER = """\
# Health and actions of the kinds of olm-suite for Argo CD. `make generate` writes this file from resource_customizations.
# Apply it server-side, or add its keys to the ConfigMap with a kustomize patch: the other keys of argocd-cm stay.
"""


class _Block(str):
    """Text that is written as a YAML block."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|"))


def config_map(directory: Path) -> str:
    """The text of the ConfigMap for the scripts below `directory`, one directory per group and kind."""
    data: dict[str, str] = {}
    for script in sorted(directory.glob("*/*/health.lua")):
        name = f"{script.parent.parent.name}_{script.parent.name}"
        data[f"resource.customizations.health.{name}"] = _Block(script.read_text())
        discovery = script.parent / "actions/discovery.lua"
        if discovery.exists():
            data[f"resource.customizations.actions.{name}"] = _Block(_actions(discovery))
    labels = {"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"}
    metadata = {"name": "argocd-cm", "namespace": "argocd", "labels": labels}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    return _HEADER + yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=200)


def _actions(discovery: Path) -> str:
    definitions = [
        {"name": script.parent.name, "action.lua": _Block(script.read_text())}
        for script in sorted(discovery.parent.glob("*/action.lua"))
    ]
    body = {"discovery.lua": _Block(discovery.read_text()), "definitions": definitions}
    return yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=200)
