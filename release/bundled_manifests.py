"""The text of olmctl/suite/manifests.yaml and console.yaml, the objects with which the command `olm suite` is shipped."""

from __future__ import annotations

from olmctl.object_text import as_yaml
from release.kustomization import objects_of
from release.suite import CONFIG

_HEADER = "# Written by `make generate` from config/{}.\n"


def bundled_text(directory: str) -> str:
    """The content of the file with the objects of a directory of config/."""
    return _HEADER.format(directory) + as_yaml(objects_of(CONFIG / directory))
