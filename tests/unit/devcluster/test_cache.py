"""The location of the cache."""

from pathlib import Path

import pytest

from devcluster.cache import cache_folder


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"OLM_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a", id="OLM_CACHE is taken as it is"),
        pytest.param({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/olm-suite", id="else a folder in XDG_CACHE_HOME"),
        pytest.param({"OLM_CACHE": "", "HOME": "/c"}, "/c/.cache/olm-suite", id="else a folder in ~/.cache"),
    ],
)
def test_cache_folder(environment: dict[str, str], expected: str) -> None:
    assert cache_folder(environment) == Path(expected)
