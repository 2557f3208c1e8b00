"""Objects and their keys."""

import pytest

from rukpak.format.objects import BundleObject, ObjectKey, group_of


@pytest.mark.parametrize(
    ("api_version", "kind", "metadata", "key", "text"),
    [
        pytest.param("v1", "ConfigMap", {"name": "a", "namespace": "n"}, ("", "ConfigMap", "n", "a"), "ConfigMap n/a"),
        pytest.param("apps/v1", "Deployment", {"name": "a"}, ("apps", "Deployment", "", "a"), "Deployment.apps a"),
        pytest.param("v1", "Namespace", {"name": "a", "namespace": None}, ("", "Namespace", "", "a"), "Namespace a"),
    ],
)
def test_the_key_of_an_object(
    api_version: str, kind: str, metadata: dict[str, str], key: tuple[str, ...], text: str
) -> None:
    manifest = BundleObject({"apiVersion": api_version, "kind": kind, "metadata": metadata})
    assert manifest.key == key
    assert str(manifest.key) == text
    assert manifest.version == "v1"


def test_keys_are_ordered_by_group_kind_namespace_name() -> None:
    keys = [
        ObjectKey("b", "A", "", "a"),
        ObjectKey("a", "B", "", "a"),
        ObjectKey("a", "A", "n", "b"),
        ObjectKey("a", "A", "n", "a"),
    ]
    assert sorted(keys) == keys[::-1]


@pytest.mark.parametrize(("api_version", "group"), [("v1", ""), ("apps/v1", "apps"), ("a.b.c/v1beta1", "a.b.c")])
def test_the_group_of_an_api_version(api_version: str, group: str) -> None:
    assert group_of(api_version) == group
