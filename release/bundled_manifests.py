"""The text of olmctl/suite/manifests.yaml, the objects of config/default, with which the command `olm suite` is shipped."""

from __future__ import annotations

from olmctl.object_text import as_yaml
from release.kustomization import objects_of
from release.suite import CONFIG

_HEADER = "# Written by `make generate` from config/default.\n"


def bundled_text() -> str:
    """The content of the file."""
    return _HEADER + as_yaml(objects_of(CONFIG / "default"))
