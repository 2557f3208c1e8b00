"""Turns the OSError of a full or failed disk into a reason, and a message that says what to do.

Used wherever the suite writes files: by the store and the caches, by the processes of jobs and those that start them, and by
olmctl. Every such error is temporary: a retry succeeds once there is space. Never names a path.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum

from olmkit.errors import Waiting

DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
DISK_FAILED_ERRNOS = frozenset({errno.EROFS, errno.EIO})
DISK_RETRY_DELAY = timedelta(minutes=1)
STORED_CONTENT = "the disk that keeps the content"
UNPACKED_CONTENT = "the disk that content is unpacked on"
JOB_FILES = "the disk for the files of jobs"


class DiskReason(StrEnum):
    """The reasons why a file could not be written."""

    DISK_FULL = "DiskFull"  # no space, no inode, a quota, or a file larger than the disk or this process allows
    DISK_FAILED = "DiskFailed"  # mounted read-only, or an error of the device


def disk_error(error: BaseException, disk: str = STORED_CONTENT) -> Waiting | None:
    """The error to report; None if it is not that of a full or failed disk. `disk` is a phrase for messages."""
    if not isinstance(error, OSError):
        return None
    if error.errno in DISK_FULL_ERRNOS:
        text = f"{disk} is full: free some space or give the cache a larger volume"
        return Waiting(DiskReason.DISK_FULL, text, DISK_RETRY_DELAY)
    if error.errno in DISK_FAILED_ERRNOS:
        text = f"{disk} cannot be used ({error.strerror}): mount it to be written, or replace it"
        return Waiting(DiskReason.DISK_FAILED, text, DISK_RETRY_DELAY)
    return None


@contextmanager
def disk_errors_as_waiting(disk: str = STORED_CONTENT) -> Iterator[None]:
    """Convert the OSError of a full or failed disk to the Waiting of disk_error(). Others are raised unchanged."""
    try:
        yield
    except OSError as error:
        if (waiting := disk_error(error, disk)) is not None:
            raise waiting from error
        raise
