"""Which parsed bundles are too large for the controllers."""

import pytest

from rukpak.bundle.unpack_job import check_size
from rukpak.format import BadBundle
from rukpak.format.bundle import MAX_BUNDLE_BYTES, MAX_BUNDLE_VALUES


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(
            b"x" * (MAX_BUNDLE_BYTES + 1),
            "the bundle has 33,554,433 bytes of JSON; at most 33,554,432 are allowed",
            id="too many bytes",
        ),
        pytest.param(
            b"[" * (MAX_BUNDLE_VALUES + 1),
            "the bundle has about 500,001 values; at most 500,000 are allowed",
            id="too many values",
        ),
    ],
)
def test_check_size(data: bytes, problem: str) -> None:
    with pytest.raises(BadBundle) as caught:
        check_size(data)
    assert caught.value.errors == (problem,)
    assert check_size(data[:-1]) == data[:-1]
