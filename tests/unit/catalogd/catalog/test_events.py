"""Which changes enqueue which Catalogs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from catalogd.catalog.events import EventMapper
from olmkit.runtime.informer import Change, Informer


def catalog(name: str, **source: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"source": {"type": "image", "image": {"ref": "r/c:v1", **source}}}}


def package(name: str, of: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"catalog": {"name": of}}}


def of_maps(name: str, config_map: str) -> dict[str, Any]:
    source = {"type": "configMaps", "configMaps": [{"configMap": {"name": config_map}}]}
    return {"metadata": {"name": name}, "spec": {"source": source}}


CATALOGS = [catalog("a"), catalog("a-b", pullSecret="login"), of_maps("c", "files")]
OBJECTS = {("", str(each["metadata"]["name"])): each for each in CATALOGS}
MAPPER = EventMapper(cast(Informer, SimpleNamespace(objects=OBJECTS)), pull_secret="for-all")


def named(name: str) -> Change:
    return Change(None, {"metadata": {"name": name}})


@pytest.mark.parametrize(
    ("found", "keys"),
    [
        pytest.param(MAPPER.keys_of_catalog(named("a")), ["a"], id="a Catalog"),
        pytest.param(MAPPER.keys_of_catalog(Change(catalog("a"), None)), ["a"], id="a Catalog that was deleted"),
        pytest.param(
            MAPPER.keys_of_package(Change(None, package("c-x", "c"))), ["c"], id="a Package names its Catalog"
        ),
        pytest.param(
            MAPPER.keys_of_package(Change(package("c-x", "c"), package("c-x", "a"))),
            ["a", "c"],
            id="a Package names another Catalog",
        ),
        pytest.param(
            MAPPER.keys_of_package(Change(package("a-b-x", "c"), None)),
            ["a", "a-b", "c"],
            id="the name of a deleted Package is free for the Catalogs that it starts with",
        ),
        pytest.param(MAPPER.keys_of_secret(named("login")), ["a-b"], id="a Secret"),
        pytest.param(MAPPER.keys_of_secret(named("for-all")), ["a", "a-b", "c"], id="the cluster-wide pull secret"),
        pytest.param(MAPPER.keys_of_secret(named("files")), [], id="a Secret with the name of a ConfigMap"),
        pytest.param(MAPPER.keys_of_config_map(named("files")), ["c"], id="a ConfigMap"),
        pytest.param(MAPPER.keys_of_config_map(named("for-all")), [], id="a ConfigMap with the name of a Secret"),
    ],
)
def test_changes(found: list[str], keys: list[str]) -> None:
    assert sorted(found) == keys
