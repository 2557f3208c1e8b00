"""What a Catalog and a Bundle have in common: where content comes from, how far it is unpacked, and which one it is. Pure.

Used by olmkit.api.catalogs and olmkit.api.bundles, and by the controllers that fill their status.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from olmkit.api.meta import Model


class Phase(StrEnum):
    """The state in one word, as the 4.14 guide shows it."""

    PENDING = "Pending"
    UNPACKING = "Unpacking"
    UNPACKED = "Unpacked"
    FAILING = "Failing"


class SourceType(StrEnum):
    """Where content can come from."""

    IMAGE = "image"


class ResolvedImage(Model):
    """The image that was unpacked."""

    ref: str = Field(description="Image reference by digest.")


class ResolvedSource(Model):
    """Which content was unpacked."""

    type: str = Field(description="Kind of source.")
    image: ResolvedImage | None = Field(default=None, description="The image by digest.")
