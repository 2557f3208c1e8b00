"""A Bundle of a BundleDeployment in the World, and the record of a Bundle in the status.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from olmkit.api.bundledeployments import RECORDED_ANNOTATIONS, BundleRecord
from olmkit.api.bundles import BundleSpec


class UnpackState(StrEnum):
    """The progress of a Bundle."""

    PENDING = "pending"
    RETRYING = "retrying"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True)
class BundleInfo:
    """A Bundle of the BundleDeployment."""

    name: str
    uid: str
    unpack_state: UnpackState
    message: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_deleting: bool = False
    is_orphan: bool = False
    """True if a deleted BundleDeployment of this name has left the Bundle, which has no owner."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    image: str = ""
    """The image by digest; empty before it was resolved."""


def record_of(bundle: BundleInfo) -> BundleRecord:
    """The record of a Bundle."""
    return BundleRecord(bundle=bundle.name, spec=BundleSpec.load(dict(bundle.spec)), **described(bundle))


def described(bundle: BundleInfo) -> dict[str, Any]:
    """The fields of a record that describe the Bundle."""
    known = {field: bundle.annotations.get(name) or None for field, name in RECORDED_ANNOTATIONS.items()}
    return {**known, "image": bundle.image or None}
