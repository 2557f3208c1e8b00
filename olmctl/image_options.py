"""The options of commands that pull images themselves: mirrors, certificate authorities, addresses.

Used by olmctl.catalog.render and olmctl.cluster.diff.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from olmctl.commands import file_path

_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option(
        "--registries-conf",
        metavar="FILE",
        type=file_path(),
        help="Mirrors of registries: containers-registries.conf(5).",
    ),
    click.option(
        "--pull-cas-dir",
        metavar="DIR",
        type=file_path(),
        help="A folder of PEM files of certificate authorities to trust in addition to the system's.",
    ),
    click.option(
        "--allow-source-cidr",
        metavar="CIDR",
        multiple=True,
        help="A range of loopback or link-local addresses that registries may have. May be repeated.",
    ),
)


def image_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --registries-conf, --pull-cas-dir and --allow-source-cidr: arguments of olmctl.catalog.images.unpacked."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
