"""Which kinds live in namespaces."""

import pytest

from rukpak.render.scopes import is_namespaced


@pytest.mark.parametrize(
    ("group", "kind", "scopes", "wanted"),
    [
        pytest.param("", "Secret", {}, True, id="a kind of Kubernetes"),
        pytest.param("", "Namespace", {}, False, id="a cluster-scoped one"),
        pytest.param("apps", "Secret", {}, None, id="the group counts"),
        pytest.param("example.com", "Thing", {}, None, id="an unknown kind"),
        pytest.param("example.com", "Thing", {("example.com", "Thing"): True}, True, id="the cluster knows"),
        pytest.param("", "Secret", {("", "Secret"): False}, False, id="the cluster knows better"),
    ],
)
def test_is_namespaced(group: str, kind: str, scopes: dict[tuple[str, str], bool], wanted: bool | None) -> None:
    assert is_namespaced(group, kind, scopes) is wanted
