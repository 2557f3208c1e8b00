"""A Bundle of a BundleDeployment in the World, and the record of a Bundle in the status.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from olmkit.api.bundle_annotations import RECORDED_ANNOTATIONS
from olmkit.api.bundledeployment_status import BundleRecord
from olmkit.api.bundles import BundleSpec
from olmkit.api.content import ResolvedSource
from olmkit.api.provisioner_classes import HELM
from olmkit.sources.resolved_source import content_digest, resolved_image


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
    """The image by digest; empty before it was resolved, and for other sources."""
    chart: tuple[str, str] = ("", "")
    """Name and version of its chart; empty for other content."""
    resolved_source: Mapping[str, Any] = field(default_factory=dict)
    """status.resolvedSource of another source than an image; empty before it was resolved."""
    is_pending_upload: bool = False
    """True if it has the source upload, and is not being unpacked yet."""

    @property
    def is_chart(self) -> bool:
        """True if its content is a Helm chart."""
        return self.spec.get("provisionerClassName") == HELM

    @property
    def digest(self) -> str:
        """The digest of its content; empty before it was resolved."""
        return content_digest(resolved_image(self.image) if self.image else self.resolved_source)


def record_of(bundle: BundleInfo) -> BundleRecord:
    """The record of a Bundle."""
    return BundleRecord(bundle=bundle.name, spec=BundleSpec.load(dict(bundle.spec)), **described(bundle))


def described(bundle: BundleInfo) -> dict[str, Any]:
    """The fields of a record that describe the Bundle."""
    known = {field: bundle.annotations.get(name) or None for field, name in RECORDED_ANNOTATIONS.items()}
    known["name"], known["version"] = (
        known["name"] or bundle.chart[0] or None,
        known["version"] or bundle.chart[1] or None,
    )
    resolved = ResolvedSource.load(dict(bundle.resolved_source)) if bundle.resolved_source else None
    return {**known, "image": bundle.image or None, "resolved_source": resolved}
