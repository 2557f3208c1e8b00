"""The result of the unpack job as a value, for the World and for the job. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UnpackResult:
    """The result of the unpack job: `ref` is the image by digest."""

    ref: str
    digest: str
    staged: bool = False
    """The content is in the staging directory of the job; otherwise it is in the store already."""
    problem: str = ""
    """The reason why the content can never be used, as a sentence for people; "" if it can be used."""
