"""The YAML dumper of every command that prints or writes YAML: olmkit.api.crd, olmctl.authoring.serialize and olmctl.

A value that occurs twice is written twice, because some readers of manifests do not support aliases; text of several lines is a
block. Which text of one line needs quotes depends on the reader of the YAML: subclasses override `style`. Pure.
"""

from __future__ import annotations

from typing import Any

import yaml

UNLIMITED_WIDTH = 2**31 - 1
"""A `width` that no line reaches; libyaml takes no larger one."""


class TreeDumper(yaml.CSafeDumper):
    """A `Dumper` for yaml.dump. By default it quotes text of one line that pyyaml would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write no anchors and aliases."""
        return True

    def style(self, text: str) -> str | None:
        """The quotes for a text of one line; None when it needs none."""
        return None


def _text(dumper: TreeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else dumper.style(text))


TreeDumper.add_representer(str, _text)
