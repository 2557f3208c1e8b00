"""World, Plan, Evaluation and Done of one Catalog: the observation, the next step, the reasons for it, and its result.

Values only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from catalogd.catalog.package_diff import Difference
from catalogd.ingest.catalog_summary import CatalogSummary
from catalogd.storage.record import Record as Record
from olmkit.api.catalogs import NAME_LABEL, Catalog, ConditionType
from olmkit.api.conditions import find_condition
from olmkit.errors import OlmError
from olmkit.sources.errors import BadContent
from olmkit.sources.spec_source import InputReference

# --- World


@dataclass(frozen=True)
class ServedContent:
    """The content that is served over HTTP under the Catalog's name, and the summary of it that the status shows."""

    record: Record
    summary: CatalogSummary


@dataclass(frozen=True)
class DesiredSource:
    """The source that the spec requests.

    `identity` identifies the source, and `credential_versions` are the resourceVersions of the Secrets that it is read with. Both
    together identify a job. `description` names the source in messages. `poll_interval` is the time between two checks of the
    source, None for never. `config_map_versions` are the resourceVersions of its ConfigMaps; when they change, the source is
    loaded again. `has_policy`: signatures are verified, and `identity` has the policy for them too.
    """

    identity: str
    description: str
    credential_versions: str = ""
    poll_interval: timedelta | None = None
    config_map_versions: str = ""
    has_policy: bool = False

    @property
    def job_identity(self) -> str:
        """The identity of the job that loads it."""
        return " ".join(part for part in (self.identity, self.credential_versions, self.config_map_versions) if part)


@dataclass(frozen=True)
class LoadRunning:
    """A job loads the source. `is_queued` is True until it has a slot. `previous_error` is the error of its previous attempt."""

    job_identity: str
    is_queued: bool = False
    previous_error: OlmError | None = None


@dataclass(frozen=True)
class LoadFinished:
    """A job has loaded the source: the content with this `digest` is on disk. `digest` is "" if this content is served
    already."""

    job_identity: str
    resolved_ref: str
    digest: str
    resolved: Mapping[str, Any] = field(default_factory=dict)
    validator: str = ""
    signed_by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadFailed:
    """A job could not load the source, or could not be started. `age` is the time since then."""

    job_identity: str
    error: OlmError
    age: timedelta


@dataclass(frozen=True)
class Recovery:
    """The loads of a source since its content was first lost on disk: the number of `loads` in quick succession, and the `age` of
    the last load since its start."""

    job_identity: str
    loads: int
    age: timedelta


LoadState: TypeAlias = LoadRunning | LoadFinished | LoadFailed


@dataclass(frozen=True)
class FailedLoad:
    """The last failure of a job, by the identity of that job."""

    job_identity: str
    error: OlmError


@dataclass(frozen=True)
class World:
    """Everything that the decision may depend on.

    `catalog` and `raw` are None when the object does not exist. `last_checked`: when this process last read the source
    successfully. `package_diff`: the difference between the Package objects on the cluster and the served content.
    `input_versions`: the resourceVersion of each Secret and ConfigMap that the spec refers to, None if it does not exist. All of
    them are in `namespace`. `pull_secret_version`: the resourceVersion of the cluster-wide Secret, "" when there is none.
    `refresh_requested`: the value of the annotation that requests a check, "" without one; `refresh_started`: the value that the
    last check was started for, until the status reports its end. `loaded_config_map_versions`: DesiredSource.config_map_versions
    at the last successful check. `corruption`: the damage of content that had to be removed, or the loss of content. `recovery`:
    the loads because of this damage or loss. `serves_deleted_catalog`: the content under this name belongs to a deleted Catalog
    of the same name. `served` is None in this case. `last_failure`: the last failed load since the last successful load.
    `is_disk_full`: this load failed because the disk is full.
    """

    name: str
    raw: Mapping[str, Any] | None
    catalog: Catalog | None
    job: LoadState | None
    served: ServedContent | None
    package_diff: Difference
    last_checked: datetime | None
    content_url: str
    now: datetime
    namespace: str
    input_versions: Mapping[InputReference, str | None] = field(default_factory=dict)
    pull_secret_version: str = ""
    refresh_requested: str = ""
    refresh_started: str = ""
    corruption: str = ""
    recovery: Recovery | None = None
    loaded_config_map_versions: str = ""
    serves_deleted_catalog: bool = False
    last_failure: FailedLoad | None = None
    is_disk_full: bool = False

    @property
    def uid(self) -> str:
        """The Catalog's uid, "" when it does not exist."""
        return self.catalog.metadata.uid if self.catalog else ""

    @property
    def refresh_pending(self) -> bool:
        """True if a check was requested that has not been started."""
        handled = self.catalog.status.last_handled_refresh if self.catalog else None
        return self.refresh_requested not in ("", self.refresh_started, handled)

    @property
    def is_unreported(self) -> bool:
        """True if content is served that the status does not name yet."""
        reported = self.catalog.status.content_digest if self.catalog else None
        return self.served is not None and reported != self.served.record.digest

    @property
    def has_failed(self) -> bool:
        """True if the status reports that the source has not been unpacked."""
        conditions = self.catalog.status.conditions if self.catalog else ()
        unpacked = find_condition(conditions, ConditionType.UNPACKED)
        return unpacked is not None and unpacked.status == "False"

    @property
    def is_selection_outdated(self) -> bool:
        """True if content is served with another list of packages than spec.packages."""
        if self.catalog is None or self.served is None:
            return False
        return self.served.record.packages != self.catalog.selected_packages

    @property
    def lacks_label(self) -> bool:
        """True if the object has no label with its name."""
        return self.catalog is None or self.catalog.metadata.labels.get(NAME_LABEL) != self.name

    @property
    def has_writes(self) -> bool:
        """True if the status, the label or objects on the cluster are to be written."""
        return self.is_unreported or self.lacks_label or bool(self.package_diff)

    def load_state(self, desired: DesiredSource | None) -> LoadState | None:
        """The state of the job that loads the desired source; None if there is no job, or if it loads another source."""
        is_desired = desired is not None and self.job is not None and self.job.job_identity == desired.job_identity
        return self.job if is_desired else None


# --- Plan


@dataclass(frozen=True)
class StopServing:
    """Serve nothing under the name, cancel the job, and remove the content from disk."""


@dataclass(frozen=True)
class Load:
    """Start a job that loads the source, and record `refresh_started` as the request it answers ("" for none).

    `restart`: run the job even if the same job has ended before. `free_space`: remove replaced content first. `known_bad`:
    content of this source that could not be read; the job does not read it again. `is_confirmed`: the source has confirmed, for
    this Catalog and with these Secrets, that it has the served content. `verified_digest`: the content whose signatures have been
    verified by the same policy; "" for none. `recoveries`: Recovery.loads including this load; 0 if no
    content was lost.
    """

    desired: DesiredSource
    refresh_started: str = ""
    restart: bool = False
    free_space: bool = False
    known_bad: BadContent | None = None
    is_confirmed: bool = False
    verified_digest: str = ""
    recoveries: int = 0


@dataclass(frozen=True)
class Serve:
    """Serve the content that a job has loaded."""

    record: Record


@dataclass(frozen=True)
class SelectPackages:
    """Offer other packages of the content that is served."""

    record: Record


@dataclass(frozen=True)
class ConfirmUnchanged:
    """Record the time of a check in which a job found that the source still has the served content."""


@dataclass(frozen=True)
class SetLabel:
    """Set the label by which selectors find the object."""


@dataclass(frozen=True)
class SyncPackages:
    """Write and delete these Packages."""

    packages: Difference


@dataclass(frozen=True)
class Keep:
    """Change nothing in this pass."""


Action: TypeAlias = StopServing | Load | Serve | SelectPackages | ConfirmUnchanged | SetLabel | SyncPackages | Keep


@dataclass(frozen=True)
class Plan:
    """The actions of this pass, and the time to the next pass. None: the next pass follows a watched change or the end of a
    job."""

    action: Action
    after: timedelta | None = None


@dataclass(frozen=True)
class Evaluation:
    """The meaning of the World, for the decision and for the report.

    `desired` is None when nothing is to be served. It is also None when the spec is invalid or refers to objects that do not
    exist; `source_error` is set in this case. `source_error`: the reason why the source could not be loaded; Waiting if the load
    is retried, else Blocked. `time_to_check`: the time until the source has to be checked; zero or less for now, None for no
    check before something else changes. `is_reading`: a job reads the desired source, or has read it and its content is about to
    be served. `is_served`: the served content comes from the desired source; after a failed load, only if the source has been
    read with its present inputs.
    """

    desired: DesiredSource | None = None
    source_error: OlmError | None = None
    time_to_check: timedelta | None = None
    is_reading: bool = False
    is_served: bool = False


# --- Done


@dataclass(frozen=True)
class Done:
    """The Plan that was carried out."""

    plan: Plan

    @property
    def after(self) -> timedelta | None:
        """The time to the next pass."""
        return self.plan.after
