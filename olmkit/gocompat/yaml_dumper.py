"""How values become YAML, for every command that prints or writes it: by olmkit.api.crd, olmkit.fbc and rukpak.render. Pure.

What stands twice is written twice, since not every reader of a manifest knows aliases; text of several lines is a block. Which
text of one line wants quotes depends on who reads: a subclass says so.
"""

from __future__ import annotations

from typing import Any

import yaml

UNLIMITED_WIDTH = 2**31 - 1
"""A `width` that no line reaches; libyaml takes no larger one."""


class TreeDumper(yaml.CSafeDumper):
    """A `Dumper` for yaml.dump; as it is, one line is quoted where pyyaml would read something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Always: no anchors, no aliases."""
        return True

    def style(self, text: str) -> str | None:
        """The quotes of a text of one line; None where it may stand plain."""
        return None


def _text(dumper: TreeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else dumper.style(text))


TreeDumper.add_representer(str, _text)
