"""The location of the cache."""

from pathlib import Path

import pytest

from devcluster.cache import cache_directory


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"OLM_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a", id="OLM_CACHE is taken as it is"),
        pytest.param({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/olm-suite", id="else a directory in XDG_CACHE_HOME"),
        pytest.param({"OLM_CACHE": "", "HOME": "/c"}, "/c/.cache/olm-suite", id="else a directory in ~/.cache"),
    ],
)
def test_cache_directory(environment: dict[str, str], expected: str) -> None:
    assert cache_directory(environment) == Path(expected)
