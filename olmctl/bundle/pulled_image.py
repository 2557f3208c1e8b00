"""Pulls the image of a bundle with the logins of the user, and reads it. Writes to a temporary directory only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from olmctl.catalog.images import NoDirectory, unpacked
from olmctl.commands import FAILED, WRONG_USAGE, CommandError

OPTIONS = ("registries_conf", "pull_cas_dir", "allow_source_cidr")
"""The parameters of olmctl.cli.options.image_options."""
Content = TypeVar("Content")


def pulled(image: str, options: Mapping[str, Any], read: Callable[[Path], Content]) -> Content:
    """The result of `read` for the directory with the files of the image. Raises CommandError, OlmError, and what it raises."""
    try:
        with unpacked(image, *(options[key] for key in OPTIONS), only_bundles=True) as found:
            if found.is_catalog:
                raise CommandError(
                    FAILED, f"{image} is the image of a catalog: give that of a bundle, or apply a Catalog"
                )
            return read(found.root)
    except NoDirectory as error:
        raise CommandError(WRONG_USAGE, f"{image}: {error}") from error
