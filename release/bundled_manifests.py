"""The text of olmctl/suite/manifests.yaml, console.yaml and v1.yaml, the objects with which the command `olm suite` is shipped.

CRDs are in none of them: olmkit.api.crd makes them.
"""

from __future__ import annotations

from olmctl.object_text import as_yaml
from olmctl.suite.objects import CRD
from release.kustomization import objects_of
from release.suite import CONFIG

_HEADER = "# Written by `make generate` from config/{}.\n"


def bundled_text(directory: str) -> str:
    """The content of the file with the objects of a directory of config/."""
    objects = (each for each in objects_of(CONFIG / directory) if each["kind"] != CRD.kind)
    return _HEADER.format(directory) + as_yaml([*objects])
