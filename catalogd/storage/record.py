"""What is noted of the content that a Catalog has on disk. In the World, on the shelf and between replicas. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Record:
    """Content that a Catalog has on disk: the source it was asked for by (Wish.source), and what that was.

    `resolved_ref` names the content by digest, for people; `resolved` is the same as status.resolvedSource has it; `validator` is
    what an http source is asked by whether it is still so; `unpacked` is when. `uid` is the Catalog's, and `access` the versions
    of the Secrets (Wish.access) with which the source has shown that it has the content; "" in records of earlier versions.
    """

    ref: str
    resolved_ref: str
    digest: str
    unpacked: str
    resolved: Mapping[str, Any] = field(default_factory=dict)
    validator: str = ""
    uid: str = ""
    access: str = ""

    def belongs_to(self, uid: str) -> bool:
        """Whether that is the record of the Catalog with that uid, and not of a deleted one of the same name."""
        return self.uid in ("", uid)
