"""Decides when the custom resources of a BundleDeployment are counted: on request, and before its objects are deleted.

A BundleDeployment for which nobody requests a count causes no request to the API server. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from olmkit.api.bundledeployment_status import COUNT_ANNOTATION, MAX_COUNT_REQUEST_LENGTH, CustomResourceCount
from olmkit.api.bundledeployments import BundleDeployment
from olmkit.stored_times import time_left

MIN_COUNT_INTERVAL = timedelta(minutes=1)
"""The shortest time between two counts. Only the first count of a deletion is not delayed."""
COUNT_INTERVAL = timedelta(minutes=10)
"""The time to the next count while the request stands."""
MAX_WATCHED_CUSTOM_RESOURCES = 500
"""The number of custom resources that one request lists. As long as there are between one and this number of them, they are
counted each MIN_COUNT_INTERVAL, because the requester of the count waits for the deletion of the last one."""
NO_DELAY = timedelta(0)


@dataclass(frozen=True)
class CustomResourceCounts:
    """The last count of the custom resources of a BundleDeployment's CRDs, one entry per CRD."""

    request: str
    """The value of the annotation that requests a count; empty: there is none."""
    at: datetime
    is_deleting: bool
    """True if the BundleDeployment was being deleted at the time of the count."""
    counts: tuple[CustomResourceCount, ...]


def count_request(deployment: BundleDeployment) -> str:
    """The value of the annotation that requests a count, truncated to the length that is compared; empty: there is none."""
    return deployment.metadata.annotations.get(COUNT_ANNOTATION, "")[:MAX_COUNT_REQUEST_LENGTH]


def is_count_wanted(deployment: BundleDeployment) -> bool:
    """Report whether the status has to contain counts."""
    return bool(count_request(deployment)) or deployment.metadata.deleting


def time_to_count(deployment: BundleDeployment, last: CustomResourceCounts | None, now: datetime) -> timedelta | None:
    """The time to the next count, zero if it is due; None if no count is needed. `last` is the last count of this process."""
    if not is_count_wanted(deployment):
        return None
    is_deleting = deployment.metadata.deleting
    if last is None or (is_deleting and not last.is_deleting):
        return NO_DELAY
    is_known = all(entry.count is not None for entry in last.counts)
    if is_deleting and is_known and not any(entry.count for entry in last.counts):
        return None  # nothing is left to count
    is_in_use = 0 < sum(entry.count or 0 for entry in last.counts) <= MAX_WATCHED_CUSTOM_RESOURCES
    is_current = is_known and not is_in_use and last.request == count_request(deployment) and not is_deleting
    return time_left(last.at, COUNT_INTERVAL if is_current else MIN_COUNT_INTERVAL, now)
