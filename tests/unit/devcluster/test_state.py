"""Names of clusters."""

import pytest

from devcluster.errors import DevclusterError
from devcluster.state import clusters_folder, run_folder


@pytest.mark.parametrize("name", ["default", "a", "test-1", "x" * 40])
def test_a_name_is_a_folder(name: str) -> None:
    assert run_folder(name) == clusters_folder() / name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="nothing is no name"),
        pytest.param("..", id="a path out is no name"),
        pytest.param("a/b", id="a path is no name"),
        pytest.param("Big", id="capitals are no name"),
        pytest.param("-a", id="an option is no name"),
        pytest.param("x" * 41, id="41 letters are too many"),
    ],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(DevclusterError, match="is no name for a cluster"):
        run_folder(name)
