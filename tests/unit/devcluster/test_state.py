"""Names of clusters."""

import pytest

from devcluster.errors import DevclusterError
from devcluster.state import clusters_directory, run_directory


@pytest.mark.parametrize("name", ["default", "a", "test-1", "x" * 40])
def test_valid_names(name: str) -> None:
    assert run_directory(name) == clusters_directory() / name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("..", id="a path outside"),
        pytest.param("a/b", id="a path"),
        pytest.param("Big", id="capitals"),
        pytest.param("-a", id="an option"),
        pytest.param("x" * 41, id="41 letters are too many"),
    ],
)
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(DevclusterError, match="is no name for a cluster"):
        run_directory(name)
