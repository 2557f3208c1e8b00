"""Decides the next step for one Catalog, and the time to the pass after it: a list of rules; the first that answers wins.

Each Plan is one step; the next pass observes its result, so that the same rules continue after a crash between any two writes.
`delay` is the only function that decides when something follows. The evaluation begins with the source that the spec requests,
and with the interval between two checks of it: `desired_source`. Never reads the cluster or the source. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from catalogd.catalog.package_diff import Difference
from catalogd.catalog.world import (
    Action,
    ConfirmUnchanged,
    DesiredSource,
    Evaluation,
    Keep,
    Load,
    LoadFailed,
    LoadFinished,
    LoadRunning,
    LoadState,
    Plan,
    Record,
    SelectPackages,
    Serve,
    SetLabel,
    StopServing,
    SyncPackages,
    World,
)
from olmkit.api.catalogs import CatalogSource, Reason
from olmkit.api.conditions import format_timestamp
from olmkit.api.content import SourceType
from olmkit.errors import Blocked, OlmError, Waiting
from olmkit.gocompat.text import parse_duration
from olmkit.runtime.reconciler import Decision
from olmkit.sources.errors import BadContent, BadReference
from olmkit.sources.oci.reference import parse
from olmkit.sources.source import GitSource, HttpSource, ImageSource, identity, without_query
from olmkit.sources.spec_source import (
    CONFIG_MAP,
    SECRET,
    InputReference,
    input_references,
    missing_inputs,
    secret_name,
    source_of,
    verification_of,
    verification_references,
)
from olmkit.stored_times import time_left

IMMEDIATELY = timedelta(0)
CACHE_LOSES_CONTENT = "CacheLosesContent"
"""The reason of the error while content is not read again because it was lost on disk soon after it was read again before."""
WRITE_BATCH_SIZE = 64
"""The number of objects that one pass writes, and the number that it deletes."""
QUEUE_CHECK_INTERVAL = timedelta(seconds=5)
"""The time between two checks of a queued job, because nothing reports its start."""
FIRST_RECOVERY_DELAY, MAX_RECOVERY_DELAY = timedelta(seconds=5), timedelta(minutes=10)
"""The delay before content that was lost on disk again is loaded again, counted from the last load. It doubles up to the maximum.
After the first loss there is no delay."""
RECOVERY_MEMORY = timedelta(hours=1)
"""The time after a load for which the load counts. Content that is lost later is loaded again at once."""

DEFAULT_POLL_INTERVAL = timedelta(minutes=10)
MIN_POLL_INTERVAL = timedelta(seconds=1)
MAX_POLL_INTERVAL = timedelta(days=36_500)
"""A longer interval has the same effect, and the date of its end could not be represented."""
POLL_JITTER = 0.01
"""The largest fraction of the poll interval that is added to it."""


def decide(world: World) -> Decision[Plan, Evaluation]:
    """The next step, or the error that prevents it, and the evaluation for the report."""
    evaluation = evaluate(world)
    for rule in RULES:
        action = rule(world, evaluation)
        if isinstance(action, OlmError):
            return Decision(action, evaluation)
        if action is not None:
            return Decision(Plan(action, delay(world, evaluation.desired, action)), evaluation)
    return Decision(Plan(Keep(), delay(world, evaluation.desired, Keep())), evaluation)


def evaluate(world: World) -> Evaluation:
    """The desired source, the error that prevents loading it, and the time until it is to be checked."""
    desired = desired_source(world)
    if isinstance(desired, Blocked):
        return Evaluation(source_error=desired)
    if desired is None:
        return Evaluation()
    time_to_check = delay(world, desired)
    return Evaluation(
        desired,
        source_error=_load_error(world, desired, time_to_check),
        time_to_check=time_to_check,
        is_reading=_is_reading(world.load_state(desired)),
        is_served=_is_served(world, desired, time_to_check),
    )


def _is_served(world: World, desired: DesiredSource, time_to_check: timedelta | None) -> bool:
    """Report whether the served content comes from the desired source. After a failed load, it does only if the source has been
    read again with its present inputs."""
    if world.served is None or world.served.record.ref != desired.identity:
        return False
    match world.load_state(desired):
        case _ if not world.has_failed:
            return True
        case LoadFinished(digest=digest):
            return digest in ("", world.served.record.digest)
        case job:
            return not isinstance(job, LoadRunning) and not _is_due(world, desired, time_to_check)


def _is_reading(job: LoadState | None) -> bool:
    return isinstance(job, LoadFinished) or (isinstance(job, LoadRunning) and not job.is_queued)


def _load_error(world: World, desired: DesiredSource, time_to_check: timedelta | None) -> OlmError | None:
    """The error of the last load: Waiting if the load is or will be retried, else unchanged."""
    match world.load_state(desired):
        case LoadRunning(previous_error=OlmError() as error):
            return Waiting(error.reason, error.message, IMMEDIATELY, error.subject)
        case LoadFailed(error=error) if time_to_check is not None:
            return Waiting(error.reason, error.message, max(time_to_check, IMMEDIATELY), error.subject)
        case LoadFailed(error=error):
            return error
        case LoadRunning():
            return None
        case LoadFinished(digest=digest) if digest:
            return None
        case _:
            return _loss_error(world, desired)


def _loss_error(world: World, desired: DesiredSource) -> Waiting | None:
    """The error while content that was lost on disk repeatedly waits to be read again."""
    left = time_to_recover(world, desired)
    if left is None or left <= IMMEDIATELY:
        return None
    text = f"content that was read again is lost from the cache directory again ({world.corruption})"
    return Waiting(CACHE_LOSES_CONTENT, f"{text}: check the volume of --cache-dir, and what removes files there", left)


# --- the desired source


def desired_source(world: World) -> DesiredSource | Blocked | None:
    """The desired source; Blocked if the spec is invalid or refers to objects that do not exist; None if nothing is to be
    served."""
    if world.catalog is None or world.catalog.is_unavailable:
        return None
    source = world.catalog.spec.source
    try:
        if missing := [each for each in input_references(source) if world.input_versions.get(each) is None]:
            raise missing_inputs(missing, world.namespace)
        return _desired_source(world, source)
    except Blocked as error:
        return error


def _desired_source(world: World, spec: CatalogSource) -> DesiredSource:
    source = source_of(spec)
    match source:
        case ImageSource(ref):
            description = f'the catalog image "{ref}"'
        case GitSource(repository, reference):
            description = f"the catalog at {reference} of {without_query(repository)}"
        case HttpSource(url):
            description = f"the catalog archive {without_query(url)}"
        case _:
            names, versions = _config_maps(world, spec)
            return DesiredSource(names, "the catalog in ConfigMaps", config_map_versions=versions)
    policy = _policy_identity(world, spec)
    return DesiredSource(
        " ".join(filter(None, (identity(source), policy))),
        description,
        _credential_versions(world, spec),
        poll_interval(world.name, spec),
        has_policy=bool(policy),
    )


def _policy_identity(world: World, spec: CatalogSource) -> str:
    """The policy for the signatures, by a hash of what the spec asks for and of the versions of its keys; "" for none.

    It is part of the identity of the source, so that the same image is verified again when the policy or one of its keys changes.
    """
    verification = verification_of(spec)
    if verification is None:
        return ""
    versions = [f"{each}@{world.input_versions.get(each)}" for each in verification_references(spec)]
    text = json.dumps([verification.dump(), versions], sort_keys=True)
    return f"verify@{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _credential_versions(world: World, spec: CatalogSource) -> str:
    """The versions of the Secrets that the source is read with. When one of them changes, a failed load is tried again."""
    secret = secret_name(spec)
    own = f"secret@{world.input_versions.get(InputReference(SECRET, secret))}" if secret else ""
    shared = f"pull-secret@{world.pull_secret_version}" if world.pull_secret_version else ""
    return " ".join(filter(None, (own, shared)))


def _config_maps(world: World, spec: CatalogSource) -> tuple[str, str]:
    """The names of the ConfigMaps with their paths, and their versions. The files are read when the job starts."""
    maps = sorted((each.config_map.name, each.path or "") for each in spec.config_maps or ())
    names = " ".join(f"{name}:{path}" for name, path in maps)
    return f"configMaps {names}", " ".join(
        str(world.input_versions.get(InputReference(CONFIG_MAP, name))) for name, _ in maps
    )


def poll_interval(name: str, source: CatalogSource) -> timedelta | None:
    """The time between two checks of the source of this Catalog; None for never. Raises Blocked for an invalid duration.

    The jitter depends on the name, so that Catalogs that were created together are not checked together.
    """
    match source.type:
        case SourceType.IMAGE if source.image is not None:
            is_fixed, text = _has_digest(source.image.ref), source.image.poll_interval
        case SourceType.GIT if source.git is not None:
            is_fixed, text = bool(source.git.ref.commit), source.git.poll_interval
        case SourceType.HTTP if source.http is not None:
            is_fixed, text = bool(source.http.checksum), source.http.poll_interval
        case _:  # ConfigMaps are watched
            return None
    if is_fixed:
        return None
    interval = DEFAULT_POLL_INTERVAL if text is None else min(_duration(text), MAX_POLL_INTERVAL)
    if interval <= timedelta(0):
        return None
    share = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    return max(interval, MIN_POLL_INTERVAL) * (1 + POLL_JITTER * share)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise Blocked(Reason.BLOCKED, str(error), [text]) from None


def _has_digest(ref: str) -> bool:
    try:
        return parse(ref).digest is not None
    except BadReference:
        return False


# --- delays


def delay(world: World, desired: DesiredSource | None, action: Action | None = None) -> timedelta | None:
    """The time from `action` to the next pass. Without an action, it is the time until the source, or a queued job, has to be
    checked.

    `desired` is None when nothing is to be served or the spec is Blocked. Zero or less means now. None means that the next pass
    follows a watched change or the end of a job.
    """
    match action:
        case StopServing() if world.raw is None:
            return None
        case Load() if not world.package_diff:
            return None  # the end of the job enqueues the Catalog
        case ConfirmUnchanged() if not (world.refresh_pending or world.has_writes):
            return desired.poll_interval if desired else None
        case Keep() if world.catalog is None or world.catalog.metadata.deleting:
            return None  # the finalizers of others are watched
        case Keep() if world.is_unreported:
            return IMMEDIATELY
        case Keep() | None:
            return _time_to_check(world, desired)
        case _:
            return IMMEDIATELY


def _time_to_check(world: World, desired: DesiredSource | None) -> timedelta | None:
    poll = desired.poll_interval if desired else None
    if (left := time_to_recover(world, desired)) is not None and not isinstance(world.job, LoadRunning | LoadFailed):
        return left
    match world.load_state(desired):
        case LoadRunning(is_queued=is_queued):
            return QUEUE_CHECK_INTERVAL if is_queued else None
        case LoadFailed(error=Waiting() as error, age=age):
            return error.after - age
        case LoadFailed(error=BadContent(), age=age) if poll is not None:
            return poll - age  # the tag may move to content that can be read
        case LoadFailed():
            return None
    if poll is None:
        return None
    return IMMEDIATELY if world.last_checked is None else time_left(world.last_checked, poll, world.now)


def time_to_recover(world: World, desired: DesiredSource | None) -> timedelta | None:
    """The time until content is loaded again that was lost on disk soon after it had been loaded again; None in all other
    cases."""
    recovery = world.recovery
    if not world.corruption or recovery is None or desired is None or recovery.job_identity != desired.job_identity:
        return None
    if recovery.age > RECOVERY_MEMORY:
        return None
    doublings = min(recovery.loads - 1, (MAX_RECOVERY_DELAY // FIRST_RECOVERY_DELAY).bit_length())
    return min(FIRST_RECOVERY_DELAY * (1 << doublings), MAX_RECOVERY_DELAY) - recovery.age


# --- the Catalog


def _absent(world: World, evaluation: Evaluation) -> Action | None:
    return StopServing() if world.catalog is None or world.serves_deleted_catalog else None


def _deleting(world: World, evaluation: Evaluation) -> Action | None:
    """Remove the content of a deleted Catalog at once. The object exists until the finalizers of others are removed."""
    if world.catalog is None or not world.catalog.metadata.deleting:
        return None
    return StopServing() if world.served is not None or world.job is not None else Keep()


def _unavailable(world: World, evaluation: Evaluation) -> Action | None:
    is_unavailable = world.catalog is not None and world.catalog.is_unavailable
    return StopServing() if is_unavailable and (world.served is not None or world.job is not None) else None


# --- its content


def _take_loaded(world: World, evaluation: Evaluation) -> Action | None:
    """Serve the content of a job that succeeded, or confirm the served content. lastUnpacked changes only with the content."""
    desired = evaluation.desired
    loaded = world.load_state(desired)
    if desired is None or not isinstance(loaded, LoadFinished):
        return None
    old = world.served.record if world.served else None
    if old is None and not loaded.digest:
        return None  # unchanged since content that was removed as corrupt meanwhile: it is loaded again
    if old is None or loaded.digest not in ("", old.digest):
        unpacked = format_timestamp(world.now)
        named = (desired.identity, loaded.resolved_ref, loaded.digest, unpacked, loaded.resolved, loaded.validator)
        record = Record(*named, world.uid, desired.credential_versions, signed_by=loaded.signed_by)
        return Serve(_selected(world, record))
    record = Record(
        desired.identity,
        loaded.resolved_ref or old.resolved_ref,
        old.digest,
        old.unpacked,
        loaded.resolved or old.resolved,
        loaded.validator or old.validator,
        world.uid,
        desired.credential_versions,
        signed_by=loaded.signed_by or (old.signed_by if _has_record_of(world, desired) else {}),
    )
    record = _selected(world, record)
    return Serve(record) if record != old else ConfirmUnchanged()


def _select_packages(world: World, evaluation: Evaluation) -> Action | None:
    """Apply a change of spec.packages to the served content at once, whatever the state of the source is."""
    if world.served is None or not world.is_selection_outdated:
        return None
    return SelectPackages(_selected(world, world.served.record))


def _selected(world: World, record: Record) -> Record:
    """The record with the list of packages of the spec."""
    old = world.served.record if world.served else Record("", "", "", "")
    packages = world.catalog.selected_packages if world.catalog else None
    changed = old.packages_changed if packages == old.packages else format_timestamp(world.now)
    return replace(record, packages=packages, packages_changed=changed)


def _load(world: World, evaluation: Evaluation) -> Action | None:
    desired = evaluation.desired
    if desired is None or not _is_due(world, desired, evaluation.time_to_check):
        return None
    job = world.load_state(desired)
    has_failed_for_good = isinstance(job, LoadFailed) and isinstance(job.error, Blocked)
    failure = world.last_failure
    bad = failure.error if failure is not None and failure.job_identity == desired.job_identity else None
    return Load(
        desired,
        refresh_started=world.refresh_requested if world.refresh_pending else world.refresh_started,
        restart=world.refresh_pending or has_failed_for_good or isinstance(job, LoadFinished),
        free_space=world.is_disk_full,
        known_bad=bad if isinstance(bad, BadContent) else None,
        is_confirmed=_is_confirmed(world, desired),
        verified_digest=_verified_digest(world, desired),
        recoveries=_recoveries(world, desired),
    )


def _recoveries(world: World, desired: DesiredSource) -> int:
    """The number of loads since content was first lost, including the load to start. A failed load is not counted."""
    if not world.corruption:
        return 0
    if world.recovery is None or time_to_recover(world, desired) is None:
        return 1
    return world.recovery.loads + (not isinstance(world.load_state(desired), LoadFailed))


def _is_due(world: World, desired: DesiredSource, time_to_check: timedelta | None) -> bool:
    """Report whether the source has to be loaded now. A new source is due at once. A source that failed or is served is due when
    its time has come, or when a person requests a check."""
    is_time = time_to_check is not None and time_to_check <= IMMEDIATELY
    match world.load_state(desired):
        case LoadRunning():
            return False
        case LoadFailed():
            return world.refresh_pending or is_time
    if (left := time_to_recover(world, desired)) is not None:
        return world.refresh_pending or left <= IMMEDIATELY
    if not _has_record_of(world, desired):
        return True
    # A Secret that has changed alone waits for the next check.
    has_changed = desired.config_map_versions != world.loaded_config_map_versions
    return world.refresh_pending or has_changed or is_time


def _is_confirmed(world: World, desired: DesiredSource) -> bool:
    record = world.served.record if world.served else None
    confirmed = (desired.identity, world.uid, desired.credential_versions)
    return record is not None and (record.ref, record.uid, record.access) == confirmed


def _has_record_of(world: World, desired: DesiredSource) -> bool:
    """Report whether the served content was loaded for this source, and verified as it asks for."""
    record = world.served.record if world.served else None
    return record is not None and (record.ref, record.uid) == (desired.identity, world.uid)


def _verified_digest(world: World, desired: DesiredSource) -> str:
    """The digest of the served content if its signatures were verified by the policy of this source; "" otherwise."""
    is_verified = desired.has_policy and _has_record_of(world, desired)
    return world.served.record.digest if world.served is not None and is_verified else ""


# --- its objects


def _report_first(world: World, evaluation: Evaluation) -> Action | None:
    """Report that content is served before its objects are written."""
    return Keep() if world.is_unreported else None


def _set_label(world: World, evaluation: Evaluation) -> Action | None:
    return SetLabel() if world.lacks_label else None


def _sync_packages(world: World, evaluation: Evaluation) -> Action | None:
    if not world.package_diff:
        return None
    return SyncPackages(_first_batch(world.package_diff))


def _source_error(world: World, evaluation: Evaluation) -> OlmError | None:
    """The error that remains when nothing can be started."""
    return None if evaluation.desired and isinstance(world.job, LoadRunning) else evaluation.source_error


def _first_batch(difference: Difference) -> Difference:
    return Difference(difference.writes[:WRITE_BATCH_SIZE], difference.deletes[:WRITE_BATCH_SIZE])


RULES: tuple[Callable[[World, Evaluation], Action | OlmError | None], ...] = (
    _absent,
    _deleting,
    _unavailable,
    _take_loaded,
    _select_packages,
    _load,
    _report_first,
    _set_label,
    _sync_packages,
    _source_error,
)
