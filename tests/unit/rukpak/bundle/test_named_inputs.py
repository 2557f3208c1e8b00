"""The Secret and the ConfigMaps that the source of a Bundle names."""

from __future__ import annotations

from typing import Any

import pytest

from rukpak.bundle.named_inputs import named_config_maps, named_secret, verification_inputs

LOGIN = {"auth": {"secret": {"name": "login"}}}
MEMBERS = [{"configMap": {"name": "a"}}, {"configMap": {"name": "b"}, "path": "x"}, {"configMap": {"name": "a"}}]


@pytest.mark.parametrize(
    ("source", "secret", "maps"),
    [
        pytest.param({"type": "image", "image": {"ref": "r", "pullSecret": "login"}}, "login", (), id="an image"),
        pytest.param({"type": "image", "image": {"ref": "r"}}, None, (), id="an image without a login"),
        pytest.param({"type": "git", "git": {"repository": "r", **LOGIN}}, "login", (), id="a repository"),
        pytest.param({"type": "http", "http": {"url": "u", **LOGIN}}, "login", (), id="an archive"),
        pytest.param({"type": "configMaps", "configMaps": MEMBERS}, None, ("a", "b"), id="ConfigMaps"),
        pytest.param({"type": "git", "configMaps": MEMBERS}, None, (), id="members of other types do not count"),
        pytest.param({"type": "configMaps"}, None, (), id="nothing"),
    ],
)
def test_names(source: dict[str, Any], secret: str | None, maps: tuple[str, ...]) -> None:
    assert named_secret(source) == secret
    assert named_config_maps(source) == frozenset(maps)


def test_names_of_keys_and_roots() -> None:
    authorities = [
        {"key": {"secret": {"name": "a"}}},
        {"key": {"configMap": {"name": "b"}}},
        {"key": {"data": "x"}},
        {"keyless": {"trustRoot": {"configMap": {"name": "c"}}, "identities": []}},
        {"keyless": {"trustRoot": {"certificates": "x"}, "identities": []}},
    ]
    image = {"ref": "r", "verify": {"authorities": authorities}}
    expected = {("Secret", "a"), ("ConfigMap", "b"), ("ConfigMap", "c")}
    assert verification_inputs({"type": "image", "image": image}) == expected
    assert verification_inputs({"type": "image", "image": {"ref": "r"}}) == frozenset()
    assert verification_inputs({"type": "git", "image": image}) == frozenset()
    assert named_config_maps({"type": "image", "image": image}) == frozenset(), "they may change and be deleted"
