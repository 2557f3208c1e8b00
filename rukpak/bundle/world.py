"""World, Plan, Evaluation and Done of the controller of Bundles: values only. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from olmkit.api import bundledeployments, content
from olmkit.api.bundles import Bundle
from olmkit.api.content import SourceType
from olmkit.api.provisioner_classes import HELM, PLAIN, REGISTRY
from olmkit.errors import Waiting
from olmkit.jobs.state import Finished, JobState
from olmkit.sources.resolved_source import content_digest, pinned
from olmkit.sources.source import ChartSource, Source, UploadSource
from olmkit.sources.spec_source import InputReference, source_of
from rukpak.bundle.recorded_sources import pinned_source
from rukpak.bundle.unpack_result import UnpackResult
from rukpak.bundle.uploads.stored_upload import StoredUpload
from rukpak.charts.chart import Chart

CONTENT_TYPES: Mapping[str, str] = {REGISTRY: "registry+v1", PLAIN: "plain+v0", HELM: "helm"}
"""Provisioner class -> the type of its content."""


UnpackState = JobState[UnpackResult]


def controlling_deployment(bundle: Bundle) -> str:
    """The name of the BundleDeployment that controls the Bundle; "" if there is none."""
    owner = bundle.metadata.controller
    return owner.name if owner is not None and owner.kind == bundledeployments.KIND.kind else ""


@dataclass(frozen=True)
class World:
    """Everything that the decision may depend on. `raw` and `bundle` are None when the Bundle is gone."""

    name: str
    now: datetime
    raw: dict[str, Any] | None = None
    bundle: Bundle | None = None
    stored_type: str = ""
    """The type of the content that was found, if the store has it and every byte is intact; otherwise ""."""
    job: UnpackState | None = None
    """The unpack job for exactly this spec."""
    conflicting_bundle: str = ""
    """The name of another Bundle whose provisioner has unpacked the same content as another type."""
    unreadable: Waiting | None = None
    """The reason why the store cannot be read at the moment."""
    recorded: frozenset[tuple[str, str]] = frozenset()
    """The annotations, name and value, of the content that the BundleDeployment records for this Bundle: in status.installed and
    status.history."""
    monotonic: float = 0.0
    """time.monotonic() of the observation, for the retries of jobs."""
    conflicting_deployment: str = ""
    """The BundleDeployment that controls the conflicting Bundle; "" if there is none."""
    namespace: str = ""
    """The namespace of the suite, which contains the Secrets and ConfigMaps."""
    inputs: Mapping[InputReference, str | None] = field(default_factory=dict)
    """The resourceVersion of the Secret and of each ConfigMap that the spec names; None for one that does not exist."""
    common_secret_version: str = ""
    """The resourceVersion of the Secret for all Bundles; "" if there is none."""
    stored_upload: StoredUpload | None = None
    """The upload that is stored for this Bundle, if it is complete."""
    content_url: str = ""
    """The address at which the files of the Bundle are served once it is unpacked; "" if they are not."""
    chart: Chart | None = None
    """The facts about the stored content, if it is a chart."""

    @property
    def missing_inputs(self) -> tuple[InputReference, ...]:
        """The Secrets and ConfigMaps that the spec names and that do not exist."""
        return tuple(each for each, version in self.inputs.items() if version is None)

    @property
    def source(self) -> Source | None:
        """The source that the spec asks for; once it was resolved, that of exactly this content. None for ConfigMaps, which are
        read when the job starts. Raises Blocked if the spec cannot be read."""
        assert self.bundle is not None
        spec = self.bundle.spec.source
        if spec.chart is not None and spec.type == SourceType.CHART:
            # Its version is chosen by a job of its own; the next one fetches what that has found.
            return pinned(_chart_source(spec.chart), self.found)
        source = UploadSource(self.upload_digest) if spec.type == SourceType.UPLOAD else source_of(spec)
        return None if source is None else pinned(source, self.resolved)

    @property
    def upload_digest(self) -> str:
        """The digest of the archive that the Bundle has, or is to have: that of its spec, else the one that was resolved first,
        else that of what was uploaded; "" if that can be any, and for other sources."""
        upload = self.bundle.spec.source.upload if self.bundle is not None else None
        if upload is None:
            return ""
        resolved = (self.resolved.get("upload") or {}).get("digest")
        return upload.digest or resolved or (self.stored_upload.digest if self.stored_upload is not None else "")

    @property
    def awaits_upload(self) -> bool:
        """True if the archive that the Bundle is to have is not stored."""
        stored = self.stored_upload.digest if self.stored_upload is not None else ""
        return self.source_type == SourceType.UPLOAD and (not stored or stored != self.upload_digest)

    @property
    def identity(self) -> str:
        """The identity of the job for this spec and these Secrets and ConfigMaps."""
        own = (f"{each.kind}@{version}" for each, version in self.inputs.items())
        common = f"pull-secret@{self.common_secret_version}" if self.common_secret_version else ""
        upload = f"upload@{self.stored_upload.uid}" if self.stored_upload is not None else ""
        return " ".join(filter(None, (self._spec_identity, *own, common, upload)))

    @property
    def _spec_identity(self) -> str:
        assert self.bundle is not None
        return f"{self.bundle.metadata.uid}/{self.bundle.metadata.generation}"

    def is_own(self, job: UnpackState) -> bool:
        """Report whether the job is for this spec, and not for an earlier one or a Bundle that had the same name.

        A job that has not found the content counts only with the present Secrets and ConfigMaps. When one changes, the job runs
        again.
        """
        if isinstance(job, Finished):
            return job.identity.partition(" ")[0] == self._spec_identity
        return job.identity == self.identity

    @property
    def resolved(self) -> Mapping[str, Any]:
        """The value of status.resolvedSource that was found first for this spec: an image by digest, or a commit; empty before.

        A Bundle that was created again has it in an annotation, which counts for the spec that the Bundle was created with.
        Anybody who creates a Bundle, or a template, can write the annotation, so it counts only if the BundleDeployment records
        the same value, as that of what is installed or of a revision.
        """
        if self.bundle is None:
            return {}
        metadata, status = self.bundle.metadata, self.bundle.status
        if status.observed_generation == metadata.generation and status.resolved_source is not None:
            return status.resolved_source.dump()
        claimed = [pin for pin in sorted(self.recorded) if metadata.annotations.get(pin[0]) == pin[1]]
        return pinned_source(*claimed[0]) if metadata.generation == 1 and claimed else {}

    @property
    def found(self) -> Mapping[str, Any]:
        """The resolved source, or until it is known the one that the job found; empty if neither is known."""
        return self.resolved or (self.job.result.resolved if isinstance(self.job, Finished) else {})

    @property
    def signed_by(self) -> Mapping[str, str]:
        """The value of status.signedBy: of this spec, as reported, or as the job has found it; empty if it is not known."""
        if self.bundle is None:
            return {}
        metadata, status = self.bundle.metadata, self.bundle.status
        if status.observed_generation == metadata.generation and status.signed_by is not None:
            return status.signed_by.dump()
        return self.job.result.signed_by if isinstance(self.job, Finished) else {}

    @property
    def verified_digest(self) -> str:
        """The digest of the image whose signatures were verified for this spec; "" if there is none."""
        return content_digest(self.found) if self.signed_by else ""

    @property
    def source_type(self) -> str:
        """The type of the source, as in the spec."""
        return str(self.bundle.spec.source.type) if self.bundle is not None else ""

    @property
    def is_stored(self) -> bool:
        """True if the store has the content, unpacked as the type that the provisioner of this Bundle uses."""
        provisioner = self.bundle.spec.provisioner_class_name if self.bundle is not None else ""
        return self.stored_type != "" and self.stored_type == CONTENT_TYPES.get(provisioner)


def _chart_source(chart: content.ChartSource) -> ChartSource:
    is_insecure = chart.auth is not None and chart.auth.insecure_skip_verify
    return ChartSource(chart.repository, chart.name, chart.version or "", insecure_skip_verify=is_insecure)


@dataclass(frozen=True)
class Unpack:
    """Start or keep the job that fetches the content and publishes it."""

    source: Source | None
    """None for the ConfigMaps of the spec: their files are read now, and have to be those that were resolved before."""
    content_type: str
    restart: bool = False
    """True if the job runs again although it has finished, because the store lacks its content or has it as another type."""
    replaceable: str = ""
    """The digest whose stored content is replaced: it is of another type, and no Bundle uses it."""


@dataclass(frozen=True)
class AwaitUpload:
    """Do nothing: the index of an upload wakes the Bundle."""


@dataclass(frozen=True)
class Release:
    """End the job of a Bundle that is gone, and let its content be removed unless another Bundle has it."""


@dataclass(frozen=True)
class Keep:
    """Do nothing."""


Plan = Unpack | AwaitUpload | Release | Keep


@dataclass(frozen=True)
class Evaluation:
    """The meaning of the World for the status."""

    resolved: Mapping[str, Any]
    """The resolved source to report; empty before it is known."""
    keeps_status: bool = False
    """True if the status stays as it is: the Bundle was unpacked, and the store cannot be read at the moment."""


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out, and the state of the job after it."""

    plan: Plan
    job: UnpackState | None = None
    after: timedelta | None = None
