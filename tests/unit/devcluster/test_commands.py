"""Commands that are left to kubectl, because a request would not do the same."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster.api_client import ApiProxy
from devcluster.commands import Commands


class Untouched(ApiProxy):
    """An API server that must not get a request."""

    def __init__(self) -> None:
        pass

    def request(self, *arguments: Any, **options: Any) -> tuple[int, Any]:
        raise AssertionError(arguments)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        pytest.param([], None, id="no command"),
        pytest.param(["scale", "deployment", "a", "--replicas=2"], None, id="another command"),
        pytest.param(["get", "--raw", "/version", "--as=jane"], None, id="as another user"),
        pytest.param(["delete", "--raw=/api/v1/nodes"], None, id="a deletion by its path"),
        pytest.param(
            ["apply", "--server-side", "--field-manager", "other", "-f", "-"], "{}", id="a flag whose value is a word"
        ),
        pytest.param(["apply", "-f", "file.yaml"], None, id="a file"),
        pytest.param(["apply", "-k", "directory"], None, id="a kustomization"),
        pytest.param(["create", "-f", "-"], "- [", id="no YAML"),
        pytest.param(["create", "-f", "-"], "kind: List\nmetadata: {}", id="a list"),
        pytest.param(
            ["create", "clusterrolebinding", "a", "--user=b", "--user=c"], None, id="a flag that is given twice"
        ),
        pytest.param(["create", "deployment", "a", "--image=b"], None, id="a kind with defaults"),
        pytest.param(["wait", "--for=condition=Ready", "pod/a", "--timeout=1m30s"], None, id="a time in minutes"),
        pytest.param(["delete", "pod", "a", "--grace-period=0", "--force"], None, id="a deletion by force"),
    ],
)
def test_what_is_left_to_kubectl(arguments: list[str], given: str | None) -> None:
    assert Commands(Untouched()).run(arguments, given) is None
