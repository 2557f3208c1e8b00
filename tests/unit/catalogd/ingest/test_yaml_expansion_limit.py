"""How much may be written of a catalog by how much was read of it."""

from __future__ import annotations

import pytest

from catalogd.ingest.yaml_expansion_limit import ExpansionLimit
from olmkit.fbc.errors import BadCatalog

MIB, GIB = 1024**2, 1024**3


@pytest.mark.parametrize(
    ("read", "most"),
    [
        pytest.param(0, 16 * MIB, id="nothing was read: 16 MiB"),
        pytest.param(6 * 1024, 16 * MIB, id="a few KB: 16 MiB"),
        pytest.param(2 * MIB, 16 * MIB, id="2 MiB: 16 MiB, which is 8 times as much"),
        pytest.param(3 * MIB, 24 * MIB, id="more: 8 times as much"),
        pytest.param(GIB // 7, GIB // 7 * 8, id="a seventh of a GiB: still 8 times as much"),
        pytest.param(GIB, 2 * GIB, id="1 GiB: 1 GiB beyond it"),
        pytest.param(4 * GIB, 5 * GIB, id="4 GiB, the most that is read: 1 GiB beyond it"),
    ],
)
def test_the_most_that_is_written(read: int, most: int) -> None:
    expansion = ExpansionLimit()
    expansion.count_read(read)
    expansion.count_written(most - 1)
    expansion.count_written(1)
    with pytest.raises(BadCatalog, match="YAML aliases"):
        expansion.count_written(1)


def test_what_is_read_later_raises_the_limit() -> None:
    expansion = ExpansionLimit()
    for _ in range(100):
        expansion.count_read(MIB)
        expansion.count_written(8 * MIB)


def test_without_a_limit_nothing_is_rejected() -> None:
    ExpansionLimit(limited=False).count_written(100 * GIB)
