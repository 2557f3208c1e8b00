"""Which errors of the operating system mean a full or a failed disk."""

from __future__ import annotations

import errno
import os

import pytest

from olmkit.errors import Waiting
from olmkit.store.disk_errors import DISK_RETRY_DELAY, JOB_FILES, disk_error, disk_errors_as_waiting

FULL = ("DiskFull", f"{JOB_FILES} is full: free some space or give the cache a larger volume")
REMEDY = "mount it to be written, or replace it"
ROWS = [
    pytest.param(errno.ENOSPC, FULL, id="no space or no inode is left"),
    pytest.param(errno.EDQUOT, FULL, id="a quota is used up"),
    pytest.param(errno.EFBIG, FULL, id="the file is larger than is allowed"),
    pytest.param(
        errno.EROFS,
        ("DiskFailed", f"{JOB_FILES} cannot be used (Read-only file system): {REMEDY}"),
        id="the disk is read-only",
    ),
    pytest.param(
        errno.EIO,
        ("DiskFailed", f"{JOB_FILES} cannot be used (Input/output error): {REMEDY}"),
        id="the device fails",
    ),
]


@pytest.mark.parametrize(("number", "expected"), ROWS)
def test_the_error_of_a_disk_is_waited_for(number: int, expected: tuple[str, str]) -> None:
    with pytest.raises(Waiting) as raised, disk_errors_as_waiting(JOB_FILES):
        raise OSError(number, os.strerror(number), "/never/shown")
    assert (raised.value.reason, raised.value.message) == expected
    assert raised.value.after == DISK_RETRY_DELAY


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), id="a file that is not there"),
        pytest.param(ValueError("no error of the operating system"), id="another class"),
    ],
)
def test_other_errors_are_raised_as_they_are(error: Exception) -> None:
    assert disk_error(error) is None
    with pytest.raises(type(error)) as raised, disk_errors_as_waiting():
        raise error
    assert raised.value is error
